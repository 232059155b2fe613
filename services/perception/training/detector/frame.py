"""Looking at a whole picture, as the product does: what goes into the model and what becomes of its answer.

- A picture is looked at in its own pixels. One of more than `MOST_PIXELS` (larger than 2560x1440) is made smaller: on
  such displays everything is drawn at one and a half times or more.
- It lies in the upper left; grey fills up to the grid on the right and below.
- What is large is looked for from afar as well, in smaller copies of the picture (looks.py), rows are laid on their text
  (rows.py), and sides of large boxes on edges (edges.py). What is not large is looked for in the picture's own pixels alone.
- What stands in a series is believed more (series.py), which decides of what is near the least score that is asked for.
- A text field that fills the gap between two surer fields is left out (captions.py).
- Of boxes that share more than 0.4 of their union the most confident stays, whatever its class: what
  `parse/detect/answer.rs` does. What a control has in it is smaller than that. With 0.7, on 50 validation screens, a recall
  of 0.674 had 26.9 % of boxes that stand for nothing, a fourth of them second ones; with 0.4, one of 0.755 has 25.7 %.
- A large field that holds surer controls is a page and left out (pages.py), and so is what is out of reach behind a dialog (veil.py).
"""

from collections.abc import Callable

import cv2
import numpy

from . import captions, edges, looks, pages, rows, series, veil
from .boxes import overlaps
from .crops import FILLING
from .found import Found
from .network import GRID

MOST_PIXELS = 2560 * 1440
SAME_THING = 0.4
MOST_FOUND = 1000

Model = Callable[[numpy.ndarray], numpy.ndarray]
"""`[1, 3, height, width]` from 0 to 1 to `[1, 4 + classes, cells]`."""


def look(
    model: Model,
    pixels: numpy.ndarray,
    least_score: float,
    most_pixels: int = MOST_PIXELS,
    large_from: float | None = looks.LARGE,
) -> Found:
    """What is on `pixels`, RGB. Without `large_from` there is no look from afar."""
    scale = own_scale(pixels, most_pixels)
    lowest = min(least_score, looks.LEAST_SCORE)
    found = _look_at(model, pixels, scale, lowest)
    if large_from is not None and max(pixels.shape[:2]) * scale >= large_from:
        afar = [_look_at(model, pixels, share * scale, lowest) for share in looks.FROM_AFAR]
        found = looks.merged(found, afar, large_from / scale)
    found = rows.on_their_text(pixels, found)
    found = series.believed(apart(found, pixels.shape[:2]))
    found = captions.without_captions(found.only(found.scores >= least_score))
    found = pages.without_pages(edges.on_edges(pixels, found))
    return found.only(~veil.veiled(pixels, found.boxes, found.kinds, found.scores))


def own_scale(pixels: numpy.ndarray, most_pixels: int = MOST_PIXELS) -> float:
    """How many pixels the first look is shown for one of the picture."""
    height, width = pixels.shape[:2]
    return min(1.0, (most_pixels / (height * width)) ** 0.5)


def _look_at(model: Model, pixels: numpy.ndarray, scale: float, least_score: float) -> Found:
    shown = prepare(pixels, scale)
    return read_off(model(shown)[0], scale, least_score)


def prepare(pixels: numpy.ndarray, scale: float) -> numpy.ndarray:
    """What the model is shown of `pixels`, with `scale` pixels for one of them."""
    if scale < 1:
        height, width = pixels.shape[:2]
        # Halves up, as the product rounds.
        size = max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    height, width = pixels.shape[:2]
    shown = numpy.full((-height % GRID + height, -width % GRID + width, 3), FILLING, numpy.uint8)
    shown[:height, :width] = pixels
    return numpy.ascontiguousarray(shown.transpose(2, 0, 1)[None], numpy.float32) / 255


def read_off(answer: numpy.ndarray, scale: float, least_score: float) -> Found:
    """Everything that `answer`, `[4 + classes, cells]`, is sure enough of, in pixels of the picture; many boxes for one thing."""
    best = answer[4:].max(0)
    cells = numpy.flatnonzero(best >= least_score)
    middle, extent = answer[:2, cells].T, answer[2:4, cells].T
    boxes = numpy.concatenate((middle - extent / 2, middle + extent / 2), 1) / scale
    return Found(boxes, answer[4:, cells].argmax(0), best[cells])


def apart(found: Found, size: tuple[int, int]) -> Found:
    """One box for each thing, inside of a picture of `size`, height and width; the most confident first."""
    boxes = found.boxes.clip(0, (size[1], size[0]) * 2)
    has_an_inside = (boxes[:, 2:] > boxes[:, :2]).all(1)
    inside = Found(boxes, found.kinds, found.scores).only(has_an_inside)
    surest = inside.only(numpy.argsort(-inside.scores, kind="stable")[: 4 * MOST_FOUND])
    return surest.only(without_duplicates(surest.boxes)[:MOST_FOUND])


def without_duplicates(boxes: numpy.ndarray) -> numpy.ndarray:
    """Indices of those that stay; the most confident come first."""
    left = numpy.arange(len(boxes))
    kept = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[overlaps(boxes[first][None], boxes[left])[0] <= SAME_THING]
    return numpy.array(kept, numpy.int64)
