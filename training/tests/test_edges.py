"""Snapping of large boxes to edges: the cases of `parse/detect/edge_snapping.rs`."""

import numpy
import pytest

from detector import edges
from detector.found import Found

PANE = [100, 60, 500, 260]


def page() -> numpy.ndarray:
    """A white pane with a border on grey, with text in it."""
    pixels = numpy.full((400, 700, 3), 230, numpy.uint8)
    left, top, right, bottom = PANE
    pixels[top:bottom, left:right] = 120
    pixels[top + 1 : bottom - 1, left + 1 : right - 1] = 255
    for y in range(top + 8, bottom - 12, 20):
        for x in range(left + 8, right - 100, 9):
            pixels[y : y + 9, x : x + 4] = 30
    return pixels


def moved(pixels: numpy.ndarray, box: list[float]) -> list[float]:
    found = Found(numpy.array([box], float), numpy.array([0]), numpy.array([0.5]))
    return edges.on_edges(pixels, found).boxes[0].tolist()


@pytest.mark.parametrize("off", [[0, 0, 0, 0], [-40, 20, 40, -20], [30, -25, -30, 25], [6, 6, 6, 6]])
def test_sides_are_moved_to_the_edges_near_them(off: list[int]) -> None:
    box = moved(page(), [side + by for side, by in zip(PANE, off)])
    assert all(abs(side - edge) <= 1 for side, edge in zip(box, PANE))


def test_of_what_is_slender_the_short_sides_are_moved() -> None:
    pixels = numpy.full((400, 700, 3), 255, numpy.uint8)
    pixels[200:230, 100:500] = 200
    assert moved(pixels, [130, 197, 460, 234]) == [100, 197, 500, 234]
    assert moved(pixels.transpose(1, 0, 2), [197, 130, 234, 460]) == [197, 100, 234, 500]


def test_what_is_small_or_has_no_edges_near_stays() -> None:
    pixels = page()
    for box in [[110, 70, 240, 190], [220, 100, 380, 220], [110, 360, 300, 390]]:
        assert moved(pixels, box) == box


def test_a_picture_ends_at_its_edges() -> None:
    blank = numpy.full((400, 700, 3), 230, numpy.uint8)
    assert moved(blank, [12, 20, 680, 390]) == [0, 0, 700, 400]
    assert moved(blank, [0, 0, 700, 400]) == [0, 0, 700, 400]
