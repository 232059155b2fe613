"""Alignment of rows with their text: the cases of `parse/detect/row_alignment.rs`."""

import numpy
import pytest

from detector import classes, rows
from detector.found import Found

ROW, BUTTON = classes.NAMES.index("table_row"), classes.NAMES.index("button")
PITCH, LETTERS = 24, (8, 17)
"""Row height in pixels, and the vertical ranges of text in each row."""


def listed(paper: int = 250, ink: int = 20, pitch: int = PITCH, lines: tuple[tuple[int, int], ...] = (LETTERS,)) -> numpy.ndarray:
    pixels = numpy.full((480, 1000, 3), paper, numpy.uint8)
    for row in range(480 // pitch):
        for top, bottom in lines:
            for x in range(40, 400, 9):
                pixels[row * pitch + top : row * pitch + bottom, x : x + 4] = ink
        pixels[row * pitch] = (2 * paper + ink) // 3
    return pixels


def moved(pixels: numpy.ndarray, top: float, height: float = PITCH, kind: int = ROW, width: float = 900, score: float = 0.5) -> float:
    box = numpy.array([[20, top, 20 + width, top + height]], float)
    found = rows.on_their_text(pixels, Found(box, numpy.array([kind]), numpy.array([score])))
    assert found.boxes[0, ::2].tolist() == [20, 20 + width]
    assert found.boxes[0, 3] - found.boxes[0, 1] == pytest.approx(height)
    return found.boxes[0, 1]


# The centre of the text is half a pixel below that of the row.
ON_FOURTH = 4 * PITCH + 0.5


@pytest.mark.parametrize("off", [-9, -4, 0, 3, 8])
@pytest.mark.parametrize(("paper", "ink"), [(250, 20), (20, 230)])
def test_a_row_is_moved_to_its_text(off: int, paper: int, ink: int) -> None:
    assert moved(listed(paper, ink), 4 * PITCH + off) == ON_FOURTH


def test_a_border_that_the_box_reaches_over_is_no_text() -> None:
    pixels = listed()
    pixels[:, 30:32], pixels[:, 900:] = 120, 60
    assert moved(pixels, 4 * PITCH + 5) == ON_FOURTH


def test_what_is_no_row_or_not_sure_or_has_two_lines_stays() -> None:
    pixels = listed()
    for case in [{"kind": BUTTON}, {"width": 300}, {"height": 80}, {"score": 0.1}]:
        assert moved(pixels, 4 * PITCH + 5, **case) == 4 * PITCH + 5
    two_lines = listed(pitch=40, lines=((8, 17), (23, 32)))
    assert moved(two_lines, 3 * 40 + 2, height=40) == 3 * 40 + 2
    assert moved(numpy.full((480, 1000, 3), 250, numpy.uint8), 100) == 100


def test_at_the_edges_of_a_picture_nothing_goes_wrong() -> None:
    pixels = listed()
    assert moved(pixels, -8) == -8
    assert moved(pixels, -6) == 0.5
    assert moved(pixels, len(pixels) - 5) == len(pixels) - 5
    assert moved(pixels, len(pixels) - PITCH + 4) == len(pixels) - PITCH + 0.5
    assert moved(pixels[:, :100], 4 * PITCH + 5) == ON_FOURTH


def test_what_is_the_same_row_is_moved_alike() -> None:
    boxes = numpy.array([[20, 101, 920, 125], [60, 99, 900, 125], [20, 124, 920, 148]], float)
    found = rows.on_their_text(listed(), Found(boxes, numpy.full(3, ROW), numpy.array([0.6, 0.3, 0.5])))
    assert found.boxes[:, 1].tolist() == [ON_FOURTH, ON_FOURTH - 2, ON_FOURTH + PITCH]
