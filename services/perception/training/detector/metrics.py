"""How good what was found is, against what is there.

Two questions are asked apart. Is everything found that one can act on, whatever it was taken for? That decides whether
a click is possible. And is it taken for what it is? That decides whether the right thing is clicked.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy

from . import classes
from .boxes import area, overlaps, shared_area
from .found import Found
from .screens import Screen

SAME = 0.5
"""Overlap (IoU) from which on a found box is the true one."""

INSIDE = 0.9
"""An element lies in another if so much of it does."""

SIZES = ((16, "under 16"), (32, "16 to 31"), (96, "32 to 95"), (numpy.inf, "96 and more"))
"""By the shorter side, in pixels."""


@dataclass(frozen=True)
class Judged:
    """One picture. Arrays of `true` have an entry for each element, those of `found` for each found box."""

    about: dict
    true_kinds: numpy.ndarray
    true_acts: numpy.ndarray
    """Whether one can act on it."""
    true_sides: numpy.ndarray
    """The shorter one."""
    matched: numpy.ndarray
    """Which found box stands for the element, whatever it was taken for; -1 if none."""
    clicked: numpy.ndarray
    """Whether a click into the middle of that box goes to the element."""
    reached: numpy.ndarray
    """Whether a click into the middle of any box goes to the element, one that stands for nothing among them."""
    found_kinds: numpy.ndarray
    found_scores: numpy.ndarray
    found_right: numpy.ndarray
    """Whether the box stands for an element of its own class, when boxes of other classes are not looked at."""
    found_sides: numpy.ndarray
    found_true: numpy.ndarray
    """Which element it stands for, whatever it was taken for; -1 if none."""


def judge(screen: Screen, found: Found, least_score: float) -> Judged:
    """`found` goes down to low scores; `least_score` is what the product asks for."""
    overlap = overlaps(found.boxes, screen.boxes)
    sure = found.scores >= least_score
    found_true = matches(numpy.where(sure[:, None], overlap, 0))
    matched = numpy.full(len(screen.boxes), -1)
    matched[found_true[found_true >= 0]] = numpy.flatnonzero(found_true >= 0)
    right = matches(numpy.where(found.kinds[:, None] == screen.kinds[None], overlap, 0)) >= 0
    return Judged(
        about=screen.about,
        true_kinds=screen.kinds,
        true_acts=screen.acts,
        true_sides=_shorter(screen.boxes),
        matched=matched,
        clicked=clicks(screen.boxes, found.boxes, matched),
        reached=reached(screen.boxes, screen.acts, found.boxes[sure]),
        found_kinds=found.kinds,
        found_scores=found.scores,
        found_right=right,
        found_sides=_shorter(found.boxes),
        found_true=found_true,
    )


def matches(overlap: numpy.ndarray) -> numpy.ndarray:
    """For each found box, the most confident first, the best element that none before it took; -1 if there is none."""
    free = overlap.copy()
    result = numpy.full(len(overlap), -1)
    if not overlap.shape[1]:
        return result
    for row in numpy.flatnonzero(overlap.max(1) >= SAME):
        best = int(free[row].argmax())
        if free[row, best] >= SAME:
            result[row] = best
            free[:, best] = 0
    return result


def clicks(true: numpy.ndarray, found: numpy.ndarray, matched: numpy.ndarray) -> numpy.ndarray:
    """Whether the middle of the found box is inside the element and in no smaller one that lies in it."""
    result = numpy.zeros(len(true), bool)
    if not len(true):
        return result
    lies_in = shared_area(true, true) >= INSIDE * area(true)[:, None]
    smaller = area(true)[:, None] < area(true)[None]
    for element in numpy.flatnonzero(matched >= 0):
        box = found[matched[element]]
        hit = _holds(true, (box[:2] + box[2:]) / 2)
        on_another = hit & lies_in[:, element] & smaller[:, element]
        result[element] = hit[element] and not on_another.any()
    return result


def reached(true: numpy.ndarray, acts: numpy.ndarray, found: numpy.ndarray) -> numpy.ndarray:
    """For each element, whether the middle of a found box is in it and in no smaller one that one can act on."""
    result = numpy.zeros(len(true), bool)
    areas = numpy.where(acts, area(true), numpy.inf)
    for box in found:
        hit = numpy.flatnonzero(_holds(true, (box[:2] + box[2:]) / 2))
        if len(hit):
            result[hit[areas[hit].argmin()]] = True
    return result


def _holds(boxes: numpy.ndarray, point: numpy.ndarray) -> numpy.ndarray:
    return (boxes[:, :2] <= point).all(1) & (point < boxes[:, 2:]).all(1)


def _shorter(boxes: numpy.ndarray) -> numpy.ndarray:
    return (boxes[:, 2:] - boxes[:, :2]).min(1) if len(boxes) else numpy.empty(0)


@dataclass(frozen=True)
class General:
    """Of all that one can act on."""

    pictures: int
    elements: int
    recall: float
    click_point: float
    """Of those found, how many a click into the middle of the found box goes to."""
    clickable: float
    """Of all, found or not."""
    reached: float
    """Of all, how many a click into the middle of any box goes to: what a planner can do with the boxes, right or not."""
    spurious: float
    """Of the boxes found, how many stand for nothing."""
    kind_right: float
    """Of those found, how many were taken for what they are."""


@dataclass(frozen=True)
class OfClass:
    elements: int
    recall: float
    precision: float
    average_precision: float
    """AP50: the area under precision over recall, from every score there is."""


def general(judged: Iterable[Judged], least_score: float) -> General:
    can_act = numpy.array(classes.INTERACTABLE)
    pictures = elements = found = clicked = hit = boxes = wrong = right = 0
    for one in judged:
        pictures += 1
        acts = one.true_acts
        is_found = acts & (one.matched >= 0)
        elements, found = elements + int(acts.sum()), found + int(is_found.sum())
        clicked, hit = clicked + int((is_found & one.clicked).sum()), hit + int((acts & one.reached).sum())
        right += int((one.found_kinds[one.matched[is_found]] == one.true_kinds[is_found]).sum())
        said = (one.found_scores >= least_score) & can_act[one.found_kinds]
        boxes, wrong = boxes + int(said.sum()), wrong + int((said & (one.found_true < 0)).sum())
    return General(
        pictures,
        elements,
        recall=_share(found, elements),
        click_point=_share(clicked, found),
        clickable=_share(clicked, elements),
        reached=_share(hit, elements),
        spurious=_share(wrong, boxes),
        kind_right=_share(right, found),
    )


def of_class(judged: list[Judged], kind: int, least_score: float) -> OfClass:
    elements = sum(int((one.true_kinds == kind).sum()) for one in judged)
    scores = numpy.concatenate([one.found_scores[one.found_kinds == kind] for one in judged])
    right = numpy.concatenate([one.found_right[one.found_kinds == kind] for one in judged])
    sure = scores >= least_score
    return OfClass(
        elements,
        recall=_share(int(right[sure].sum()), elements),
        precision=_share(int(right[sure].sum()), int(sure.sum())),
        average_precision=average_precision(scores, right, elements),
    )


def recall_by_size(judged: list[Judged]) -> dict[str, tuple[int, float]]:
    """How many there are one can act on, and how many of them are found."""
    acts = numpy.concatenate([one.true_acts for one in judged])
    sides = numpy.concatenate([one.true_sides for one in judged])[acts]
    found = numpy.concatenate([one.matched >= 0 for one in judged])[acts]
    result, least = {}, 0.0
    for most, name in SIZES:
        here = (sides >= least) & (sides < most)
        result[name] = int(here.sum()), _share(int(found[here].sum()), int(here.sum()))
        least = most
    return result


def average_precision(scores: numpy.ndarray, right: numpy.ndarray, elements: int) -> float:
    """The area under the curve itself, where precision is the best there is at that recall or a higher one."""
    if not elements:
        return float("nan")
    right = right[numpy.argsort(-scores, kind="stable")]
    hits = right.cumsum()
    precision = hits / numpy.arange(1, len(hits) + 1)
    best = numpy.maximum.accumulate(precision[::-1])[::-1]
    return float(best[right].sum() / elements)


def best_score(judged: list[Judged]) -> float:
    """The least score that balances what is missed and what is spurious best, of all one can act on (F1).

    Whether a box stands for something is taken from matches at the lowest score, which is near enough to choose by.
    """
    can_act = numpy.array(classes.INTERACTABLE)
    scores = numpy.concatenate([one.found_scores[can_act[one.found_kinds]] for one in judged])
    right = numpy.concatenate([(one.found_true >= 0)[can_act[one.found_kinds]] for one in judged])
    elements = sum(int(one.true_acts.sum()) for one in judged)
    if not len(scores):
        return 0.5
    order = numpy.argsort(-scores, kind="stable")
    hits = right[order].cumsum()
    balance = 2 * hits / (numpy.arange(1, len(order) + 1) + elements)
    return round(float(scores[order][balance.argmax()]), 2)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
