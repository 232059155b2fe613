"""Fields that contain controls: the cases of `parse/detect/page_filter.rs`."""

import numpy
import pytest

from detector import classes
from detector.found import Found
from detector.pages import without_pages

WHOLE = ("text_field", (60, 60, 960, 760), 0.5)
SAVE = ("button", (90, 170, 220, 210), 0.8)
DISCARD = ("button", (230, 170, 310, 210), 0.8)


def found(*several: tuple[str, tuple[int, int, int, int], float]) -> Found:
    kinds, boxes, scores = zip(*several)
    return Found(numpy.array(boxes, float), numpy.array([classes.INDEX[kind] for kind in kinds]), numpy.array(scores))


def kinds_left(*several: tuple[str, tuple[int, int, int, int], float]) -> list[str]:
    return [classes.NAMES[kind] for kind in without_pages(found(*several)).kinds]


def test_a_field_with_controls_in_it_is_a_page() -> None:
    assert kinds_left(SAVE, WHOLE, DISCARD) == ["button", "button"]


@pytest.mark.parametrize(
    "several",
    [
        (WHOLE,),
        (WHOLE, ("scroll_bar", (945, 60, 960, 760), 0.9), ("link", (90, 300, 220, 320), 0.9)),
        (WHOLE, SAVE),
        ((*WHOLE[:2], 0.9), SAVE, DISCARD),
        (WHOLE, SAVE, DISCARD, ("dialog", (80, 100, 400, 230), 0.3)),
        (("text_field", (60, 160, 960, 220), 0.5), SAVE, DISCARD),
    ],
    ids=["alone", "with what editors have", "with one control", "surer than they are", "under a dialog", "small"],
)
def test_a_field_stays(several: tuple) -> None:
    assert kinds_left(*several) == [kind for kind, _, _ in several]


def test_nothing_is_no_page() -> None:
    assert len(without_pages(Found(numpy.empty((0, 4)), numpy.empty(0, int), numpy.empty(0))).boxes) == 0
