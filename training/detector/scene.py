"""Evaluates the scene that the product builds of a screen: detection, class, label and state.

    python -m detector.scene --program motorium --detector FILE --screens FOLDER --out FOLDER [--split test] [--most 50]

Unlike evaluate.py this covers the whole product: model, text recognition, merging, names and states. Labels are
compared where all text of a control is visible according to the ground truth; text that is not on the control is
excluded.

Writes FOLDER/scene.json and prints it as tables.
"""

import argparse
import json
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy

from . import classes, screens
from .boxes import overlaps
from .evaluate import markdown_table
from .json_report import write
from .metrics import matches
from .screens import Screen

ALIKE = 0.9
"""Similarity from which labels count as equal except for a misread letter (Ratcliff-Obershelp, letters and digits)."""

WHOLE = 0.95
"""Minimum visible fraction of a control whose label is evaluated."""

GROUPS: dict[str, Callable[[dict], str]] = {
    "all": lambda _: "all",
    "image size": lambda about: f"{about['size'][0]}x{about['size'][1]}",
    "theme": lambda about: str(about.get("theme", "–")),
    "language": lambda about: str(about.get("language", "–")),
}


def scene(program: str, detector: str, image: Path, workdir: Path) -> dict[str, Any]:
    """Runs the program on an image and returns its output."""
    command = [program, "see", "--json", "--image", str(image), "--output", str(workdir / "set-of-marks.png")]
    answer = subprocess.run(command, env=os.environ | {"MOTORIUM_PERCEPTION__DETECTOR": detector}, stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


def counts(screen: Screen, elements: list[dict[str, Any]]) -> Counter[str]:
    """Counts interactable elements, found ones, and correct properties of the found ones."""
    width, height = screen.about["size"]
    scale = numpy.array([width, height, width, height], numpy.float32)
    boxes = numpy.array([one["bbox"] for one in elements], numpy.float32).reshape(-1, 4) * scale
    found_true = matches(overlaps(boxes, screen.boxes))
    counted: Counter[str] = Counter(elements=int(screen.acts.sum()), acting=sum(one["interactable"] for one in elements))
    counted["false_positives"] = sum(one["interactable"] and found_true[index] < 0 for index, one in enumerate(elements))
    for index, true in enumerate(found_true):
        if true < 0 or not screen.acts[true]:
            continue
        counted["found"] += 1
        counted["offered"] += elements[index]["interactable"]
        counted["class_correct"] += elements[index]["kind"] == classes.NAMES[screen.kinds[true]]
        text = screen.texts[true]
        if text and screen.visible[true] >= WHOLE:
            counted["labelled"] += 1
            counted["label_correct"] += is_same(elements[index]["content"], text)
        for name, predicted in elements[index]["state"].items():
            if name in screen.states[true]:
                counted["states_predicted"] += 1
                counted["states_correct"] += predicted == screen.states[true][name]
    return Counter({what: int(count) for what, count in counted.items()})


def is_same(one: str, other: str) -> bool:
    one, other = (plain(text) for text in (one, other))
    return one == other or SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def table(judged: list[tuple[dict, Counter[str]]], key: Callable[[dict], str], name: str) -> str:
    groups: dict[str, list[Counter[str]]] = defaultdict(list)
    for about, counted in judged:
        groups[key(about)].append(counted)
    head = [name, "images", "elements", "recall", "class accuracy", "labels", "label accuracy", "states predicted", "accuracy", "false positives"]
    return markdown_table(head, [_row(group, groups[group]) for group in sorted(groups)])


def _row(group: str, counted: Iterable[Counter[str]]) -> list:
    counted = list(counted)
    total = sum(counted, Counter())
    share = lambda part, whole: f"{total[part] / total[whole]:.3f}" if total[whole] else "–"
    return [
        group, len(counted), total["elements"], share("found", "elements"), share("class_correct", "found"), total["labelled"],
        share("label_correct", "labelled"), total["states_predicted"], share("states_correct", "states_predicted"), share("false_positives", "acting"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="motorium")
    parser.add_argument("--detector", default="built_in", help="model file, or built_in")
    parser.add_argument("--screens", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--most", type=int, help="maximum number of screens")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    judged = []
    for screen in screens.read(arguments.screens / arguments.split)[: arguments.most]:
        seen = scene(arguments.program, arguments.detector, screen.image_path, arguments.out)
        judged.append((screen.about, counts(screen, seen["elements"])))
    write(arguments.out / "scene.json", {"screens": [{"seed": about.get("seed"), **counted} for about, counted in judged]})
    print("\n\n".join(table(judged, key, name) for name, key in GROUPS.items()))


if __name__ == "__main__":
    main()
