"""Which cell answers for which box, and how wrong it is.

Assignment is task-aligned (TOOD, Feng et al. 2021): the cells of which the score and the box together are best for an
element are its positives, and their target is how good the box is. Candidates are not all cells inside an element but
the few nearest to its middle on each stride: that costs next to nothing on a processor, and on screens, where things
lie on each other, the middle is what tells a row from what is in it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from .boxes import generalised_overlap
from .network import STRIDES

NEAR = 2
"""Candidates reach so many cells to each side of the one in which the middle is."""

BAR_CELLS = 4
"""So many cells long is a bar, which a stride sees that would be too coarse for how thin it is."""

POSITIVES = 10
"""At most so many cells answer for one element."""

SCORE_POWER, OVERLAP_POWER = 0.5, 6.0

BOX_WEIGHT = 2.5
"""Against the loss of scores."""

LEAST_BOX_WEIGHT = 0.3
"""Of a cell of which the box fits badly, against one where it fits: without it nothing pulls at boxes that are far off."""


@dataclass(frozen=True)
class Truth:
    """The elements of a batch, one after the other."""

    boxes: Tensor
    """`[elements, 4]`"""
    classes: Tensor
    """`[elements]`"""
    pictures: Tensor
    """Which picture of the batch each is on: `[elements]`."""

    def to(self, device: torch.device) -> "Truth":
        return Truth(*(value.to(device, non_blocking=True) for value in (self.boxes, self.classes, self.pictures)))

    def pin_memory(self) -> "Truth":
        return Truth(self.boxes.pin_memory(), self.classes.pin_memory(), self.pictures.pin_memory())


@dataclass(frozen=True)
class Assignment:
    """One row for each cell that answers for something."""

    cells: Tensor
    """Its index among all cells of all pictures."""
    elements: Tensor
    targets: Tensor
    """The score it should have."""


def loss(logits: Tensor, boxes: Tensor, truth: Truth, size: tuple[int, int]) -> tuple[Tensor, dict[str, float]]:
    """The loss, and its parts for the log. `size` is height and width of the pictures."""
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
    weights = each * (LEAST_BOX_WEIGHT + (1 - LEAST_BOX_WEIGHT) * assigned.targets)
    sides = ((1 - fit) * weights).sum() / weights.sum().clamp(min=1.0)
    return scores + BOX_WEIGHT * sides, {"scores": scores.item(), "boxes": sides.item(), "positives": len(assigned.cells)}


def importance(elements: Tensor, count: int) -> Tensor:
    """How much each answering cell counts: a checkbox has two or three of them where a button has ten, and would else be
    learnt last. Half way (the root) to counting every element alike, because few cells say less surely."""
    cells = torch.bincount(elements, minlength=count)
    return (POSITIVES / cells[elements]).sqrt()


def assign(logits: Tensor, boxes: Tensor, truth: Truth, size: tuple[int, int]) -> Assignment:
    """`logits` and `boxes` of all cells of all pictures, one picture after the other."""
    cells, valid = candidates(truth, size)
    overlap, _ = generalised_overlap(boxes[cells], truth.boxes[:, None])
    score = logits[cells, truth.classes[:, None]].sigmoid()
    fit = (score**SCORE_POWER * overlap**OVERLAP_POWER + 1e-12) * valid
    best = fit.topk(min(POSITIVES, fit.shape[1]), 1)
    elements = torch.arange(len(cells), device=cells.device)[:, None].expand_as(best.indices)
    chosen = best.values > 0
    cells, overlap = cells.gather(1, best.indices), overlap.gather(1, best.indices)
    cells, elements, overlap, fit = cells[chosen], elements[chosen], overlap[chosen], best.values[chosen]
    # A cell that several elements want answers for the one that its box fits best; of equals, for the first.
    order = torch.argsort(overlap, stable=True, descending=True)
    cells, elements, overlap, fit = cells[order], elements[order], overlap[order], fit[order]
    keep = first_of_each(cells)
    cells, elements, overlap, fit = cells[keep], elements[keep], overlap[keep], fit[keep]
    best_fit = torch.zeros(len(truth.boxes), device=fit.device).scatter_reduce(0, elements, fit, "amax")
    best_overlap = torch.zeros_like(best_fit).scatter_reduce(0, elements, overlap, "amax")
    return Assignment(cells, elements, fit / best_fit[elements] * best_overlap[elements])


def candidates(truth: Truth, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """For each element the cells that may answer for it, `[elements, candidates]`, and whether each really may.

    A cell may if its middle is in the box, or less than half a cell from the box's middle where the box is smaller.
    """
    device = truth.boxes.device
    steps = torch.arange(-NEAR, NEAR + 1, device=device)
    middle = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2
    extent = truth.boxes[:, 2:] - truth.boxes[:, :2]
    all_cells = sum((size[0] // stride) * (size[1] // stride) for stride in STRIDES)
    offset = truth.pictures * all_cells
    cells, valid = [], []
    for stride in STRIDES:
        rows, columns = size[0] // stride, size[1] // stride
        reach = (extent / 2).clamp(min=stride / 2)
        # Of a stride of which a cell is twice as large as the box, neighbours would fall into one cell. What is thin and
        # long, as a scroll bar, has few such neighbours, and on the finer strides its middle looks like all the rest of it.
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
    """One axis of the candidates: which cells, and which of them lie inside the picture and within reach."""
    index = (middle / stride).floor().long()[:, None] + steps
    away = ((index + 0.5) * stride - middle[:, None]).abs()
    valid = (index >= 0) & (index < cells) & (away <= reach[:, None])
    return index.clamp(0, cells - 1), valid


def first_of_each(values: Tensor) -> Tensor:
    """Indices at which a value occurs for the first time."""
    ordered, places = torch.sort(values, stable=True)
    first = torch.ones_like(ordered, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return places[first]
