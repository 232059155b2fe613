"""Writes the card of the icon and state models from measurements; no value is written by hand.

    python -m icons.card --run FOLDER
"""

import argparse
from pathlib import Path
from string import Template
from typing import Any

from detector import json_report
from detector.evaluate import markdown_table

from .samples import CROP

TEMPLATE = Path(__file__).parent / "CARD.template.md"


def card(icons: dict[str, Any], states: dict[str, Any]) -> str:
    return Template(TEMPLATE.read_text()).substitute(
        side=CROP,
        icons_bytes=f"{icons['export']['bytes']:,}",
        icons_time=f"{icons['export']['milliseconds_an_icon']:.2f}",
        meanings=len(icons["names"]),
        least=f"{icons['least_probability']:.2f}",
        icons=of_icons(icons),
        **{split: ", ".join(sets) for split, sets in icons["sets"].items()},
        states_bytes=f"{states['export']['bytes']:,}",
        states_time=f"{states['export']['milliseconds_an_element']:.2f}",
        states=of_states(states),
        applies="\n".join(f"| {kind} | {', '.join(names)} |" for kind, names in states["applies"].items() if names),
    )


def of_icons(icons: dict[str, Any]) -> str:
    head = ["sets", "icons", "others", "top 1", "top 5", "named", "accuracy", "rejected errors", "rejected others"]
    keys = ["top_1", "top_5", "named", "name_accuracy", "rejected_errors", "rejected_others"]
    rows = [[split, *(str(icons[split][key]) for key in ("icons", "others")), *(share(icons[split][key]) for key in keys)] for split in ("validation", "test")]
    return markdown_table(head, rows)


def of_states(states: dict[str, Any]) -> str:
    head = ["state", "screens", "controls", "in the state", "confidence threshold", "predicted", "accuracy", "predicted of positives", "accuracy of positives"]
    keys = ["predicted", "accuracy", "predicted_of_positives", "accuracy_of_positives"]
    rows = []
    for name, threshold in states["least_sureness"].items():
        for split in ("validation", "test"):
            one = states[split][name]
            rows.append([name, split, str(one["elements"]), str(one["true"]), share(threshold), *(share(one[key]) for key in keys)])
    return markdown_table(head, rows)


def share(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True, help="folder with icons.json and states.json")
    arguments = parser.parse_args()
    path = arguments.run / "ICONS_CARD.md"
    path.write_text(card(*(json_report.read(arguments.run / name) for name in ("icons.json", "states.json"))))
    print(path)


if __name__ == "__main__":
    main()
