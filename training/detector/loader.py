"""Loads batches of samples. Each is a function of a seed and its index, so a run resumes exactly.

An image is decoded once for several samples. Samples come in groups whose samples are shuffled among its batches. Each
batch has one shape, all with about the same number of pixels: wide ones show table rows and task bars completely.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from . import classes, samples
from .loss import GroundTruth
from .screens import Screen

SHAPES = ((640, 640), (640, 640), (640, 640), (480, 864), (864, 480), (352, 1152), (256, 1600))
"""Height and width."""

TOWARDS = 0.7
"""Fraction of samples that are placed to contain a chosen element; the others are placed randomly."""


@dataclass(frozen=True)
class Plan:
    seed: int
    batch: int = 16
    """Samples per batch."""
    images: int = 16
    """Images per group."""
    samples: int = 4
    """Samples per image."""
    shapes: tuple[tuple[int, int], ...] = SHAPES
    spoilt: bool = True
    """True to augment colours."""

    def __post_init__(self) -> None:
        if self.images * self.samples % self.batch:
            raise ValueError(f"{self.images} images of {self.samples} samples do not fill whole batches of {self.batch}")

    @property
    def batches(self) -> int:
        """Number of batches per group."""
        return self.images * self.samples // self.batch


@dataclass(frozen=True)
class Batch:
    pixels: torch.Tensor
    """`[batch, height, width, 3]`, bytes: a quarter of the size of floats between processes."""
    truth: GroundTruth

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels.shape[1], self.pixels.shape[2]

    def to(self, device: torch.device) -> "Batch":
        """Copies asynchronously if the batch is pinned."""
        return Batch(self.pixels.to(device, non_blocking=True), self.truth.to(device))

    def pin_memory(self) -> "Batch":
        """Returns the batch in pinned memory, for asynchronous copies to a GPU."""
        return Batch(self.pixels.pin_memory(), self.truth.pin_memory())

    def model_input(self, precision: torch.dtype) -> torch.Tensor:
        """Returns the model input; the memory layout stays channels-last."""
        return self.pixels.permute(0, 3, 1, 2).to(precision).div_(255)


class Groups(Dataset):
    """Endless sequence of groups."""

    def __init__(self, screens: list[Screen], plan: Plan) -> None:
        if not screens:
            raise ValueError("there are no screens to train on")
        self.screens, self.plan = screens, plan
        self.weights = weights(screens)

    def __getitem__(self, number: int) -> list[Batch]:
        plan = self.plan
        random = numpy.random.default_rng((plan.seed, 1, number))
        slots = random.permutation(plan.images * plan.samples)
        shapes = [plan.shapes[index] for index in random.integers(0, len(plan.shapes), plan.batches)]
        found: list[samples.Sample | None] = [None] * len(slots)
        kinds: list[numpy.ndarray] = [numpy.empty(0, numpy.int64)] * len(slots)
        for index in range(plan.images):
            screen = self.screens[self.screen_index(number * plan.images + index)]
            pixels = screen.pixels()
            for slot in slots[index * plan.samples : (index + 1) * plan.samples]:
                found[slot] = self.sample(random, screen, pixels, shapes[slot // plan.batch])
                kinds[slot] = screen.kinds[found[slot].elements]
        starts = range(0, len(slots), plan.batch)
        return [collate(found[at : at + plan.batch], kinds[at : at + plan.batch]) for at in starts]

    def screen_index(self, number: int) -> int:
        """Index of the screen at a position: every screen once, then every screen once in another order."""
        round_, place = divmod(number, len(self.screens))
        return int(numpy.random.default_rng((self.plan.seed, 2, round_)).permutation(len(self.screens))[place])

    def sample(self, random: numpy.random.Generator, screen: Screen, pixels: numpy.ndarray, size: tuple[int, int]) -> samples.Sample:
        towards = None
        if len(screen.kinds) and random.random() < TOWARDS:
            # Chooses a class first, then one of its elements, so that a switch is as likely as one of a hundred rows.
            present = numpy.unique(screen.kinds)
            chances = self.weights[present]
            kind = random.choice(present, p=chances / chances.sum())
            towards = screen.boxes[random.choice(numpy.flatnonzero(screen.kinds == kind))]
        place = samples.random_place(random, pixels.shape[:2], size, towards)
        sample = samples.cut(pixels, screen.boxes, screen.visible, place, size, samples.interpolation_of(random, place))
        if not self.plan.spoilt:
            return sample
        return samples.Sample(samples.recoloured(random, sample.pixels), sample.boxes, sample.elements)


def weights(screens: list[Screen]) -> numpy.ndarray:
    """Weight of each class, between uniform and proportional to its frequency."""
    counts = sum(numpy.bincount(screen.kinds, minlength=len(classes.NAMES)) for screen in screens)
    return 1 / numpy.sqrt(counts + 1)


def collate(found: list[samples.Sample], kinds: list[numpy.ndarray]) -> Batch:
    image_indices = numpy.repeat(numpy.arange(len(found)), [len(sample.boxes) for sample in found])
    truth = GroundTruth(
        boxes=torch.from_numpy(numpy.concatenate([sample.boxes for sample in found])),
        classes=torch.from_numpy(numpy.concatenate(kinds)),
        image_indices=torch.from_numpy(image_indices),
    )
    return Batch(torch.from_numpy(numpy.stack([sample.pixels for sample in found])), truth)


class CountFrom:
    """Endless sampler of group indices."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __iter__(self) -> Iterator[int]:
        number = self.first
        while True:
            yield number
            number += 1


def groups(screens: list[Screen], plan: Plan, first: int, workers: int, pinned: bool = False) -> Iterator[list[Batch]]:
    """Loads groups from `first` on in worker processes; `pinned` for a GPU."""
    # Uses spawn, because a forked copy of a process with library threads may deadlock.
    ahead = {"prefetch_factor": 2, "worker_init_fn": _alone, "multiprocessing_context": "spawn"} if workers else {}
    loader = DataLoader(Groups(screens, plan), batch_size=None, sampler=CountFrom(first), num_workers=workers, pin_memory=pinned, **ahead)
    return iter(loader)


def _alone(_: int) -> None:
    """Limits a loader to one thread; the cores belong to training."""
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
