"""Assignment of cells to elements, and the loss.

Assignment is task-aligned (TOOD, Feng et al. 2021): the cells whose score and box together are best for an element are
its positives, and their target is the quality of the box. Candidates are not all cells inside an element but the few
nearest to its centre on each stride: that costs almost nothing on a CPU, and on screens, where elements are nested, the
centre distinguishes a row from its content.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from .network import STRIDES

CANDIDATE_REACH = 2
"""Reach of candidates to each side of the central cell, in cells."""

BAR_CELLS = 4
"""Minimum length of a bar, in cells; a bar is assigned to a stride that would be too coarse for its thickness."""

POSITIVES = 10
"""Maximum number of positive cells per element."""

SCORE_POWER, OVERLAP_POWER = 0.5, 6.0

BOX_WEIGHT = 2.5
"""Weight relative to the loss of the scores."""

MIN_BOX_WEIGHT = 0.3
"""Minimum weight of a cell with a badly fitting box; without it, boxes that are far off get no gradient."""


@dataclass(frozen=True)
class GroundTruth:
    """Elements of a batch, concatenated."""

    boxes: Tensor
    """`[elements, 4]`"""
    classes: Tensor
    """`[elements]`"""
    image_indices: Tensor
    """Index of the image of each element: `[elements]`."""

    def to(self, device: torch.device) -> "GroundTruth":
        return GroundTruth(*(value.to(device, non_blocking=True) for value in (self.boxes, self.classes, self.image_indices)))

    def pin_memory(self) -> "GroundTruth":
        return GroundTruth(self.boxes.pin_memory(), self.classes.pin_memory(), self.image_indices.pin_memory())


@dataclass(frozen=True)
class Assignment:
    """One row per positive cell."""

    cells: Tensor
    """Index among the cells of all images."""
    elements: Tensor
    targets: Tensor
    """Target score."""


def loss(logits: Tensor, boxes: Tensor, truth: GroundTruth, size: tuple[int, int]) -> tuple[Tensor, dict[str, float]]:
    """Returns the loss and its parts for the log. `size` is height and width of the images."""
    classes = logits.shape[-1]
    flat_logits, flat_boxes = logits.reshape(-1, classes), boxes.reshape(-1, 4)
    with torch.no_grad():
        assigned = assign(flat_logits, flat_boxes, truth, size)
    whole = assigned.targets.sum().clamp(min=1.0)
    targets = torch.zeros_like(flat_logits)
    targets[assigned.cells, truth.classes[assigned.elements]] = assigned.targets
    kinds = truth.classes[assigned.elements]
    each = importance(assigned.elements, len(truth.boxes))
    scores = functional.binary_cross_entropy_with_logits(flat_logits, targets, reduction="sum")
    answering = functional.binary_cross_entropy_with_logits(flat_logits[assigned.cells, kinds], assigned.targets, reduction="none")
    scores = (scores + ((each - 1) * answering).sum()) / whole
    _, fit = generalised_overlap(flat_boxes[assigned.cells], truth.boxes[assigned.elements])
    weights = each * (MIN_BOX_WEIGHT + (1 - MIN_BOX_WEIGHT) * assigned.targets)
    sides = ((1 - fit) * weights).sum() / weights.sum().clamp(min=1.0)
    return scores + BOX_WEIGHT * sides, {"scores": scores.item(), "boxes": sides.item(), "positives": len(assigned.cells)}


def importance(elements: Tensor, count: int) -> Tensor:
    """Weight of each positive cell: a checkbox has two or three of them and a button ten, so it would be learnt last
    otherwise. The square root is a compromise with weighting every element equally, because few cells give noisy
    gradients."""
    cells = torch.bincount(elements, minlength=count)
    return (POSITIVES / cells[elements]).sqrt()


def assign(logits: Tensor, boxes: Tensor, truth: GroundTruth, size: tuple[int, int]) -> Assignment:
    """Assigns cells to elements. `logits` and `boxes` contain the cells of all images, concatenated."""
    cells, valid = candidates(truth, size)
    overlap, _ = generalised_overlap(boxes[cells], truth.boxes[:, None])
    score = logits[cells, truth.classes[:, None]].sigmoid()
    fit = (score**SCORE_POWER * overlap**OVERLAP_POWER + 1e-12) * valid
    best = fit.topk(min(POSITIVES, fit.shape[1]), 1)
    elements = torch.arange(len(cells), device=cells.device)[:, None].expand_as(best.indices)
    chosen = best.values > 0
    cells, overlap = cells.gather(1, best.indices), overlap.gather(1, best.indices)
    cells, elements, overlap, fit = cells[chosen], elements[chosen], overlap[chosen], best.values[chosen]
    # A cell wanted by several elements is assigned to the one that its box fits best; to the first among equals.
    order = torch.argsort(overlap, stable=True, descending=True)
    cells, elements, overlap, fit = cells[order], elements[order], overlap[order], fit[order]
    keep = first_of_each(cells)
    cells, elements, overlap, fit = cells[keep], elements[keep], overlap[keep], fit[keep]
    best_fit = torch.zeros(len(truth.boxes), device=fit.device).scatter_reduce(0, elements, fit, "amax")
    best_overlap = torch.zeros_like(best_fit).scatter_reduce(0, elements, overlap, "amax")
    return Assignment(cells, elements, fit / best_fit[elements] * best_overlap[elements])


def candidates(truth: GroundTruth, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Returns the candidate cells of each element, `[elements, candidates]`, and whether each is valid.

    A cell is valid if its centre is in the box, or within half a cell of the centre of a smaller box.
    """
    device = truth.boxes.device
    steps = torch.arange(-CANDIDATE_REACH, CANDIDATE_REACH + 1, device=device)
    middle = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2
    extent = truth.boxes[:, 2:] - truth.boxes[:, :2]
    all_cells = sum((size[0] // stride) * (size[1] // stride) for stride in STRIDES)
    offset = truth.image_indices * all_cells
    cells, valid = [], []
    for stride in STRIDES:
        rows, columns = size[0] // stride, size[1] // stride
        reach = (extent / 2).clamp(min=stride / 2)
        # On a stride whose cells are twice as large as the box, neighbours would share a cell. Thin and long elements
        # such as scroll bars have few such neighbours, and on finer strides their centre looks like the rest.
        is_bar = (extent.amin(1) >= stride / 4) & (extent.amax(1) >= BAR_CELLS * stride)
        sees = (extent.amin(1) >= stride / 2) | is_bar | torch.tensor(stride == STRIDES[0], device=device)
        x, x_valid = along(middle[:, 0], reach[:, 0], steps, columns, stride)
        y, y_valid = along(middle[:, 1], reach[:, 1], steps, rows, stride)
        index = offset[:, None, None] + y[:, :, None] * columns + x[:, None, :]
        allowed = y_valid[:, :, None] & x_valid[:, None, :] & sees[:, None, None]
        cells.append(index.flatten(1))
        valid.append(allowed.flatten(1))
        offset = offset + rows * columns
    return torch.cat(cells, 1), torch.cat(valid, 1)


def along(middle: Tensor, reach: Tensor, steps: Tensor, cells: int, stride: int) -> tuple[Tensor, Tensor]:
    """Candidates along one axis: cells, and which of them are inside the image and within reach."""
    index = (middle / stride).floor().long()[:, None] + steps
    away = ((index + 0.5) * stride - middle[:, None]).abs()
    valid = (index >= 0) & (index < cells) & (away <= reach[:, None])
    return index.clamp(0, cells - 1), valid


def generalised_overlap(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns IoU and generalised IoU (GIoU, Rezatofighi et al. 2019) of paired boxes x1, y1, x2, y2."""
    shared = _area(torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:]))
    union = _area(a[..., :2], a[..., 2:]) + _area(b[..., :2], b[..., 2:]) - shared
    around = _area(torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:]))
    overlap = shared / union.clamp(min=1e-6)
    return overlap, overlap - (around - union) / around.clamp(min=1e-6)


def _area(upper: Tensor, lower: Tensor) -> Tensor:
    return (lower - upper).clamp(min=0).prod(-1)


def first_of_each(values: Tensor) -> Tensor:
    """Indices of the first occurrence of each value."""
    ordered, places = torch.sort(values, stable=True)
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return places[first]
