"""Metrics in JSON files. JSON has no NaN, so missing values are written as null."""

import json
import math
from pathlib import Path
from typing import Any


def write(path: Path, figures: dict[str, Any]) -> None:
    path.write_text(as_text(figures) + "\n")


def as_text(figures: dict[str, Any]) -> str:
    return json.dumps(_changed(figures, lambda value: None if isinstance(value, float) and math.isnan(value) else value), indent=1, allow_nan=False)


def read(path: Path) -> dict[str, Any]:
    return _changed(json.loads(path.read_text()), lambda value: math.nan if value is None else value)


def _changed(value: Any, change) -> Any:
    match value:
        case dict():
            return {key: _changed(one, change) for key, one in value.items()}
        case list() | tuple():
            return [_changed(one, change) for one in value]
        case _:
            return change(value)
