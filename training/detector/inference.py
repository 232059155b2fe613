"""Inference on a whole image, as in the product.

- An image is processed at full size. One with more than `MAX_PIXELS` (larger than 2560x1440) is scaled down: on such
  displays everything is drawn at one and a half times or more.
- It is placed in the upper left; grey padding fills the grid on the right and below.
- Large elements are also detected in smaller copies of the image, at `SCALES`.
- The outputs of all passes go to the post-processing of the product (postprocess.py), which merges them, aligns rows
  with their text, snaps large boxes to edges, and drops duplicates, captions, pages and what a modal dialog blocks.
"""

from collections.abc import Callable

import cv2
import numpy

from .detections import Detections
from .postprocess import ModelOutputs, PostProcessor
from .samples import PADDING_VALUE

GRID = 32
"""Sides of the model input must be multiples of this."""

MAX_PIXELS = 2560 * 1440
LARGE = 400
"""Length, in input pixels, from which an element is large and is taken from a smaller copy."""
SCALES = (0.5, 0.25)
"""Scales of the smaller copies, as in `parse/detect/multiscale.rs`."""

Model = Callable[[numpy.ndarray], numpy.ndarray]
"""`[1, 3, height, width]` from 0 to 1 to `[1, 4 + classes, cells]`."""


def detect(
    model: Model,
    processor: PostProcessor,
    pixels: numpy.ndarray,
    confidence_threshold: float,
    max_pixels: int = MAX_PIXELS,
    large_from: float | None = LARGE,
) -> Detections:
    """Detects controls on the RGB image `pixels`. Without `large_from` there is a single pass."""
    scale = base_scale(pixels, max_pixels)
    has_large = large_from is not None and max(pixels.shape[:2]) * scale >= large_from
    shares = (1.0, *SCALES) if has_large else (1.0,)
    passes = [model(prepare(pixels, share * scale))[0] for share in shares]
    return processor.detections(pixels, ModelOutputs(passes, scale, large_from), confidence_threshold)


def base_scale(pixels: numpy.ndarray, max_pixels: int = MAX_PIXELS) -> float:
    """Number of input pixels per image pixel in the first pass."""
    height, width = pixels.shape[:2]
    return min(1.0, (max_pixels / (height * width)) ** 0.5)


def prepare(pixels: numpy.ndarray, scale: float) -> numpy.ndarray:
    """Model input for `pixels`, with `scale` input pixels per image pixel."""
    if scale < 1:
        height, width = pixels.shape[:2]
        # Halves are rounded up, as in the product.
        size = max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    height, width = pixels.shape[:2]
    shown = numpy.full((-height % GRID + height, -width % GRID + width, 3), PADDING_VALUE, numpy.uint8)
    shown[:height, :width] = pixels
    return numpy.ascontiguousarray(shown.transpose(2, 0, 1)[None], numpy.float32) / 255
