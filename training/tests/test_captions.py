"""Captions between two fields: the cases of `parse/detect/caption_filter.rs`."""

import numpy
import pytest

from detector import classes
from detector.captions import without_captions
from detector.found import Found

One = tuple[str, float, float, float, float]
"""Class, left, top, bottom and score; all boxes end at the same right edge."""

FIELD: One = ("text_field", 640, 310, 355, 0.85)
CHOICE: One = ("drop_down", 640, 398, 445, 0.8)


def left(*found: One) -> int:
    boxes = numpy.array([[x, top, 1240, bottom] for _, x, top, bottom, _ in found], float).reshape(-1, 4)
    kinds = numpy.array([classes.INDEX[kind] for kind, *_ in found], int)
    return len(without_captions(Found(boxes, kinds, numpy.array([score for *_, score in found], float))).boxes)


def test_what_fills_the_gap_between_two_fields_is_none() -> None:
    assert left(FIELD, CHOICE, ("text_field", 640, 356, 396, 0.3)) == 2


@pytest.mark.parametrize(
    "between",
    [
        ("text_field", 640, 365, 396, 0.3),
        ("text_field", 640, 356, 388, 0.3),
        ("button", 640, 356, 396, 0.3),
        ("text_field", 640, 356, 396, 0.9),
        ("text_field", 560, 356, 396, 0.3),
    ],
)
def test_everything_else_stays(between: One) -> None:
    assert left(FIELD, CHOICE, between) == 3


def test_what_is_under_a_field_stays() -> None:
    assert left(FIELD, ("text_field", 640, 356, 396, 0.3)) == 2
    assert left() == 0
