"""Detections of an image: boxes x1, y1, x2, y2 in its own pixels, with kinds and scores."""

from dataclasses import dataclass

import numpy


@dataclass(frozen=True)
class Detections:
    boxes: numpy.ndarray
    kinds: numpy.ndarray
    """Class indices."""
    scores: numpy.ndarray
