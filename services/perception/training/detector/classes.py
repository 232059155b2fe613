"""What is told apart, from `classes.json`, in the order of a model's outputs.

Whether one can act on something follows from its class: a model has no output of its own for it. So every score of a
model in the usual layout is a class, and a model of one class (all of it `control`) drops in without a change.
"""

import json
from pathlib import Path

_TABLE = json.loads((Path(__file__).parent.parent / "classes.json").read_text())["classes"]

NAMES: list[str] = [one["name"] for one in _TABLE]
INDEX: dict[str, int] = {name: index for index, name in enumerate(NAMES)}
INTERACTABLE: list[bool] = [one["interactable"] for one in _TABLE]
