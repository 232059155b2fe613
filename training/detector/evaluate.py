"""Evaluates a model on screens that it was not trained on.

    python -m detector.evaluate --model weights.pt --screens FOLDER --out FOLDER [--applications FOLDER] [--split test] [--gallery]

Writes FOLDER/metrics.json, prints it as tables, and with --gallery writes images of the worst mistakes. The confidence
threshold is chosen on the validation screens, never on the reported ones; if real applications are given, on both kinds
of screens together, because the product has a single threshold. --confidence-threshold uses another one instead, such
as that of the product.

Boxes are those that the product would return: postprocess.py runs its code.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from . import classes, gallery, metrics, models, screens
from .detections import Detections
from .inference import MAX_PIXELS, Model, detect
from .json_report import write
from .metrics import Judged
from .postprocess import PostProcessor
from .screens import Screen

LOWEST_SCORE = 0.02
"""Lowest score of the precision-recall curve."""

Seen = list[tuple[Screen, Detections]]

GROUPS: dict[str, Callable[[dict], str]] = {
    "image size": lambda about: f"{about['size'][0]}x{about['size'][1]}",
    "theme": lambda about: str(about.get("theme", "–")),
    "kit": lambda about: str(about.get("look" if about.get("kit") == "drawn" else "kit", "–")).removeprefix("application "),
    "scale": lambda about: str(about.get("scale", "–")),
    "language": lambda about: str(about.get("language", "–")),
}


def see(model: Model, processor: PostProcessor, read: list[Screen], max_pixels: int, large_from: float | None) -> Seen:
    return [(screen, detect(model, processor, screen.pixels(), LOWEST_SCORE, max_pixels, large_from)) for screen in read]


def judge(seen: Seen, confidence_threshold: float) -> list[Judged]:
    return [metrics.judge(screen, found, confidence_threshold) for screen, found in seen]


def report(judged: list[Judged], confidence_threshold: float) -> dict[str, Any]:
    per_class = {name: asdict(metrics.of_class(judged, kind, confidence_threshold)) for kind, name in enumerate(classes.NAMES)}
    present = [one["average_precision"] for one in per_class.values() if one["elements"]]
    sizes = {name: {"elements": count, "recall": share} for name, (count, share) in metrics.recall_by_size(judged).items()}
    return {
        "confidence_threshold": confidence_threshold,
        "all": asdict(metrics.general(judged, confidence_threshold)),
        "mean_average_precision": sum(present) / len(present) if present else float("nan"),
        "classes": per_class,
        "sizes": sizes,
        "groups": {name: _grouped(judged, confidence_threshold, key) for name, key in GROUPS.items()},
    }


def _grouped(judged: list[Judged], confidence_threshold: float, key: Callable[[dict], str]) -> dict[str, Any]:
    names = sorted({key(one.about) for one in judged})
    return {name: asdict(metrics.general((one for one in judged if key(one.about) == name), confidence_threshold)) for name in names}


def as_text(figures: dict[str, Any]) -> str:
    """Formats the report as Markdown tables; real applications, if any, come last."""
    parts = [_tables(figures)]
    if "applications" in figures:
        parts += ["### On real applications", _tables(figures["applications"])]
    return "\n\n".join(parts)


def _tables(figures: dict[str, Any]) -> str:
    parts = [
        f"Confidence threshold {figures['confidence_threshold']}; mean AP50 {figures['mean_average_precision']:.3f}.",
        general_table("screens", {"all": figures["all"]}),
        *(general_table(name, group) for name, group in figures["groups"].items()),
        markdown_table(["class", "elements", "AP50", "recall", "precision"], _class_rows(figures["classes"])),
        markdown_table(["shorter side, pixels", "elements", "recall"], [[name, one["elements"], _figure(one["recall"])] for name, one in figures["sizes"].items()]),
    ]
    return "\n\n".join(parts)


def general_table(name: str, group: dict[str, Any]) -> str:
    head = [name, "images", "elements", "recall", "click accuracy", "clickable", "reachable", "false positives", "class accuracy"]
    columns = ["recall", "click_accuracy", "clickable", "reached", "false_positive_rate", "class_accuracy"]
    return markdown_table(head, [[key, one["images"], one["elements"], *(_figure(one[column]) for column in columns)] for key, one in group.items()])


def _class_rows(per_class: dict[str, Any]) -> list[list]:
    return [
        [name, one["elements"], _figure(one["average_precision"]), _figure(one["recall"]), _figure(one["precision"])]
        for name, one in per_class.items()
    ]


def markdown_table(head: list[str], rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _figure(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="weights.pt or an ONNX file")
    parser.add_argument("--screens", type=Path, required=True)
    parser.add_argument("--applications", type=Path, help="folder with screenshots of applications")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="test", help="split to report on")
    parser.add_argument("--confidence-threshold", type=float, help="use this confidence threshold instead of the best one on the validation screens")
    parser.add_argument("--gallery", action="store_true")
    parser.add_argument("--most", type=int, help="maximum number of screens")
    parser.add_argument("--most-pixels", type=int, default=MAX_PIXELS, help="scale down images with more pixels")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = models.model(arguments.model, arguments.threads)
    large_from = models.large_from(arguments.model)
    sources = {"drawn": arguments.screens, "applications": arguments.applications}
    sources = {name: folder for name, folder in sources.items() if folder}

    def seen_of(split: str) -> dict[str, Seen]:
        with PostProcessor() as processor:
            return {
                name: see(model, processor, screens.read(folder / split)[: arguments.most], arguments.most_pixels, large_from)
                for name, folder in sources.items()
            }

    seen: dict[str, Seen] | None = None
    confidence_threshold = arguments.confidence_threshold
    if confidence_threshold is None:
        seen = seen_of("validation")
        confidence_threshold = metrics.best_threshold([one for detected in seen.values() for one in judge(detected, LOWEST_SCORE)])
    if seen is None or arguments.split != "validation":
        seen = seen_of(arguments.split)
    arguments.out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"split": arguments.split}
    for name, detected in seen.items():
        judged = judge(detected, confidence_threshold)
        figures |= report(judged, confidence_threshold) if name == "drawn" else {name: report(judged, confidence_threshold)}
        if arguments.gallery:
            print(gallery.write(detected, judged, confidence_threshold, arguments.out / "gallery" / name))
    write(arguments.out / "metrics.json", figures)
    print(as_text(figures))


if __name__ == "__main__":
    main()
