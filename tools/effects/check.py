"""Checks every recording against its labels and counts the clips.

It does not judge effects; it validates times, boxes and frames, and prints
tables of the clips.
"""

import argparse
import bisect
import collections
import json
import sys
from itertools import accumulate
from pathlib import Path

from PIL import Image

BASELINE, AFTERMATH = 2000, 1600
KINDS = {"click", "double_click", "right_click", "type_text", "key", "scroll", "drag", "move"}


def frame_times(path):
    film = Image.open(path)
    durations, opaque = [], True
    for index in range(film.n_frames):
        film.seek(index)
        film.load()
        durations.append(film.info["duration"])
        opaque = opaque and (film.mode == "RGB" or film.getextrema()[3] == (255, 255))
    return film.size, [0] + list(accumulate(durations)), opaque


def shown_between(times, left, right):
    """Returns the number of frames visible between two times."""
    return bisect.bisect_left(times[:-1], right) - bisect.bisect_right(times[:-1], left) + (left < times[-1])


def complaints(film, labels, folder):
    path = folder / labels["film"]
    size, times, opaque = frame_times(path)
    if list(size) != labels["size"]:
        yield f"the frames are {size}, the labels say {labels['size']}"
    if path.stat().st_size > 1_200_000:
        yield f"{path.stat().st_size} bytes exceed the limit of 1.2 MB"
    if not opaque:
        yield "a frame is not opaque"
    previous = 0
    for clip in labels["clips"]:
        start, act, end = clip["started_ms"], clip["acted_ms"], clip["ended_ms"]
        name = clip["id"]
        if not previous <= start < act < end <= times[-1]:
            yield f"{name}: times out of order"
        previous = end
        if act - start < BASELINE or end - act < AFTERMATH:
            yield f"{name}: too short before or after the action"
        if clip["action"]["kind"] not in KINDS:
            yield f"{name}: unknown action"
        for left, right in ((start, act), (act, end)):
            if not shown_between(times, left, right):
                yield f"{name}: a part has no frame"
        for box in filter(None, [clip["target"]]):
            if not (0 <= box[0] < box[2] <= size[0] and 0 <= box[1] < box[3] <= size[1]):
                yield f"{name}: target {box} outside the frame"
        at = clip["action"]["at"]
        if at and not (0 <= at[0] < size[0] and 0 <= at[1] < size[1]):
            yield f"{name}: point {at} outside the frame"
        if not clip["truth"] or not isinstance(clip["had_effect"], bool):
            yield f"{name}: no truth"
    for left, right in zip(labels["clips"], labels["clips"][1:]):
        if left["id"] >= right["id"]:
            yield f"{right['id']}: number out of order"


def table(title, counts):
    print(f"\n{title}")
    print(f"  {'':40} with  without")
    for key, (with_effect, without) in sorted(counts.items()):
        print(f"  {key:40} {with_effect:4} {without:8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).resolve().parent / "films")
    folder = parser.parse_args().folder
    kinds, moves, films = (collections.defaultdict(lambda: [0, 0]) for _ in range(3))
    total, faults, size = [0, 0], 0, 0
    for film in sorted(folder.glob("*.json")):
        labels = json.loads(film.read_text())
        size += film.with_suffix(".webp").stat().st_size
        for complaint in complaints(film, labels, folder):
            faults += 1
            print(f"{film.stem}: {complaint}")
        for clip in labels["clips"]:
            place = 0 if clip["had_effect"] else 1
            total[place] += 1
            kinds[clip["what"]][place] += 1
            films[film.stem][place] += 1
            for mover in clip["moves_anyway"] or ["(nothing)"]:
                moves[mover][place] += 1
            if clip["moves_anyway"]:
                moves["(anything)"][place] += 1
    table("by action", kinds)
    table("by background motion", moves)
    table("by recording", films)
    print(f"\n{sum(total)} clips, {total[0]} with and {total[1]} without effect, {size} bytes, {faults} problems")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
