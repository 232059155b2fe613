"""Labelled screens, as `pages/render.js` writes them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy

from . import classes


@dataclass(frozen=True)
class Screen:
    image_path: Path
    boxes: numpy.ndarray
    """`[elements, 4]`: x1, y1, x2, y2 in image pixels."""
    kinds: numpy.ndarray
    """`[elements]`: class index."""
    visible: numpy.ndarray
    """`[elements]`: visible fraction."""
    acts: numpy.ndarray
    """`[elements]`: true if interactable."""
    states: tuple[dict[str, bool], ...]
    texts: tuple[str | None, ...]
    """Text of each element; `None` if unknown or not completely visible."""
    about: dict[str, Any]
    """Other properties: size, kit, theme, language, scale."""

    @property
    def source(self) -> str:
        """Origin: the seed of a drawn screen, or of the application session."""
        seed = str(self.about.get("seed", "")).split("/")[0]
        kind = "applications" if "toolkit" in self.about or not seed else "seed"
        return f"{kind} {seed}".strip()

    def pixels(self) -> numpy.ndarray:
        """RGB, `[height, width, 3]`."""
        pixels = cv2.imread(str(self.image_path), cv2.IMREAD_COLOR_RGB)
        if pixels is None:
            raise ValueError(f"{self.image_path} is missing or is not an image; draw the screens again")
        return pixels


def read(folder: Path) -> list[Screen]:
    """Reads the screens of one split. Half a line left by an interrupted run is skipped."""
    labels = folder / "labels.jsonl"
    if not labels.exists():
        raise ValueError(f"{labels} is missing; draw screens first: make screens OUT={folder.parent}")
    lines = labels.read_text().split("\n")
    return [_screen(folder, json.loads(line)) for line in lines[:-1] if line]


def _acts(name: str) -> bool:
    """Default of a class for boxes that do not say whether they are interactable."""
    return classes.INTERACTABLE[classes.INDEX[name]]


def _screen(folder: Path, record: dict[str, Any]) -> Screen:
    elements = record.pop("boxes")
    return Screen(
        image_path=folder / record.pop("image"),
        boxes=numpy.array([one["box"] for one in elements], numpy.float32).reshape(-1, 4),
        kinds=numpy.array([classes.INDEX[one["class"]] for one in elements], numpy.int64),
        visible=numpy.array([one["visible"] for one in elements], numpy.float32),
        acts=numpy.array([one.get("interactable", _acts(one["class"])) for one in elements], bool),
        states=tuple(one["state"] for one in elements),
        texts=tuple(one.get("text") for one in elements),
        about=record,
    )
