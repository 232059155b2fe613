"""Synthetic screens for tests: rectangles with one colour per class on a plain background."""

import json
from pathlib import Path

import cv2
import numpy

from detector import classes, screens

COLOURS = {"button": (40, 90, 220), "checkbox": (220, 60, 40), "text_field": (250, 250, 250), "icon": (20, 160, 60)}


def draw(folder: Path, elements: list[list[tuple[str, tuple[int, int, int, int]]]], size: tuple[int, int] = (256, 256)) -> list[screens.Screen]:
    """Draws one screen per list of elements. `size` is height and width."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, boxes in enumerate(elements):
        pixels = numpy.full((*size, 3), 200, numpy.uint8)
        for name, (x1, y1, x2, y2) in boxes:
            pixels[y1:y2, x1:x2] = COLOURS[name]
        cv2.imwrite(str(folder / f"{number}.png"), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
        labels = [{"class": name, "box": box, "visible": 1, "state": {}} for name, box in boxes]
        about = {"size": [size[1], size[0]], "kit": "drawn", "theme": "light", "language": "en", "scale": 1}
        lines.append(json.dumps({"image": f"{number}.png", **about, "boxes": labels}) + "\n")
    (folder / "labels.jsonl").write_text("".join(lines))
    return screens.read(folder)


def some(random: numpy.random.Generator, count: int, side: int) -> list[tuple[str, tuple[int, int, int, int]]]:
    """Random elements that do not touch each other, on a grid of 64 pixels."""
    cells = random.permutation((side // 64) ** 2)[:count]
    result = []
    for cell in cells:
        y, x = divmod(int(cell), side // 64)
        name = str(random.choice(list(COLOURS)))
        width, height = (14, 14) if name == "checkbox" else (int(random.integers(20, 52)), int(random.integers(16, 40)))
        left, top = 64 * x + int(random.integers(2, 62 - width)), 64 * y + int(random.integers(2, 62 - height))
        result.append((name, (left, top, left + width, top + height)))
    return result


def kind(name: str) -> int:
    return classes.INDEX[name]
