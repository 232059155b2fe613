"""Creates a contact sheet with the frames before and after each clip of a recording, for manual review."""

import argparse
import json
from pathlib import Path

from PIL import Image, ImageDraw


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clips", type=int, nargs=2, default=(0, 8))
    parser.add_argument("--width", type=int, default=512)
    options = parser.parse_args()
    labels = json.loads(options.labels.read_text())
    film = Image.open(options.labels.with_suffix(".webp"))
    starts, clock = [], 0
    for index in range(film.n_frames):
        film.seek(index)
        film.load()
        starts.append(clock)
        clock += film.info["duration"]
    width, height = options.width, options.width * 640 // 1024
    clips = labels["clips"][options.clips[0]:options.clips[1]]
    sheet = Image.new("RGB", (2 * width, (height + 16) * len(clips)), "white")
    for row, clip in enumerate(clips):
        for column, moment in enumerate((clip["acted_ms"] - 1, clip["ended_ms"] - 1)):
            film.seek(max(index for index, start in enumerate(starts) if start <= moment))
            frame = film.convert("RGB")
            if column == 0 and clip["target"]:
                ImageDraw.Draw(frame).rectangle(clip["target"], outline=(255, 0, 255), width=2)
            if column == 0 and clip["action"]["at"]:
                x, y = clip["action"]["at"]
                ImageDraw.Draw(frame).ellipse((x - 4, y - 4, x + 4, y + 4), outline=(255, 0, 0), width=2)
            sheet.paste(frame.resize((width, height)), (column * width, row * (height + 16) + 16))
        text = f"{clip['id']} {clip['what']} {clip['action']['kind']} {clip['action'].get('keys', clip['action'].get('text', ''))} effect={clip['had_effect']} {clip['moves_anyway']}"
        ImageDraw.Draw(sheet).text((4, row * (height + 16) + 2), text, fill="black")
    sheet.save(options.out)


if __name__ == "__main__":
    main()
