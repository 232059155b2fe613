"""Inference on a whole image, as in the product: preprocessing and postprocessing.

- An image is processed at full size. One with more than `MOST_PIXELS` (larger than 2560x1440) is scaled down: on such
  displays everything is drawn at one and a half times or more.
- It is placed in the upper left; grey padding fills the grid on the right and below.
- Large elements are also detected in smaller copies of the image (multiscale.py), rows are aligned with their text
  (row_alignment.py), and sides of large boxes are snapped to edges (edge_snapping.py). Other elements come from the full size
  alone.
- Scores of elements in a series are raised (series_boost.py), which decides cases near the confidence threshold.
- A text field that fills the gap between two more confident fields is removed (caption_filter.py).
- Non-maximum suppression at an IoU of 0.4 keeps the most confident box, regardless of class, like
  `parse/detect/postprocess.rs`. A control inside another one has a lower IoU. On 50 validation screens, 0.7 gives a recall of
  0.674 with 26.9 % false positives, a fourth of them duplicates; 0.4 gives 0.755 with 25.7 %.
- A large field that contains more confident controls is a page and is removed (page_filter.py), and so are controls blocked by a
  dialog (backdrop.py).
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
    """Detects controls on the RGB image `pixels`. Without `large_from` there is a single pass."""
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
    """Number of input pixels per image pixel in the first pass."""
    height, width = pixels.shape[:2]
    return min(1.0, (most_pixels / (height * width)) ** 0.5)


def _look_at(model: Model, pixels: numpy.ndarray, scale: float, least_score: float) -> Found:
    shown = prepare(pixels, scale)
    return read_off(model(shown)[0], scale, least_score)


def prepare(pixels: numpy.ndarray, scale: float) -> numpy.ndarray:
    """Model input for `pixels`, with `scale` input pixels per image pixel."""
    if scale < 1:
        height, width = pixels.shape[:2]
        # Halves are rounded up, as in the product.
        size = max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    height, width = pixels.shape[:2]
    shown = numpy.full((-height % GRID + height, -width % GRID + width, 3), FILLING, numpy.uint8)
    shown[:height, :width] = pixels
    return numpy.ascontiguousarray(shown.transpose(2, 0, 1)[None], numpy.float32) / 255


def read_off(answer: numpy.ndarray, scale: float, least_score: float) -> Found:
    """Decodes the boxes of the output `[4 + classes, cells]` that reach the threshold, in image pixels; several per
    control."""
    best = answer[4:].max(0)
    cells = numpy.flatnonzero(best >= least_score)
    middle, extent = answer[:2, cells].T, answer[2:4, cells].T
    boxes = numpy.concatenate((middle - extent / 2, middle + extent / 2), 1) / scale
    return Found(boxes, answer[4:, cells].argmax(0), best[cells])


def apart(found: Found, size: tuple[int, int]) -> Found:
    """Non-maximum suppression inside an image of `size`, height and width; most confident first."""
    boxes = found.boxes.clip(0, (size[1], size[0]) * 2)
    has_an_inside = (boxes[:, 2:] > boxes[:, :2]).all(1)
    inside = Found(boxes, found.kinds, found.scores).only(has_an_inside)
    surest = inside.only(numpy.argsort(-inside.scores, kind="stable")[: 4 * MOST_FOUND])
    return surest.only(without_duplicates(surest.boxes)[:MOST_FOUND])


def without_duplicates(boxes: numpy.ndarray) -> numpy.ndarray:
    """Indices of the boxes that are kept; expects descending scores."""
    left = numpy.arange(len(boxes))
    kept = []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        left = left[overlaps(boxes[first][None], boxes[left])[0] <= SAME_THING]
    return numpy.array(kept, numpy.int64)
