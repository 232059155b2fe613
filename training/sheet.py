"""Draws the boxes of some screens over them, for inspection: wrong boxes are worse than few screens.

    python3 sheet.py FOLDER [--most 12]

Writes FOLDER/sheet/SPLIT-NUMBER.png.
"""

import argparse
import colorsys
import json
from pathlib import Path

from PIL import Image, ImageDraw

CLASSES = Path(__file__).parent / "classes.json"
SPLITS = ("train", "validation", "test")


def colours() -> dict[str, tuple[int, ...]]:
    names = [one["name"] for one in json.loads(CLASSES.read_text())["classes"]]
    # Steps of the golden angle (0.381 of a turn) put neighbouring classes far apart on the hue circle.
    hues = [index * 0.381 % 1 for index in range(len(names))]
    return {name: tuple(int(255 * part) for part in colorsys.hsv_to_rgb(hue, 1, 0.9)) for name, hue in zip(names, hues)}


def drawn(path: Path, boxes: list[dict], colour: dict[str, tuple[int, ...]]) -> Image.Image:
    image = Image.open(path).convert("RGB")
    pen = ImageDraw.Draw(image)
    for box in boxes:
        left, top, *_ = box["box"]
        pen.rectangle(box["box"], outline=colour[box["class"]], width=2)
        pen.text((left + 1, top - 1), box["class"], fill=colour[box["class"]])
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=12, help="maximum number of screens per split")
    arguments = parser.parse_args()
    sheet = arguments.folder / "sheet"
    sheet.mkdir(exist_ok=True)
    colour = colours()
    for split in SPLITS:
        labels = arguments.folder / split / "labels.jsonl"
        if not labels.exists():
            continue
        for line in labels.read_text().splitlines()[: arguments.most]:
            screen = json.loads(line)
            image = drawn(arguments.folder / split / screen["image"], screen["boxes"], colour)
            image.thumbnail((1400, 900))
            image.save(sheet / f"{split}-{Path(screen['image']).stem}.png")
    print(sheet)


if __name__ == "__main__":
    main()
