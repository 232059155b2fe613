"""Controls behind a backdrop: the cases of `parse/backdrop.rs`."""

import numpy
import pytest

from detector import classes, veil

DIALOG, BUTTON = classes.NAMES.index("dialog"), classes.NAMES.index("button")
INK, PAPER = 20, 250


def control(pixels: numpy.ndarray, box: tuple[int, int, int, int], paper: int, ink: int) -> None:
    left, top, right, bottom = box
    pixels[top:bottom, left:right] = paper
    for x in range(left + 8, right - 8, 6):
        pixels[top + 6 : top + 16, x : x + 3] = ink


def page(paper: int, ink: int, shade: int, share: float) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Buttons, a backdrop below the toolbar, and a dialog with a button: pixels, boxes and kinds."""
    pixels = numpy.full((800, 1280, 3), paper, numpy.uint8)
    boxes = [(20 + column * 140, 20 + row * 40, 120 + column * 140, 44 + row * 40) for row in range(18) for column in range(9)]
    dialog, answer = (440, 300, 840, 500), (720, 460, 820, 484)
    boxes = [box for box in boxes if box[2] <= dialog[0] or box[0] >= dialog[2] or box[3] <= dialog[1] or box[1] >= dialog[3]]
    for box in boxes:
        control(pixels, box, paper, ink)
    pixels[100:] = pixels[100:] * (1 - share) + shade * share
    control(pixels, dialog, PAPER, INK)
    control(pixels, answer, PAPER, INK)
    return pixels, numpy.array([*boxes, dialog, answer], float), numpy.array([BUTTON] * len(boxes) + [DIALOG, BUTTON])


def out_of_reach(paper: int, ink: int, shade: int, share: float, score: float = 0.8) -> tuple[int, int, int]:
    """Returns the number of boxes, of those in the toolbar, and of blocked ones."""
    pixels, boxes, kinds = page(paper, ink, shade, share)
    behind = veil.veiled(pixels, boxes, kinds, numpy.full(len(boxes), score))
    assert not behind[-2:].any()
    return len(boxes), int((boxes[:, 3] < 100).sum()), int(behind.sum())


@pytest.mark.parametrize(("paper", "ink", "shade", "share"), [(PAPER, INK, 0, 0.5), (INK, PAPER, 0, 0.6), (PAPER, INK, 255, 0.7), (PAPER, INK, 40, 0.6)])
def test_what_is_behind_a_veil_is_out_of_reach_and_what_is_beyond_it_is_not(paper: int, ink: int, shade: int, share: float) -> None:
    all_of_them, beyond, behind = out_of_reach(paper, ink, shade, share)
    assert behind == all_of_them - beyond - 2 > 80


@pytest.mark.parametrize(("paper", "ink"), [(PAPER, INK), (INK, PAPER), (PAPER, 100), (60, 200)])
def test_without_a_veil_everything_is_in_reach(paper: int, ink: int) -> None:
    assert out_of_reach(paper, ink, 0, 0)[2] == 0


def test_a_dialog_of_which_the_product_is_not_told_shows_no_veil() -> None:
    assert out_of_reach(PAPER, INK, 0, 0.5, score=veil.TOLD - 0.01)[2] == 0


def test_a_picture_without_a_dialog_is_not_looked_at() -> None:
    nothing = numpy.zeros((0, 4)), numpy.zeros(0, int), numpy.zeros(0)
    assert veil.veiled(numpy.zeros((1, 1, 3), numpy.uint8), *nothing).shape == (0,)
