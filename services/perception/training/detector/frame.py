"""Looking at a whole picture, as the product does: what goes into the model and what becomes of its answer.

- A picture is looked at in its own pixels. One of more than `MOST_PIXELS` (larger than 2560x1440) is made smaller: on
  such displays everything is drawn at one and a half times or more.
- It lies in the upper left; grey fills up to the grid on the right and below.
- Of boxes that share more than 0.4 of their union the most confident stays, whatever its class: what
  `parse/detect/answer.rs` does. What a control has in it is smaller than that. With 0.7, on 50 validation screens, a recall
  of 0.674 had 26.9 % of boxes that stand for nothing, a fourth of them second ones; with 0.4, one of 0.755 has 25.7 %.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy

from .boxes import overlaps
from .crops import FILLING
from .network import GRID

MOST_PIXELS = 2560 * 1440
SAME_THING = 0.4
MOST_FOUND = 1000

Model = Callable[[numpy.ndarray], numpy.ndarray]
"""`[1, 3, height, width]` from 0 to 1 to `[1, 4 + classes, cells]`."""


@dataclass(frozen=True)
class Found:
    """The most confident first."""

    boxes: numpy.ndarray
    kinds: numpy.ndarray
    scores: numpy.ndarray


def look(model: Model, pixels: numpy.ndarray, least_score: float, most_pixels: int = MOST_PIXELS) -> Found:
    """What is on `pixels`, RGB."""
    prepared, scale = prepare(pixels, most_pixels)
    return apart(model(prepared)[0], scale, pixels.shape[:2], least_score)


def prepare(pixels: numpy.ndarray, most_pixels: int = MOST_PIXELS) -> tuple[numpy.ndarray, float]:
    """What the model is shown, and how many of its pixels there are to one of the picture."""
    height, width = pixels.shape[:2]
    scale = min(1.0, (most_pixels / (height * width)) ** 0.5)
    if scale < 1:
        pixels = cv2.resize(pixels, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
    height, width = pixels.shape[:2]
    shown = numpy.full((-height % GRID + height, -width % GRID + width, 3), FILLING, numpy.uint8)
    shown[:height, :width] = pixels
    return numpy.ascontiguousarray(shown.transpose(2, 0, 1)[None], numpy.float32) / 255, scale


def apart(answer: numpy.ndarray, scale: float, size: tuple[int, int], least_score: float) -> Found:
    """`answer` is `[4 + classes, cells]`, `size` height and width of the picture."""
    best = answer[4:].max(0)
    cells = numpy.flatnonzero(best >= least_score)
    cells = cells[numpy.argsort(-best[cells], kind="stable")][: 4 * MOST_FOUND]
    middle, extent = answer[:2, cells].T, answer[2:4, cells].T
    boxes = numpy.concatenate((middle - extent / 2, middle + extent / 2), 1) / scale
    boxes = boxes.clip(0, (size[1], size[0]) * 2)
    kept = without_duplicates(boxes)[:MOST_FOUND]
    return Found(boxes[kept], answer[4:, cells[kept]].argmax(0), best[cells[kept]])


def without_duplicates(boxes: numpy.ndarray) -> numpy.ndarray:
    """Indices of those that stay; the most confident come first."""
    left = numpy.arange(len(boxes))
    kept = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[overlaps(boxes[first][None], boxes[left])[0] <= SAME_THING]
    return numpy.array(kept, numpy.int64)
