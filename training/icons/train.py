"""Trains the icon classifier, calibrates its threshold, evaluates it on unseen sets, and exports it.

    python -m icons.train --packages pages/node_modules --run FOLDER --minutes 20

Continues from FOLDER/icons.checkpoint.pt if it exists. Writes icons.pt (half precision), icons.onnx and icons.json.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from detector.export import halve, set_metadata
from detector.json_report import as_text
from detector.json_report import write as write_figures
from detector.models import session_of
from detector.weights import write

from . import samples
from .meanings import MEANINGS
from .network import Calibrated, Names
from .sets import OTHER, Icons, load

BATCH = 128
RATE = 2e-3
DECAY = 0.05
OTHERS = 0.15
"""Fraction of "other" icons."""
SMOOTH = 0.1
"""Label smoothing: keeps probabilities from becoming extreme."""
RENDERINGS = 6
"""Renderings of each icon in evaluation."""
MIN_ACCURACY = 0.9
"""Required accuracy of the given names on the calibration sets."""
LOG_SECONDS = 20.0


class Batches(Dataset):
    """Endless batches, each a function of a seed and its index."""

    def __init__(self, icons: Icons, seed: int) -> None:
        self.icons, self.seed = icons, seed
        self.of_meaning = {meaning: numpy.flatnonzero(icons.meanings == meaning) for meaning in numpy.unique(icons.meanings)}
        self.known = numpy.array([meaning for meaning in self.of_meaning if meaning != OTHER])

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        random = numpy.random.default_rng((self.seed, number))
        meanings = random.choice(self.known, BATCH)
        if OTHER in self.of_meaning:
            meanings = numpy.where(random.random(BATCH) < OTHERS, OTHER, meanings)
        chosen = [random.choice(self.of_meaning[meaning]) for meaning in meanings]
        crops = numpy.stack([samples.drawn(random, self.icons.pixels[index]) for index in chosen])
        return torch.from_numpy(crops), torch.from_numpy(targets(meanings))


def targets(meanings: numpy.ndarray) -> numpy.ndarray:
    """Maps "other" to the last output."""
    return numpy.where(meanings == OTHER, len(MEANINGS), meanings)


def model_input(batch: torch.Tensor) -> torch.Tensor:
    return batch.permute(0, 3, 1, 2).float().div_(255)


class Training:
    def __init__(self, seed: int) -> None:
        self.network = Names(len(MEANINGS)).train().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
        self.steps, self.seed = 0, seed

    def step(self, batch: torch.Tensor, target: torch.Tensor, left: float) -> float:
        """Trains one step. `left` is the remaining fraction of the time; the learning rate follows it as a cosine."""
        rate = RATE * min(1.0, (self.steps + 1) / 200) * max(0.01, math.sin(math.pi / 2 * left))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        logits = self.network(model_input(batch))
        loss = functional.cross_entropy(logits, target, label_smoothing=SMOOTH)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def record(self) -> dict:
        return {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(), "steps": self.steps, "seed": self.seed}

    @classmethod
    def from_record(cls, record: dict) -> "Training":
        training = cls(record["seed"])
        training.network.load_state_dict(record["network"])
        training.optimizer.load_state_dict(record["optimizer"])
        training.steps = record["steps"]
        return training


def train(training: Training, icons: Icons, minutes: float, workers: int) -> None:
    started, logged, losses = time.monotonic(), time.monotonic(), []
    ahead = {"multiprocessing_context": "spawn"} if workers else {}
    loader = DataLoader(Batches(icons, training.seed), batch_size=None, sampler=_CountFrom(training.steps), num_workers=workers, **ahead)
    for batch, target in loader:
        left = 1 - (time.monotonic() - started) / (60 * minutes)
        if left <= 0:
            return
        losses.append(training.step(batch, target, left))
        if time.monotonic() - logged > LOG_SECONDS:
            print(json.dumps({"steps": training.steps, "loss": round(sum(losses) / len(losses), 4), "batches": len(losses)}), flush=True)
            logged, losses = time.monotonic(), []


class _CountFrom:
    def __init__(self, first: int) -> None:
        self.first = first

    def __iter__(self) -> Iterator[int]:
        number = self.first
        while True:
            yield number
            number += 1


def looked_at(network: Names, icons: Icons) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and targets of every icon in several fixed renderings."""
    random = numpy.random.default_rng(1)
    logits, order = [], numpy.repeat(numpy.arange(len(icons.meanings)), RENDERINGS)
    with torch.inference_mode():
        for at in range(0, len(order), 256):
            drawn = numpy.stack([samples.drawn(random, icons.pixels[index]) for index in order[at : at + 256]])
            logits.append(network(model_input(torch.from_numpy(drawn))))
    return torch.cat(logits), torch.from_numpy(targets(icons.meanings[order]))


def temperature_of(logits: torch.Tensor, target: torch.Tensor) -> float:
    """Temperature with the lowest negative log-likelihood."""
    choices = torch.linspace(0.3, 3.0, 109)
    losses = torch.stack([functional.cross_entropy(logits / choice, target) for choice in choices])
    return float(choices[losses.argmin()])


def calibrate_threshold(probabilities: torch.Tensor, target: torch.Tensor) -> float:
    """Confidence threshold at which enough of the given names are right; 1 if there is none."""
    best, predicted = probabilities[:, : len(MEANINGS)].max(1)
    order = best.argsort(descending=True)
    right = (predicted == target)[order].float().cumsum(0) / torch.arange(1, len(order) + 1)
    enough = (right >= MIN_ACCURACY).nonzero()
    return float(best[order[enough.max()]]) if len(enough) else 1.0


def report(probabilities: torch.Tensor, target: torch.Tensor, threshold: float) -> dict[str, float]:
    """Top-1 and top-5 accuracy over icons with a meaning, and the quality of rejection."""
    known = target < len(MEANINGS)
    ranked = probabilities[:, : len(MEANINGS)].argsort(1, descending=True)
    best, first = probabilities[:, : len(MEANINGS)].max(1).values, ranked[:, 0]
    says, right = best >= threshold, first == target
    share = lambda part, whole: round(float(part.sum() / whole.sum()), 4) if whole.any() else float("nan")
    return {
        "icons": int(known.sum()),
        "others": int((~known).sum()),
        "top_1": share(right & known, known),
        "top_5": share((ranked[:, :5] == target[:, None]).any(1) & known, known),
        "named": share(says & known, known),
        "name_accuracy": share(says & right, says),
        "rejected_errors": share(~says & ~right, ~right),
        "rejected_others": share(~says & ~known, ~known),
    }


def export(network: Names, temperature: float, threshold: float, path: Path) -> dict[str, float]:
    """Exports ONNX with a dynamic batch, in half precision and with metadata; checks it against PyTorch and measures
    the time."""
    whole = Calibrated(network, temperature).eval()
    crop = (torch.zeros(2, 3, samples.CROP, samples.CROP),)
    torch.onnx.export(
        whole,
        crop,
        str(path),
        input_names=["crops"],
        output_names=["probabilities"],
        dynamic_axes={"crops": {0: "icons"}, "probabilities": {0: "icons"}},
        opset_version=17,
        dynamo=False,
    )
    batch = torch.rand(32, 3, samples.CROP, samples.CROP)
    with torch.inference_mode():
        farthest = float((whole(batch) - torch.from_numpy(session_of(path, 2).run(None, {"crops": batch.numpy()})[0])).abs().max())
    halve(path)
    set_metadata(path, {"about": json.dumps({"names": MEANINGS, "least_probability": threshold})})
    session = session_of(path, 2)
    took = []
    for _ in range(12):
        started = time.perf_counter()
        session.run(None, {"crops": batch.numpy()})
        took.append((time.perf_counter() - started) / len(batch))
    return {"bytes": path.stat().st_size, "farthest_from_pytorch": farthest, "milliseconds_an_icon": round(1000 * float(numpy.median(took)), 3)}


def finish(network: Names, icons: Icons, run: Path) -> dict:
    """Calibrates on the validation sets, measures on both splits, and writes the files."""
    network.eval()
    logits, target = looked_at(network, icons.of("validation"))
    temperature = temperature_of(logits, target)
    probabilities = (logits / temperature).softmax(1)
    threshold = calibrate_threshold(probabilities, target)
    figures = {"temperature": temperature, "least_probability": threshold, "validation": report(probabilities, target, threshold)}
    logits, target = looked_at(network, icons.of("test"))
    figures["test"] = report((logits / temperature).softmax(1), target, threshold)
    figures["sets"] = {split: sorted(set(icons.of(split).sets.tolist())) for split in ("train", "validation", "test")}
    figures["export"] = export(network, temperature, threshold, run / "icons.onnx")
    half = {name: value.half() if value.is_floating_point() and value.dim() > 1 else value for name, value in network.state_dict().items()}
    write({"names": MEANINGS, "temperature": temperature, "least_probability": threshold, "state": half}, run / "icons.pt")
    write_figures(run / "icons.json", figures | {"names": MEANINGS})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True, help="the node_modules folder of pages/")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    arguments.run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    icons = load(arguments.packages, arguments.run / "icons.npz")
    checkpoint = arguments.run / "icons.checkpoint.pt"
    training = Training.from_record(torch.load(checkpoint, weights_only=True)) if checkpoint.exists() else Training(arguments.seed)
    train(training, icons.of("train"), arguments.minutes, arguments.workers)
    write(training.record(), checkpoint)
    print(as_text(finish(training.network, icons, arguments.run)))


if __name__ == "__main__":
    main()
