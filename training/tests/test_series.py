"""Score boosts in a series: the cases of `parse/detect/series_boost.rs`."""

import numpy
import pytest

from detector import classes
from detector.found import Found
from detector.series import believed

Key = tuple[float, float, float]
"""Key of a keypad, 60 by 30: column, row, score."""


def scores(*keys: Key, kinds: tuple[str, ...] = (), wider: float = 0) -> list[float]:
    boxes = numpy.array([[100 + 64 * x, 200 + 34 * y, 160 + 64 * x, 230 + 34 * y] for x, y, _ in keys], float)
    boxes[-1, 2] += wider
    named = numpy.array([classes.INDEX[kind] for kind in kinds or ("button",) * len(keys)])
    return believed(Found(boxes, named, numpy.array([score for *_, score in keys]))).scores.tolist()


@pytest.mark.parametrize("place", [(1, 0), (0, 1), (-2, 0), (0, 3)])
def test_what_has_a_surer_neighbour_in_its_row_or_column_counts_for_twice_as_much(place: tuple[float, float]) -> None:
    assert scores((0, 0, 0.6), (*place, 0.15)) == [0.6, 0.3]


def test_it_counts_for_no_more_than_its_neighbour() -> None:
    assert scores((0, 0, 0.25), (1, 0, 0.2)) == [0.25, 0.25]


def test_what_stands_alone_stays() -> None:
    for place in ((1, 0.3), (6, 0)):
        assert scores((0, 0, 0.6), (*place, 0.15)) == [0.6, 0.15]
    assert scores((0, 0, 0.6), (1, 0, 0.15), kinds=("button", "icon")) == [0.6, 0.15]
    assert scores((0, 0, 0.6), (0, 1, 0.15), wider=40) == [0.6, 0.15]
    assert scores((0, 0, 0.6), (1, 0, 0.04)) == [0.6, 0.04]


def test_fields_of_a_form_are_no_series() -> None:
    assert scores((0, 0, 0.6), (0, 1, 0.15), kinds=("text_field", "text_field")) == [0.6, 0.15]


def test_the_most_confident_come_first_again() -> None:
    assert scores((0, 0, 0.6), (3, 9, 0.25), (1, 0, 0.2)) == [0.6, 0.4, 0.25]


def test_where_nothing_was_found_nothing_is_believed() -> None:
    assert len(believed(Found(numpy.zeros((0, 4)), numpy.zeros(0, int), numpy.zeros(0))).scores) == 0
