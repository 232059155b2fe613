#!/usr/bin/env python3
"""Measures the accuracy of the text recognition model variants on seven browser pages.

    .tools/models/bin/python -m pip install --no-deps --require-hashes -r tools/requirements-calibration.txt
    .tools/models/bin/python tests/bench/ocr_accuracy.py [--data ~/.local/share/motorium]

Headless Chromium draws pages of 1920×1080 and reports the box of each text line. Each line is cropped with a margin of two
pixels, as the detector would, so that only text recognition is compared. Spaces and character width are ignored.
"""

import argparse
import html
import io
import json
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from ocr_models import lines, reading  # noqa: E402

VARIANTS = ["recognise.onnx", "recognise.fast.onnx", "recognise.int8.onnx"]
MARGIN = 2
SIZE = (1920, 1080)

# Name, style of the body, style of a line, seed and share of Chinese.
PAGES = [
    ("English", "background:#fff;color:#000", "font:15px 'Liberation Sans'", 101, 0.0),
    ("Chinese", "background:#fff;color:#222", "font:15px 'Noto Sans CJK SC'", 102, 1.0),
    ("small grey", "background:#f8f8f8;color:#777", "font:11px 'DejaVu Sans','Noto Sans CJK SC'", 103, 0.3),
    ("white on dark", "background:#1e1e1e;color:#eee", "font:14px 'DejaVu Sans','Noto Sans CJK SC'", 104, 0.4),
    ("bold", "background:#fff;color:#000", "font:bold 17px 'Liberation Sans','Noto Sans CJK SC'", 105, 0.4),
    ("monospace", "background:#fdf6e3;color:#073642", "font:13px 'DejaVu Sans Mono'", 106, 0.0),
    ("table", "background:#fff;color:#333", "font:13px 'Liberation Sans','Noto Sans CJK SC';border:1px solid #ccc", 107, 0.3),
]
COLUMNS, ROWS = 4, 20

BOXES = """<script>
const boxes = [...document.querySelectorAll("span")].map(span => {
  const b = span.getBoundingClientRect();
  return [span.textContent, b.left, b.top, b.right, b.bottom];
});
document.documentElement.setAttribute("data-boxes", JSON.stringify(boxes));
</script>"""


def texts(seed: int, chinese: float) -> list[str]:
    chance = random.Random(seed)

    def text() -> str:
        one = lines.chinese_text(chance, lines.COMMON) if chance.random() < chinese else lines.english_text(chance)
        return one[:44]
    return [text().strip() for _ in range(COLUMNS * ROWS)]


def page(body: str, line: str, words: list[str]) -> str:
    cells = "".join(f'<div style="{line}"><span>{html.escape(word)}</span></div>' for word in words)
    grid = f"display:grid;grid-template-columns:repeat({COLUMNS},460px);grid-auto-rows:34px;margin:10px"
    return f'<!DOCTYPE html><meta charset="utf-8"><body style="{body};white-space:pre"><div style="{grid}">{cells}</div>{BOXES}'


def chromium(source: Path, *arguments: str) -> bytes:
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
        f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={source.parent / 'profile'}", *arguments, source.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout


def draw(source: str) -> tuple[np.ndarray, list[list]]:
    with tempfile.TemporaryDirectory(prefix="motorium-bench-") as folder:
        file, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        file.write_text(source)
        dump = chromium(file, "--dump-dom").decode()
        chromium(file, f"--screenshot={shot}")
        pixels = np.asarray(Image.open(io.BytesIO(shot.read_bytes())).convert("RGB"))
    return pixels, json.loads(html.unescape(re.search(r'data-boxes="([^"]*)"', dump).group(1)))


def cut(pixels: np.ndarray, left: float, top: float, right: float, bottom: float) -> np.ndarray:
    rows = slice(max(0, int(top) - MARGIN), int(bottom + 0.99) + MARGIN)
    columns = slice(max(0, int(left) - MARGIN), int(right + 0.99) + MARGIN)
    return pixels[rows, columns]


def plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path.home() / ".local/share/motorium")
    folder = parser.parse_args().data / "models/ocr"
    networks = [reading.session(folder / name) for name in VARIANTS]
    signs = reading.alphabet(networks[0])
    print(f"| page | lines | {' | '.join(VARIANTS)} |\n|---|---|{'---|' * len(VARIANTS)}")
    totals, count = [0] * len(networks), 0
    for name, body, line, seed, chinese in PAGES:
        pixels, boxes = draw(page(body, line, texts(seed, chinese)))
        crops = [(plain(text), cut(pixels, *box)) for text, *box in boxes]
        found = [sum(plain(reading.read(one, crop, signs)) == text for text, crop in crops) for one in networks]
        totals, count = [a + b for a, b in zip(totals, found)], count + len(crops)
        print(f"| {name} | {len(crops)} | {' | '.join(map(str, found))} |", flush=True)
    print(f"| all | {count} | {' | '.join(map(str, totals))} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
