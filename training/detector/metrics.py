"""Detection metrics.

Two questions are answered separately. Is every interactable element found, whatever its class? That decides whether a
click is possible. Is its class right? That decides whether the right element is clicked.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy

from . import classes
from .boxes import area, overlaps, shared_area
from .detections import Detections
from .screens import Screen

MATCH_IOU = 0.5
"""IoU from which a detection matches an element."""

MIN_FRACTION_INSIDE = 0.9
"""Minimum fraction of an element that must be inside another one."""

SIZES = ((16, "under 16"), (32, "16 to 31"), (96, "32 to 95"), (numpy.inf, "96 and more"))
"""Size groups by the shorter side, in pixels."""


@dataclass(frozen=True)
class Judged:
    """Evaluation of one image. Arrays of `true` have one entry per element, those of `found` one per detection."""

    about: dict
    true_kinds: numpy.ndarray
    true_acts: numpy.ndarray
    """True if interactable."""
    true_sides: numpy.ndarray
    """Shorter side."""
    matched: numpy.ndarray
    """Index of the detection that matches the element, whatever its class; -1 if none."""
    clicked: numpy.ndarray
    """True if a click at the centre of that detection hits the element."""
    reached: numpy.ndarray
    """True if a click at the centre of any detection, including false positives, hits the element."""
    found_kinds: numpy.ndarray
    found_scores: numpy.ndarray
    found_right: numpy.ndarray
    """True if the detection matches an element of its own class, ignoring detections of other classes."""
    found_sides: numpy.ndarray
    found_true: numpy.ndarray
    """Index of the matched element, whatever its class; -1 if none."""


def judge(screen: Screen, found: Detections, confidence_threshold: float) -> Judged:
    """Evaluates detections. `found` includes low scores; `confidence_threshold` is the threshold of the product."""
    overlap = overlaps(found.boxes, screen.boxes)
    sure = found.scores >= confidence_threshold
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
    """Matches each detection, most confident first, with the best unmatched element; -1 if there is none."""
    free = overlap.copy()
    result = numpy.full(len(overlap), -1)
    if not overlap.shape[1]:
        return result
    for row in numpy.flatnonzero(overlap.max(1) >= MATCH_IOU):
        best = int(free[row].argmax())
        if free[row, best] >= MATCH_IOU:
            result[row] = best
            free[:, best] = 0
    return result


def clicks(true: numpy.ndarray, found: numpy.ndarray, matched: numpy.ndarray) -> numpy.ndarray:
    """Returns whether the centre of the detection is inside the element and in no smaller element within it."""
    result = numpy.zeros(len(true), bool)
    if not len(true):
        return result
    lies_in = shared_area(true, true) >= MIN_FRACTION_INSIDE * area(true)[:, None]
    smaller = area(true)[:, None] < area(true)[None]
    for element in numpy.flatnonzero(matched >= 0):
        box = found[matched[element]]
        hit = _holds(true, (box[:2] + box[2:]) / 2)
        on_another = hit & lies_in[:, element] & smaller[:, element]
        result[element] = hit[element] and not on_another.any()
    return result


def reached(true: numpy.ndarray, acts: numpy.ndarray, found: numpy.ndarray) -> numpy.ndarray:
    """Returns for each element whether the centre of a detection is in it and in no smaller interactable element."""
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
class OverallMetrics:
    """Metrics over all interactable elements."""

    images: int
    elements: int
    recall: float
    click_accuracy: float
    """Fraction of the found elements that a click at the centre of the detection hits."""
    clickable: float
    """The same as a fraction of all elements."""
    reached: float
    """Fraction of all elements that a click at the centre of any detection hits: an upper bound for a planner that uses
    the boxes."""
    false_positive_rate: float
    """Fraction of false positives among the detections."""
    class_accuracy: float
    """Fraction of the found elements with the right class."""


@dataclass(frozen=True)
class ClassMetrics:
    elements: int
    recall: float
    precision: float
    average_precision: float
    """AP50: the area under the precision-recall curve over all scores."""


def general(judged: Iterable[Judged], confidence_threshold: float) -> OverallMetrics:
    can_act = numpy.array(classes.INTERACTABLE)
    images = elements = found = clicked = hit = boxes = wrong = right = 0
    for one in judged:
        images += 1
        acts = one.true_acts
        is_found = acts & (one.matched >= 0)
        elements, found = elements + int(acts.sum()), found + int(is_found.sum())
        clicked, hit = clicked + int((is_found & one.clicked).sum()), hit + int((acts & one.reached).sum())
        right += int((one.found_kinds[one.matched[is_found]] == one.true_kinds[is_found]).sum())
        predicted = (one.found_scores >= confidence_threshold) & can_act[one.found_kinds]
        boxes, wrong = boxes + int(predicted.sum()), wrong + int((predicted & (one.found_true < 0)).sum())
    return OverallMetrics(
        images,
        elements,
        recall=_share(found, elements),
        click_accuracy=_share(clicked, found),
        clickable=_share(clicked, elements),
        reached=_share(hit, elements),
        false_positive_rate=_share(wrong, boxes),
        class_accuracy=_share(right, found),
    )


def of_class(judged: list[Judged], kind: int, confidence_threshold: float) -> ClassMetrics:
    elements = sum(int((one.true_kinds == kind).sum()) for one in judged)
    scores = numpy.concatenate([one.found_scores[one.found_kinds == kind] for one in judged])
    right = numpy.concatenate([one.found_right[one.found_kinds == kind] for one in judged])
    sure = scores >= confidence_threshold
    return ClassMetrics(
        elements,
        recall=_share(int(right[sure].sum()), elements),
        precision=_share(int(right[sure].sum()), int(sure.sum())),
        average_precision=average_precision(scores, right, elements),
    )


def recall_by_size(judged: list[Judged]) -> dict[str, tuple[int, float]]:
    """Number of interactable elements and their recall, by size."""
    acts = numpy.concatenate([one.true_acts for one in judged])
    sides = numpy.concatenate([one.true_sides for one in judged])[acts]
    found = numpy.concatenate([one.matched >= 0 for one in judged])[acts]
    result, min_side = {}, 0.0
    for max_side, name in SIZES:
        here = (sides >= min_side) & (sides < max_side)
        result[name] = int(here.sum()), _share(int(found[here].sum()), int(here.sum()))
        min_side = max_side
    return result


def average_precision(scores: numpy.ndarray, right: numpy.ndarray, elements: int) -> float:
    """Area under the interpolated precision-recall curve."""
    if not elements:
        return float("nan")
    right = right[numpy.argsort(-scores, kind="stable")]
    hits = right.cumsum()
    precision = hits / numpy.arange(1, len(hits) + 1)
    best = numpy.maximum.accumulate(precision[::-1])[::-1]
    return float(best[right].sum() / elements)


def best_threshold(judged: list[Judged]) -> float:
    """Confidence threshold with the best F1 over interactable elements.

    Matches are taken at the lowest score, which is accurate enough for this choice.
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
