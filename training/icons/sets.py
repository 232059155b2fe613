"""Icons of open icon sets, rendered once, by the splits in `pages/kits.js`.

    python -m icons.sets --packages pages/node_modules --out icons.npz
"""

import argparse
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy
import resvg_py

from .meanings import is_something_else, meaning_of

SIDE = 64
"""Side of a rendered RGBA icon in pixels."""

MAX_OTHERS = 400
"""Maximum number of "other" icons per set."""

OTHER = -1

NAMED_BY_USE = ("breeze", "oxygen", "tango")
"""Desktop icon sets name an icon by the command it stands for: `games-solve` shows a check mark. An unknown name
therefore implies nothing."""

KITS = Path(__file__).parent.parent / "pages" / "kits.js"
_LIST = """
import(process.argv[1]).then(({ iconSets }) => {
  const sets = Object.entries(iconSets).map(([name, set]) =>
    typeof set === 'string' ? { name, folder: name, split: set } : { name, folder: set.folder, split: set.split });
  console.log(JSON.stringify(sets));
});
"""


@dataclass(frozen=True)
class Icons:
    pixels: numpy.ndarray
    """`[icons, SIDE, SIDE, 4]`: RGBA."""
    meanings: numpy.ndarray
    """`OTHER` for none of the meanings."""
    sets: numpy.ndarray
    splits: numpy.ndarray

    def of(self, split: str) -> "Icons":
        here = self.splits == split
        return Icons(self.pixels[here], self.meanings[here], self.sets[here], self.splits[here])


def sets(kits: Path = KITS) -> list[dict[str, str]]:
    """Returns name, folder and split of each set."""
    found = subprocess.run(["node", "--input-type=module", "-e", _LIST, str(kits)], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)


def render(packages: Path) -> Icons:
    pixels, meanings, names, splits = [], [], [], []
    random = numpy.random.default_rng(1)
    for one in sets():
        known, others = _files(packages / one["folder"])
        if one["name"].startswith(NAMED_BY_USE):
            others = []
        others = [others[index] for index in random.permutation(len(others))[:MAX_OTHERS]]
        drawn = 0
        for meaning, file in [*known, *((OTHER, file) for file in others)]:
            icon = pictogram(file.read_text(errors="replace"))
            if icon is not None:
                pixels.append(icon)
                meanings.append(meaning)
                drawn += 1
        names += [one["name"]] * drawn
        splits += [one["split"]] * drawn
        print(f"{one['name']}: {drawn} pictograms, {len({meaning for meaning, _ in known})} meanings", flush=True)
    return Icons(numpy.stack(pixels), numpy.array(meanings), numpy.array(names), numpy.array(splits))


def _files(folder: Path) -> tuple[list[tuple[int, Path]], list[Path]]:
    """Returns icons with a meaning, and icons that certainly have none of them."""
    known, others = [], []
    for file in sorted(folder.glob("*.svg")):
        meaning = meaning_of(file.stem)
        if meaning is not None:
            known.append((meaning, file))
        elif is_something_else(file.stem):
            others.append(file)
    return known, others


def pictogram(svg: str) -> numpy.ndarray | None:
    """Renders an RGBA icon; `None` if nothing is visible, as in files that only refer to another one."""
    svg = re.sub(r"(<svg[^>]*?)\s(?:width|height)=\"[^\"]*\"", r"\1", re.sub(r"(<svg[^>]*?)\s(?:width|height)=\"[^\"]*\"", r"\1", svg, count=1), count=1)
    try:
        encoded = resvg_py.svg_to_bytes(svg_string=svg.replace("currentColor", "#000"), width=SIDE, height=SIDE)
    except ValueError:
        return None
    decoded = cv2.imdecode(numpy.frombuffer(bytes(encoded), numpy.uint8), cv2.IMREAD_UNCHANGED)
    if decoded is None or decoded.ndim != 3 or decoded.shape[2] != 4 or decoded[..., 3].max() < 64:
        return None
    whole = numpy.zeros((SIDE, SIDE, 4), numpy.uint8)
    height, width = min(SIDE, decoded.shape[0]), min(SIDE, decoded.shape[1])
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    whole[top : top + height, left : left + width] = cv2.cvtColor(decoded, cv2.COLOR_BGRA2RGBA)[:height, :width]
    return whole


def load(packages: Path, cache: Path) -> Icons:
    """Renders the icons only if the cache is missing."""
    if not cache.exists():
        icons = render(packages)
        numpy.savez_compressed(cache, pixels=icons.pixels, meanings=icons.meanings, sets=icons.sets, splits=icons.splits)
    with numpy.load(cache) as record:
        return Icons(record["pixels"], record["meanings"], record["sets"], record["splits"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    icons = load(arguments.packages, arguments.out)
    print(f"{len(icons.meanings)} pictograms, {len(set(icons.meanings.tolist()) - {OTHER})} meanings")


if __name__ == "__main__":
    main()
