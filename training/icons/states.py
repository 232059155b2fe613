"""Predicts the visible states of controls: checked, selected, disabled, focused, expanded, and whether a field's text
is a placeholder.

    python -m icons.states --screens FOLDER --run FOLDER --minutes 20

The model sees two square patches of an element with some context, one at each end: marks, frames, faces and the text
colour are visible there at any width, and an arrow is at one of the ends. The class is a further input. A state is
predicted only above a threshold at which enough predictions were right on unseen screens; otherwise it is unknown.
Writes states.pt (half precision), states.onnx and states.json.
"""

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

from detector import classes, screens
from detector.export import halve, set_metadata
from detector.json_report import as_text
from detector.json_report import write as write_figures
from detector.models import session_of
from detector.samples import recoloured
from detector.screens import Screen
from detector.weights import write

from .network import EMBEDDING, Trunk
from .samples import CROP, resized

STATES = ("checked", "selected", "disabled", "focused", "expanded", "placeholder")
SILENT = ("selected", "disabled", "focused", "placeholder")
"""Ground truth contains these only if they are true or possible: a missing one is false."""

AROUND = 0.25
"""Context beyond the element, as a fraction of its shorter side."""
MAX_PER_STATE = 1500
"""Maximum number of elements per class and state."""
MIN_POSITIVES = 12
"""Minimum number of positives per class for a state to be learnt."""
BATCH = 96
RATE = 2e-3
MIN_ACCURACY = 0.97
"""Required accuracy of the predictions."""
UNKNOWN = -1


@dataclass(frozen=True)
class Elements:
    pieces: numpy.ndarray
    """`[elements, 2 * CROP, CROP, 3]`: the patch at the start above the one at the end."""
    kinds: numpy.ndarray
    states: numpy.ndarray
    """`[elements, states]`: 1, 0 or `UNKNOWN`."""


def pieces_of(pixels: numpy.ndarray, box: numpy.ndarray) -> numpy.ndarray:
    """Cuts both ends of an element: left and right, or top and bottom if it is higher than wide."""
    width, height = box[2:] - box[:2]
    side = max(6, round(float(min(width, height)) * (1 + 2 * AROUND)))
    beyond = round(float(min(width, height)) * AROUND)
    left, top, right, bottom = (int(value) for value in numpy.round(box))
    first, second = (left - beyond, top - beyond), (right + beyond - side, bottom + beyond - side)
    return numpy.concatenate([resized(_square(pixels, *corner, side)) for corner in (first, second)])


def _square(pixels: numpy.ndarray, left: int, top: int, side: int) -> numpy.ndarray:
    """Cuts a square; the screen's edge is repeated."""
    rows = numpy.arange(top, top + side).clip(0, pixels.shape[0] - 1)
    columns = numpy.arange(left, left + side).clip(0, pixels.shape[1] - 1)
    return pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1][(rows - rows[0])[:, None], columns - columns[0]]


def table_of(state: dict[str, bool]) -> list[int]:
    return [int(state[name]) if name in state else (0 if name in SILENT else UNKNOWN) for name in STATES]


def collect(read: Iterable[Screen], seed: int) -> Elements:
    """Collects elements with their states, limited per class and state, with jittered boxes like detected ones."""
    random = numpy.random.default_rng(seed)
    taken: dict[tuple, int] = defaultdict(int)
    pieces, kinds, states = [], [], []
    for screen in read:
        groups = [(int(kind), tuple(sorted(state.items()))) for kind, state in zip(screen.kinds, screen.states)]
        wanted = [index for index, group in enumerate(groups) if taken[group] < MAX_PER_STATE]
        if not wanted:
            continue
        pixels = screen.pixels()
        for index in wanted:
            box = screen.boxes[index]
            spread = 0.04 * (box[2:] - box[:2]).min()
            pieces.append(pieces_of(pixels, box + random.normal(0, spread, 4).clip(-2 * spread, 2 * spread)))
            kinds.append(int(screen.kinds[index]))
            states.append(table_of(screen.states[index]))
            taken[groups[index]] += 1
    if not pieces:
        raise ValueError("there are no elements on these screens")
    return Elements(numpy.stack(pieces), numpy.array(kinds), numpy.array(states))


def applies(elements: Elements) -> numpy.ndarray:
    """`[classes, states]`: true if a class occurs often enough with and without a state to learn it."""
    result = numpy.zeros((len(classes.NAMES), len(STATES)), bool)
    for kind in range(len(classes.NAMES)):
        known = elements.states[elements.kinds == kind]
        result[kind] = ((known == 1).sum(0) >= MIN_POSITIVES) & ((known == 0).sum(0) >= MIN_POSITIVES)
    return result


class States(nn.Module):
    """Logits of the states, from both patches and the class."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = Trunk((24, 48, 64))
        self.kind = nn.Embedding(len(classes.NAMES), 16)
        self.last = nn.Sequential(nn.Linear(2 * EMBEDDING + 16, 64), nn.ReLU(), nn.Linear(64, len(STATES)))

    def forward(self, pieces: Tensor, kinds: Tensor) -> Tensor:
        """`pieces` is `[elements, 3, 2 * CROP, CROP]`, from 0 to 1; `kinds` are indices of classes."""
        first, second = self.trunk(pieces[:, :, :CROP]), self.trunk(pieces[:, :, CROP:])
        return self.last(torch.cat((first.float(), second.float(), self.kind(kinds)), 1))


class Probabilities(nn.Module):
    """Exported form with probabilities."""

    def __init__(self, states: States) -> None:
        super().__init__()
        self.states = states

    def forward(self, pieces: Tensor, kinds: Tensor) -> Tensor:
        return self.states(pieces, kinds).sigmoid()


def chances(elements: Elements) -> numpy.ndarray:
    """Sampling weight of each element: rare classes and states more often, by the square root of their rarity."""
    keys = [(kind, *state) for kind, state in zip(elements.kinds.tolist(), elements.states.tolist())]
    counts: dict[tuple, int] = defaultdict(int)
    for key in keys:
        counts[key] += 1
    weights = numpy.array([counts[key] ** -0.5 for key in keys])
    return weights / weights.sum()


def loss(logits: Tensor, states: Tensor, known: Tensor) -> Tensor:
    each = functional.binary_cross_entropy_with_logits(logits, states.clamp(min=0).float(), reduction="none")
    return (each * known).sum() / known.sum().clamp(min=1)


def train(network: States, elements: Elements, left_at: Callable[[int], float], seed: int) -> list[float]:
    """Trains and returns the losses. `left_at` returns the remaining fraction of the run after a number of steps; the
    learning rate follows it."""
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05, fused=True)
    random, share = numpy.random.default_rng(seed), chances(elements)
    can_have = torch.from_numpy(applies(elements))
    losses: list[float] = []
    while (left := left_at(len(losses))) > 0:
        for group in optimizer.param_groups:
            group["lr"] = RATE * max(0.01, math.sin(math.pi / 2 * left))
        chosen = random.choice(len(share), BATCH, p=share)
        pieces = numpy.stack([recoloured(random, elements.pieces[index]) for index in chosen])
        kinds, states = torch.from_numpy(elements.kinds[chosen]), torch.from_numpy(elements.states[chosen])
        value = loss(network(as_input(pieces), kinds), states, (states != UNKNOWN) & can_have[kinds])
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        losses.append(value.item())
        if len(losses) % 200 == 0:
            print(json.dumps({"steps": len(losses), "loss": round(float(numpy.mean(losses[-200:])), 4)}), flush=True)
    return losses


def as_input(pieces: numpy.ndarray) -> Tensor:
    return torch.from_numpy(pieces).permute(0, 3, 1, 2).float().div_(255)


def probabilities_of(network: States, elements: Elements) -> numpy.ndarray:
    network.eval()
    found = []
    with torch.inference_mode():
        for at in range(0, len(elements.kinds), 512):
            part = slice(at, at + 512)
            found.append(network(as_input(elements.pieces[part]), torch.from_numpy(elements.kinds[part])).sigmoid())
    return torch.cat(found).numpy()


def calibrate_threshold(probabilities: numpy.ndarray, true: numpy.ndarray) -> float:
    """Confidence threshold at which enough predictions are right, for true and false alike; 1 if there is none."""
    result = 0.5
    for prediction in (True, False):
        sure = probabilities if prediction else 1 - probabilities
        here = sure >= 0.5
        if not here.any():
            continue
        order = numpy.argsort(-sure[here], kind="stable")
        right = (true[here] == prediction)[order].cumsum() / numpy.arange(1, len(order) + 1)
        enough = numpy.flatnonzero(right >= MIN_ACCURACY)
        if not len(enough):
            return 1.0
        if enough.max() < len(order) - 1:
            result = max(result, float(sure[here][order[enough.max()]]))
    return result


def report(probabilities: numpy.ndarray, elements: Elements, can_have: numpy.ndarray, thresholds: dict[str, float]) -> dict[str, dict]:
    """Metrics per state: number of elements, predictions and accuracy."""
    result = {}
    for column, name in enumerate(STATES):
        known = (elements.states[:, column] != UNKNOWN) & can_have[elements.kinds, column]
        true, sure = elements.states[known, column] == 1, probabilities[known, column]
        predicted = numpy.maximum(sure, 1 - sure) >= thresholds[name]
        right = (sure >= 0.5) == true
        result[name] = {
            "elements": int(known.sum()),
            "true": int(true.sum()),
            "predicted": _share(predicted.sum(), len(predicted)),
            "accuracy": _share((predicted & right).sum(), predicted.sum()),
            "predicted_of_positives": _share((predicted & true).sum(), true.sum()),
            "accuracy_of_positives": _share((predicted & right & true).sum(), (predicted & true).sum()),
        }
    return result


def _share(part: int, whole: int) -> float:
    return round(float(part / whole), 4) if whole else float("nan")


def export(network: States, about: dict, path: Path) -> dict[str, float]:
    """Exports ONNX with a dynamic batch, in half precision and with metadata; checks it against PyTorch and measures
    the time."""
    whole = Probabilities(network).eval()
    example = torch.rand(2, 3, 2 * CROP, CROP), torch.tensor([0, 1])
    free = {"pieces": {0: "elements"}, "kinds": {0: "elements"}, "probabilities": {0: "elements"}}
    names = ["pieces", "kinds"]
    torch.onnx.export(whole, example, str(path), input_names=names, output_names=["probabilities"], dynamic_axes=free, opset_version=17, dynamo=False)
    batch = torch.rand(32, 3, 2 * CROP, CROP), torch.arange(32) % len(classes.NAMES)
    feed = dict(zip(names, (value.numpy() for value in batch)))
    with torch.inference_mode():
        farthest = float((whole(*batch) - torch.from_numpy(session_of(path, 2).run(None, feed)[0])).abs().max())
    halve(path)
    set_metadata(path, {"about": json.dumps(about)})
    session = session_of(path, 2)
    took = []
    for _ in range(12):
        started = time.perf_counter()
        session.run(None, feed)
        took.append((time.perf_counter() - started) / 32)
    return {"bytes": path.stat().st_size, "farthest_from_pytorch": farthest, "milliseconds_an_element": round(1000 * float(numpy.median(took)), 3)}


def finish(network: States, can_have: numpy.ndarray, validation: Elements, test: Elements, run: Path) -> dict:
    """Calibrates on the validation screens, measures on both splits, and writes the files."""
    found = probabilities_of(network, validation)
    thresholds = {}
    for column, name in enumerate(STATES):
        known = (validation.states[:, column] != UNKNOWN) & can_have[validation.kinds, column]
        thresholds[name] = calibrate_threshold(found[known, column], validation.states[known, column] == 1) if known.any() else 1.0
    applying = {name: [STATES[column] for column in numpy.flatnonzero(can_have[kind])] for kind, name in enumerate(classes.NAMES)}
    figures = {"states": STATES, "least_sureness": thresholds, "applies": applying}
    figures["validation"] = report(found, validation, can_have, thresholds)
    figures["test"] = report(probabilities_of(network, test), test, can_have, thresholds)
    about = {"kinds": classes.NAMES, "states": STATES, "applies": applying, "least_sureness": thresholds}
    figures["export"] = export(network, about, run / "states.onnx")
    half = {name: value.half() if value.is_floating_point() and value.dim() > 1 else value for name, value in network.state_dict().items()}
    write({"states": list(STATES), "names": classes.NAMES, "state": half}, run / "states.pt")
    write_figures(run / "states.json", figures)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screens", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--most", type=int, help="maximum number of screens per split")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    arguments.run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    trained, validation, test = (
        collect(screens.read(arguments.screens / split)[: arguments.most], arguments.seed) for split in ("train", "validation", "test")
    )
    print(f"{len(trained.kinds)} elements to learn from", flush=True)
    network = States()
    started = time.monotonic()
    train(network, trained, lambda _: 1 - (time.monotonic() - started) / (60 * arguments.minutes), arguments.seed)
    print(as_text(finish(network, applies(trained), validation, test, arguments.run)))


if __name__ == "__main__":
    main()
