"""Box arithmetic on x1, y1, x2, y2, for evaluation."""

import numpy


def area(boxes: numpy.ndarray) -> numpy.ndarray:
    return (boxes[..., 2] - boxes[..., 0]).clip(0) * (boxes[..., 3] - boxes[..., 1]).clip(0)


def shared_area(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """Shared area of each box with each: `[len(a), len(b)]`."""
    upper = numpy.maximum(a[:, None, :2], b[None, :, :2])
    lower = numpy.minimum(a[:, None, 2:], b[None, :, 2:])
    return area(numpy.concatenate((upper, lower), -1))


def overlaps(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """IoU of each box with each."""
    shared = shared_area(a, b)
    return shared / (area(a)[:, None] + area(b)[None, :] - shared).clip(1e-9)
