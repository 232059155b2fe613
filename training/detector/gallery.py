"""Images of the worst mistakes, grouped by likely cause, for inspection.

Ground truth is green, detections are red, the mistake is thick. Worst first: misses that the model does not see at all,
then those closer to the threshold; and false positives with the highest scores.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy

from . import classes
from .boxes import overlaps, shared_area
from .detections import Detections
from .metrics import MATCH_IOU, Judged
from .screens import Screen

MAX_MISTAKES = 20
"""Maximum number of misses and of false positives."""

MAX_PER_CAUSE = 5
"""Maximum number per cause, so that every cause is shown."""

AROUND = 48
MAX_SIDE = 480
"""Maximum side of an image, in pixels."""

SMALL = 12
"""Shorter side below which an element counts as very small."""

GREEN, RED = (0, 150, 0), (220, 0, 0)


@dataclass(frozen=True)
class Mistake:
    screen_index: int
    box: numpy.ndarray
    is_miss: bool
    kind: int
    cause: str
    how_bad: float


def write(seen: list[tuple[Screen, Detections]], judged: list[Judged], confidence_threshold: float, folder: Path) -> Path:
    """Writes one image per mistake and `errors.md`, which shows them; returns its path."""
    found = [one for index in range(len(seen)) for one in mistakes(index, *seen[index], judged[index], confidence_threshold)]
    worst = [*_worst(found, is_miss=True), *_worst(found, is_miss=False)]
    folder.mkdir(parents=True, exist_ok=True)
    causes: dict[str, list[str]] = defaultdict(list)
    for number, mistake in enumerate(worst):
        screen, boxes = seen[mistake.screen_index]
        name = f"{number:02}.png"
        cv2.imwrite(str(folder / name), drawn(screen, boxes, mistake, confidence_threshold))
        causes[mistake.cause].append(f"![]({name}) {_words(screen, mistake)}")
    counted = Counter(one.cause for one in found)
    order = sorted(counted, key=lambda cause: -counted[cause])
    sections = [f"## {cause} ({counted[cause]} of {len(found)})\n\n" + "\n\n".join(causes[cause]) for cause in order]
    page = folder / "errors.md"
    page.write_text("# The worst mistakes, by cause\n\n" + "\n\n".join(sections) + "\n")
    return page


def mistakes(screen_index: int, screen: Screen, found: Detections, judged: Judged, confidence_threshold: float) -> list[Mistake]:
    """Finds missed interactable elements and false positives."""
    can_act = numpy.array(classes.INTERACTABLE)
    overlap = overlaps(found.boxes, screen.boxes)
    sure = found.scores >= confidence_threshold
    result = []
    for element in numpy.flatnonzero(screen.acts & (judged.matched < 0)):
        near = overlap[:, element]
        cause, seen_at = _why_missed(near, found.scores, sure, judged.true_sides[element])
        result.append(Mistake(screen_index, screen.boxes[element], True, int(screen.kinds[element]), cause, 1 - seen_at))
    for index in numpy.flatnonzero(sure & can_act[found.kinds] & (judged.found_true < 0)):
        cause = _why_false(found.boxes[index], overlap[index], screen)
        result.append(Mistake(screen_index, found.boxes[index], False, int(found.kinds[index]), cause, float(found.scores[index])))
    return result


def _why_missed(near: numpy.ndarray, scores: numpy.ndarray, sure: numpy.ndarray, side: float) -> tuple[str, float]:
    """Returns the cause, and the score of the best matching box."""
    fits = near >= MATCH_IOU
    seen_at = float(scores[fits].max()) if fits.any() else 0.0
    if (fits & sure).any():
        return "missed: its box matched a neighbour", seen_at
    if fits.any():
        return "missed: score below the threshold", seen_at
    if (sure & (near >= 0.25)).any():
        return "missed: box does not fit", seen_at
    if side < SMALL:
        return "missed: very small", seen_at
    return "missed: not detected", seen_at


def _why_false(box: numpy.ndarray, near: numpy.ndarray, screen: Screen) -> str:
    if (near >= MATCH_IOU).any():
        return "false: duplicate box"
    if (near >= 0.2).any():
        return "false: box does not fit"
    inside = shared_area(box[None], screen.boxes)[0] / max(1e-6, float(numpy.prod(box[2:] - box[:2])))
    if (inside >= 0.8).any():
        return "false: part of an element, or on one"
    return "false: no element there"


def _worst(found: list[Mistake], is_miss: bool) -> list[Mistake]:
    """Selects the worst mistakes, limited per cause and class, so that one fault does not hide the others."""
    taken: Counter[tuple] = Counter()
    result: list[Mistake] = []
    for mistake in sorted((one for one in found if one.is_miss == is_miss), key=lambda one: -one.how_bad):
        group = mistake.cause, mistake.kind
        if len(result) < MAX_MISTAKES and taken[group] < 3 and taken[(mistake.cause,)] < MAX_PER_CAUSE:
            taken.update((group, (mistake.cause,)))
            result.append(mistake)
    return result


def drawn(screen: Screen, found: Detections, mistake: Mistake, confidence_threshold: float) -> numpy.ndarray:
    """Draws a mistake as a BGR image."""
    pixels = screen.pixels()
    height, width = pixels.shape[:2]
    left, top = (max(0, int(value) - AROUND) for value in mistake.box[:2])
    right, bottom = min(width, int(mistake.box[2]) + AROUND), min(height, int(mistake.box[3]) + AROUND)
    part = numpy.ascontiguousarray(pixels[top:bottom, left:right])
    for box in screen.boxes:
        _frame(part, box, left, top, GREEN, 1)
    for box in found.boxes[found.scores >= confidence_threshold]:
        _frame(part, box, left, top, RED, 1)
    _frame(part, mistake.box, left, top, GREEN if mistake.is_miss else RED, 2)
    scale = min(2.0, MAX_SIDE / max(part.shape[:2]))
    return cv2.cvtColor(cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)


def _frame(part: numpy.ndarray, box: numpy.ndarray, left: int, top: int, colour: tuple[int, int, int], width: int) -> None:
    x1, y1, x2, y2 = (round(float(value)) for value in box)
    cv2.rectangle(part, (x1 - left, y1 - top), (x2 - left - 1, y2 - top - 1), colour, width)


def _words(screen: Screen, mistake: Mistake) -> str:
    width, height = mistake.box[2:] - mistake.box[:2]
    about = screen.about
    return f"{classes.NAMES[mistake.kind]}, {width:.0f}x{height:.0f}, {about.get('kit', '–')}, {about.get('theme', '–')}, {screen.image_path.stem}"
