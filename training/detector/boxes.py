"""Box arithmetic on x1, y1, x2, y2, in torch for training and in numpy for evaluation."""

import numpy
import torch
from torch import Tensor


def generalised_overlap(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns IoU and generalised IoU (GIoU, Rezatofighi et al. 2019) of paired boxes."""
    shared = _area(torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:]))
    union = _area(a[..., :2], a[..., 2:]) + _area(b[..., :2], b[..., 2:]) - shared
    around = _area(torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:]))
    overlap = shared / union.clamp(min=1e-6)
    return overlap, overlap - (around - union) / around.clamp(min=1e-6)


def _area(upper: Tensor, lower: Tensor) -> Tensor:
    return (lower - upper).clamp(min=0).prod(-1)


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
