"""Detections of an image: boxes x1, y1, x2, y2 in its own pixels, with kinds and scores."""

from dataclasses import dataclass

import numpy


@dataclass(frozen=True)
class Found:
    boxes: numpy.ndarray
    kinds: numpy.ndarray
    scores: numpy.ndarray

    def only(self, which: numpy.ndarray) -> "Found":
        """Selects by index or mask."""
        return Found(self.boxes[which], self.kinds[which], self.scores[which])

    @property
    def sides(self) -> numpy.ndarray:
        """Widths and heights: `[boxes, 2]`."""
        return self.boxes[:, 2:] - self.boxes[:, :2]


def together(*several: Found) -> Found:
    columns = zip(*((one.boxes, one.kinds, one.scores) for one in several))
    return Found(*(numpy.concatenate(column) for column in columns))
