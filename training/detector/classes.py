"""Classes of the detector, from `classes.json`, in the order of the model's outputs.

Whether a control is interactable follows from its class; the model has no separate output for it. Every score of a
model in the usual layout is therefore a class, and a single-class model (everything is `control`) works unchanged.
"""

import json
from pathlib import Path

_TABLE = json.loads((Path(__file__).parent.parent / "classes.json").read_text())["classes"]

NAMES: list[str] = [one["name"] for one in _TABLE]
INDEX: dict[str, int] = {name: index for index, name in enumerate(NAMES)}
INTERACTABLE: list[bool] = [one["interactable"] for one in _TABLE]
