"""Trains the detector for a given time, and writes a checkpoint and a small weights file.

    python -m detector.train --screens FOLDER --run FOLDER --minutes 110 [--finish 20000]

The learning rate warms up and then stays constant, so that a run can be extended any number of times; the result is a
running mean of the weights. `--finish N` ends it: the rate decays to zero over the last N images, which gives the best
weights. `trunk.pt` is the checkpoint before the decay, so training can continue from it.

Evaluation is done by evaluate.py; the choice of training data is up to the caller.
"""

import argparse
import copy
import json
import math
import statistics
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from . import classes, screens, weights
from .from_onnx import has_merged_norms
from .loader import Batch, Plan, groups
from .loss import loss
from .network import Network
from .optimizer import Optimizer
from .screens import Screen

LEARNING_RATE = 2e-3
WARM_UP_IMAGES = 3_200
"""Images of the warm-up."""
RESUMED_WARM_UP_IMAGES = 160
"""Images of the warm-up for pretrained weights with a fresh optimiser state."""
EMA_DECAY = 0.999
"""Decay per step of the running mean of the weights."""
MAX_GRADIENT_NORM = 10.0
APPLICATION_SHARE = 0.3
"""Fraction of samples from real applications, if any: they are few, and the purpose of the model."""
CHECKPOINT_SECONDS = 120.0
LOG_SECONDS = 20.0
CPU = torch.device("cpu")
PACE_WINDOW = 60
"""Number of groups used to predict the pace; covers phases in which other programs use the CPU."""
SETTLED_SECONDS = 30.0
"""Seconds ignored for the pace, while loaders and a GPU start."""


@dataclass
class Progress:
    images: int = 0
    steps: int = 0
    group: int = 0
    """Next image."""
    risen_from: int = 0
    """First image of the warm-up: the first one, or the first after the optimiser state was reset."""
    rising: int = WARM_UP_IMAGES
    """Images of the warm-up."""
    finish_from: int | None = None
    finish_images: int = 0
    screens: dict[str, int] = field(default_factory=dict)
    """Number of screens by source; later runs may have added some."""


class Training:
    """Model, optimiser and progress."""

    def __init__(
        self,
        network: Network,
        seed: int,
        rate: float = LEARNING_RATE,
        progress: Progress | None = None,
        keeps_front: bool = False,
        device: torch.device = CPU,
    ) -> None:
        """With `keeps_front` the layers before an eighth of the image size are frozen: edges and corners are learnt
        first, and their backward pass takes a third of a step without bfloat16."""
        self.network, self.device = network.to(device=device, memory_format=torch.channels_last).train(), device
        self.keeps_norms, self.keeps_front = False, keeps_front
        for part in (network.down4, network.down8):
            part.train(not keeps_front).requires_grad_(not keeps_front)
        self.precision = fast_precision(device)
        self.mean = copy.deepcopy(network).eval().requires_grad_(False)
        self.optimizer = Optimizer(self.network)
        self.progress, self.seed, self.rate = progress or Progress(), seed, rate

    def step(self, batch: Batch) -> dict[str, float]:
        rate = self.rate * share_of_rate(self.progress)
        batch = batch.to(self.device)
        with torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32):
            logits, boxes = self.network(batch.model_input(self.precision))
        value, parts = loss(logits, boxes, batch.truth, batch.size)
        if not torch.isfinite(value):
            raise FloatingPointError(f"the loss is not a number after {self.progress.images} images; continue from trunk.pt with a lower learning rate")
        self.network.zero_grad(set_to_none=True)
        value.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRADIENT_NORM)
        self.optimizer.step(rate)
        self.progress.images += len(batch.pixels)
        self.progress.steps += 1
        self._follow()
        return {"loss": value.item(), "rate": rate, **parts}

    def keep_norms(self) -> None:
        """Freezes the statistics of the norms, so that batches may be small: for pretrained models."""
        self.keeps_norms = True
        for part in self.network.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.eval()

    def _follow(self) -> None:
        """Updates the running mean; it follows quickly at first, while the weights change fast."""
        steps = self.progress.steps
        share = 1 - min(EMA_DECAY, (1 + steps) / (10 + steps))
        with torch.no_grad():
            followed, weights_ = self.mean.state_dict().values(), self.network.state_dict().values()
            pairs = [(a, b) for a, b in zip(followed, weights_) if a.is_floating_point()]
            torch._foreach_lerp_([a for a, _ in pairs], [b for _, b in pairs], share)

    def record(self) -> dict:
        return {
            "settings": self.network.settings,
            "network": self.network.state_dict(),
            "mean": self.mean.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": asdict(self.progress),
            "seed": self.seed,
            "rate": self.rate,
            "keeps_norms": self.keeps_norms,
            "keeps_front": self.keeps_front,
        }

    @classmethod
    def from_record(cls, record: dict, device: torch.device = CPU) -> "Training":
        settings = record["settings"]
        network = Network(settings["classes"], tuple(settings["widths"]), settings["head"])
        training = cls(network, record["seed"], record["rate"], Progress(**record["progress"]), record["keeps_front"], device)
        training.network.load_state_dict(record["network"])
        training.mean.load_state_dict(record["mean"])
        training.optimizer.load_state_dict(record["optimizer"])
        if record["keeps_norms"]:
            training.keep_norms()
        return training


def fast_precision(device: torch.device) -> torch.dtype:
    """Precision of convolutions; checkpoints do not depend on it. A step in bfloat16 takes ten times as long on a CPU
    without support."""
    if device.type != "cpu":
        return torch.bfloat16
    able = torch.cpu.get_capabilities()
    return torch.bfloat16 if able.get("avx512_bf16") or able.get("amx_bf16") else torch.float32


def share_of_rate(progress: Progress) -> float:
    """Fraction of the full learning rate. Depends on the images only, not on time."""
    rising = min(1.0, (progress.images - progress.risen_from + 1) / progress.rising)
    if progress.finish_from is None:
        return rising
    done = (progress.images - progress.finish_from) / progress.finish_images
    return rising * max(0.0, 1 - math.sqrt(max(0.0, done)))


class Log:
    """Periodic log of progress and timing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._anew()

    def _anew(self) -> None:
        self.since, self.waited, self.images, self.steps = time.monotonic(), 0.0, 0, 0
        self.sums: dict[str, float] = {}

    def add(self, figures: dict[str, float], images: int) -> None:
        self.images, self.steps = self.images + images, self.steps + 1
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def write_if_due(self, progress: Progress) -> None:
        seconds = time.monotonic() - self.since
        if seconds < LOG_SECONDS or not self.steps:
            return
        line = {"images": progress.images} | {name: round(value / self.steps, 6) for name, value in self.sums.items()}
        line |= {"images_a_second": round(self.images / seconds, 2), "waiting_for_pictures": round(self.waited / seconds, 3)}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
        self._anew()


def train(training: Training, plan: Plan, arguments: argparse.Namespace) -> None:
    started = saved = time.monotonic()
    until = started + 60 * arguments.minutes
    log = Log(arguments.run / "log.jsonl")
    paces: deque[float] = deque(maxlen=PACE_WINDOW)
    drawn = screens.read(arguments.screens / "train")
    real = screens.read(arguments.applications / "train") if arguments.applications else []
    training.progress.screens |= Counter(screen.source for screen in drawn + real)
    print(f"{len(drawn)} drawn screens, {len(real)} of applications; from image {training.progress.images} on", flush=True)
    mix, pinned = mixed(drawn, real, arguments.share), training.device.type != "cpu"
    coming = groups(mix, plan, training.progress.group, arguments.workers, pinned)
    while time.monotonic() < until and not is_finished(training.progress):
        began, before = time.monotonic(), training.progress.images
        group = next(coming)
        log.waited += time.monotonic() - began
        for batch in group:
            log.add(training.step(batch), len(batch.pixels))
            log.write_if_due(training.progress)
        training.progress.group += 1
        if time.monotonic() - started > SETTLED_SECONDS:
            paces.append((training.progress.images - before) / (time.monotonic() - began))
        if paces and begins_to_finish(training.progress, arguments.finish, statistics.median(paces) * (until - time.monotonic())):
            weights.write(training.record(), arguments.run / "trunk.pt")
            training.progress.finish_from = training.progress.images
            training.progress.finish_images = arguments.finish
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            weights.write(training.record(), arguments.run / "checkpoint.pt")
            saved = time.monotonic()


def mixed(drawn: list[Screen], real: list[Screen], share: float) -> list[Screen]:
    """All screens; real ones are repeated to reach about this fraction."""
    if not real or share <= 0:
        return drawn
    return drawn + real * max(1, round(share / (1 - share) * len(drawn) / len(real)))


def begins_to_finish(progress: Progress, finish: int, images_left: float) -> bool:
    """Returns whether the remaining time is just enough for the decay."""
    return bool(finish) and progress.finish_from is None and images_left <= finish


def images_per_group(batch: int) -> int:
    """Images per group, so that its samples fill a batch."""
    return max(Plan.images, math.ceil(batch / Plan.samples))


def is_finished(progress: Progress) -> bool:
    return progress.finish_from is not None and progress.images >= progress.finish_from + progress.finish_images


def begin(arguments: argparse.Namespace) -> Training:
    checkpoint = arguments.run / "checkpoint.pt"
    trunk = arguments.run / "trunk.pt"
    if checkpoint.exists():
        training = Training.from_record(torch.load(checkpoint, weights_only=True, map_location="cpu"), arguments.device)
        if not is_finished(training.progress):
            return training
        # A finished run has no learning rate left; more training continues from the trunk.
        return Training.from_record(torch.load(trunk, weights_only=True, map_location="cpu"), arguments.device)
    torch.manual_seed(arguments.seed)
    if arguments.weights:
        network, about = weights.load(arguments.weights)
        if has_merged_norms(network) and not arguments.keep_norms:
            raise ValueError(f"{arguments.weights} was converted from ONNX and has no statistics of its norms; train with --keep-norms")
        training = Training(network, arguments.seed, arguments.rate, after(about, arguments.rising), arguments.keep_front, arguments.device)
        if arguments.keep_norms:
            training.keep_norms()
        return training
    return Training(Network(len(classes.NAMES)), arguments.seed, arguments.rate, device=arguments.device)


def after(about: dict[str, Any], rising: int = RESUMED_WARM_UP_IMAGES) -> Progress:
    """Progress for training that continues from weights without a checkpoint: sample numbers continue, the optimiser
    state is reset."""
    images, plan = about["images"], Plan(seed=0)
    group = math.ceil(images / (plan.batches * plan.batch))
    return Progress(images=images, group=group, risen_from=images, rising=rising, screens=about["screens"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screens", type=Path, required=True, help="folder with the drawn screens")
    parser.add_argument("--applications", type=Path, help="folder with screenshots of applications")
    parser.add_argument("--share", type=float, default=APPLICATION_SHARE, help="fraction of samples from applications")
    parser.add_argument("--run", type=Path, required=True, help="checkpoint folder; an existing checkpoint is continued")
    parser.add_argument("--weights", type=Path, help="initial weights if there is no checkpoint")
    parser.add_argument("--keep-norms", action="store_true", help="freeze the norms of the initial weights, for small batches")
    parser.add_argument("--keep-front", action="store_true", help="freeze the first layers of the initial weights; a step takes a third less time")
    parser.add_argument("--minutes", type=float, default=110)
    parser.add_argument("--finish", type=int, default=0, help="decay the learning rate over this number of last images")
    parser.add_argument("--rate", type=float, default=LEARNING_RATE, help="learning rate if there is no checkpoint")
    parser.add_argument("--rising", type=int, default=RESUMED_WARM_UP_IMAGES, help="warm-up images for initial weights")
    parser.add_argument("--batch", type=int, default=16, help="samples per step")
    parser.add_argument(
        "--precision",
        choices=("bfloat16", "float32"),
        help="default: the fastest on this CPU",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", type=torch.device, default=CPU, help="cuda for a GPU; increase --workers with it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    if not 0 <= arguments.share < 1:
        parser.error(f"--share {arguments.share}: must be at least 0 and less than 1")
    arguments.run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    training = begin(arguments)
    if arguments.precision:
        training.precision = getattr(torch, arguments.precision)
    train(training, Plan(seed=training.seed, batch=arguments.batch, images=images_per_group(arguments.batch)), arguments)
    weights.write(training.record(), arguments.run / "checkpoint.pt")
    progress = training.progress
    about = {"images": progress.images, "screens": progress.screens, "finished": is_finished(progress)}
    weights.save(training.mean, arguments.run / "weights.pt", about)
    print(f"{progress.images} images; {arguments.run / 'weights.pt'}")


if __name__ == "__main__":
    main()
