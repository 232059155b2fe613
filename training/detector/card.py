"""Writes the model card from measurements; no value is written by hand.

    python -m detector.card --run FOLDER --screens FOLDER [--applications FOLDER]
"""

import argparse
from collections import Counter
from pathlib import Path
from string import Template
from typing import Any

from . import classes, json_report, screens, weights
from .evaluate import as_text, markdown_table
from .inference import LARGE
from .samples import PADDING_VALUE

TEMPLATE = Path(__file__).parent / "MODEL_CARD.template.md"

WEAKNESS_THRESHOLD = 0.9
"""Recall, AP50 or click accuracy below this counts as a weakness."""
MIN_ELEMENTS = 20
"""Minimum number of elements for a meaningful value."""
MAX_FALSE_POSITIVE_RATE = 0.1


def card(measured: dict[str, Any], export: dict[str, Any], about: dict[str, Any], read: dict[str, list[screens.Screen]]) -> str:
    return Template(TEMPLATE.read_text()).substitute(
        classes=len(classes.NAMES),
        filling=PADDING_VALUE,
        large=LARGE,
        outputs=4 + len(classes.NAMES),
        names=", ".join(classes.NAMES),
        parameters=f"{export['parameters']:,}",
        images=f"{about['images']:,}",
        train=f"{sum(about['screens'].values()):,}",
        sources=", ".join(f"{source}: {count:,}" for source, count in about["screens"].items()),
        finished=finished(about),
        data=data(read),
        split=measured["split"],
        figures=as_text(measured),
        files=files(export),
        weaknesses="\n".join(f"- {weakness}" for weakness in all_weaknesses(measured)),
    )


def finished(about: dict[str, Any]) -> str:
    note = "" if about["finished"] else ", with a learning rate that has not been decayed yet"
    return f"{note}; {about['mean']}" if "mean" in about else note


def data(read: dict[str, list[screens.Screen]]) -> str:
    rows = []
    for split, found in read.items():
        kits = Counter(str(screen.about.get("kit", "–")).removeprefix("application ") for screen in found)
        elements = sum(len(screen.boxes) for screen in found)
        rows.append([split, f"{len(found):,}", f"{elements:,}", ", ".join(sorted(kits))])
    return markdown_table(["split", "screens", "elements", "kits"], rows)


def files(export: dict[str, Any]) -> str:
    head = ["file", "bytes", "ms at 1920x1080, 1 thread", "2 threads", "maximum deviation from PyTorch: score", "pixels", "score, on this CPU"]
    rows = []
    for name in ("float", "int8"):
        one, far, here = export[name], export[name]["farthest_from_pytorch"], export[name]["farthest_as_computed_here"]
        times = [f"{one[key]:.0f}" for key in ("milliseconds_1_thread", "milliseconds_2_threads")]
        rows.append([name, f"{one['bytes']:,}", *times, f"{far['score']:.3f}", f"{far['pixels']:.1f}", f"{here['score']:.3f}"])
    return markdown_table(head, rows)


def all_weaknesses(measured: dict[str, Any]) -> list[str]:
    sources = [("", measured)]
    if "applications" in measured:
        sources.insert(0, ("real applications, ", {"split": measured["split"]} | measured["applications"]))
    return [f"{source}{one}" for source, figures_ in sources for one in weaknesses(figures_)] or ["none on these screens"]


def weaknesses(measured: dict[str, Any]) -> list[str]:
    """Lists values below the threshold, worst first."""
    found = []
    for name, one in measured["classes"].items():
        if one["elements"] < MIN_ELEMENTS:
            found.append((0.0, f"{name}: only {one['elements']} in the {measured['split']} screens, too few for a result"))
        elif one["average_precision"] < WEAKNESS_THRESHOLD:
            found.append((one["average_precision"], f"{name}: AP50 {one['average_precision']:.3f}"))
    for name, one in measured["sizes"].items():
        if one["elements"] >= MIN_ELEMENTS and one["recall"] < WEAKNESS_THRESHOLD:
            found.append((one["recall"], f"elements of {name} pixels: recall {one['recall']:.3f}"))
    for group, entries in measured["groups"].items():
        for name, one in entries.items():
            if one["elements"] >= MIN_ELEMENTS and (one["recall"] < WEAKNESS_THRESHOLD or one["false_positive_rate"] > MAX_FALSE_POSITIVE_RATE):
                found.append((one["recall"], f"{group} {name}: recall {one['recall']:.3f}, false positives {one['false_positive_rate']:.3f}"))
    return [words for _, words in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True, help="folder with metrics.json, export.json and weights.pt")
    parser.add_argument("--screens", type=Path, required=True)
    parser.add_argument("--applications", type=Path)
    arguments = parser.parse_args()
    splits = ("train", "validation", "test")
    read = {split: screens.read(arguments.screens / split) for split in splits}
    if arguments.applications:
        read |= {f"{split}, applications": screens.read(arguments.applications / split) for split in splits}
    measured, export = (json_report.read(arguments.run / name) for name in ("metrics.json", "export.json"))
    _, about = weights.load(arguments.run / "weights.pt")
    path = arguments.run / "MODEL_CARD.md"
    path.write_text(card(measured, export, about, read))
    print(path)


if __name__ == "__main__":
    main()
