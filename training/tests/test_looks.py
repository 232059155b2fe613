"""Merging of several scales: the cases of `parse/detect/multiscale.rs`."""

import numpy
import pytest

from detector import classes, looks
from detector.found import Found

ROW, FIELD, BUTTON = (classes.NAMES.index(name) for name in ("table_row", "text_field", "button"))


def found(*rows: tuple[int, list[float], float]) -> Found:
    boxes = numpy.array([box for _, box, _ in rows], float).reshape(-1, 4)
    return Found(boxes, numpy.array([kind for kind, _, _ in rows], int), numpy.array([score for _, _, score in rows], float))


def check(near: Found, half: Found, quarter: Found, expected: list[tuple[int, list[float], float]]) -> None:
    got = looks.merged(near, [half, quarter], 400)
    assert got.kinds.tolist() == [kind for kind, _, _ in expected]
    assert got.boxes == pytest.approx(numpy.array([box for _, box, _ in expected], float).reshape(-1, 4))
    assert got.scores == pytest.approx(numpy.array([score for _, _, score in expected], float))


def test_each_size_comes_from_the_look_that_sees_it_whole() -> None:
    button = (BUTTON, [10, 10, 90, 40], 0.9)
    pane = (FIELD, [0, 0, 600, 300], 0.8)
    screen = (FIELD, [0, 0, 1200, 700], 0.7)
    seen = found(button, pane, screen)
    check(seen, seen, seen, [button, pane, screen])
    check(seen, found(), found(), [button])
    check(found(), seen, found(), [pane])
    check(found(), found(), seen, [screen])


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_slender_is_as_long_as_from_afar_and_lies_where_it_is_near(turned: bool) -> None:
    def box(left: float, top: float, right: float, bottom: float) -> list[float]:
        return [top, left, bottom, right] if turned else [left, top, right, bottom]

    afar = (ROW, box(100, 208, 900, 230), 0.2)

    def check_row(near: list[tuple[int, list[float], float]], expected: tuple[int, list[float], float]) -> None:
        check(found(*near), found(afar), found(), [*(one for one in near if max(one[1][2] - one[1][0], one[1][3] - one[1][1]) < 400), expected])

    # Two boxes of this row, one of the next.
    check_row(
        [(ROW, box(300, 200, 720, 220), 0.6), (ROW, box(400, 202, 840, 222), 0.2), (ROW, box(300, 222, 720, 242), 0.1)],
        (ROW, box(100, 200.5, 900, 220.5), 0.6),
    )
    # Slightly farther away, but with a higher score.
    check_row([(ROW, box(300, 198, 720, 218), 0.15), (ROW, box(300, 218, 720, 238), 0.6)], (ROW, box(100, 218, 900, 238), 0.6))
    for other in [
        (FIELD, box(300, 200, 720, 220), 0.6),
        (ROW, box(300, 200, 720, 220), 0.05),
        (ROW, box(300, 200, 390, 220), 0.6),
        (ROW, box(300, 240, 720, 260), 0.6),
        (ROW, box(300, 180, 720, 240), 0.6),
        (ROW, box(950, 200, 1350, 220), 0.6),
    ]:
        check_row([other], afar)
