#!/usr/bin/env python3
"""Measures the latency of the text model variants: original, rewritten and 8-bit, called in turn.

    tools/setup data
    .tools/models/bin/python tests/bench/ocr_models.py [--data ~/.local/share/motorium] [--rounds 9]

Prints medians and minima in milliseconds as a table in Markdown.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from ocr_models import reading  # noqa: E402

DETECT = ["detect.onnx", "detect.fast.onnx"]
RECOGNISE = ["recognise.onnx", "recognise.fast.onnx", "recognise.int8.onnx"]
DETECT_SIZES = [(224, 416), (544, 960), (736, 1280), (1088, 1920)]
RECOGNISE_SIZES = [(48, 160), (48, 320), (48, 640)]


def measure(models: list[Path], size: tuple[int, int], threads: int, rounds: int) -> list[str]:
    networks = [reading.session(model, threads) for model in models]
    planes = np.random.default_rng(1).uniform(-1, 1, (1, 3, *size)).astype(np.float32)
    times: list[list[float]] = [[] for _ in networks]
    for network in networks:
        reading.run(network, planes)
    for _ in range(rounds):
        for network, taken in zip(networks, times):
            began = time.perf_counter()
            reading.run(network, planes)
            taken.append((time.perf_counter() - began) * 1000)
    return [f"{statistics.median(taken):.1f} ({min(taken):.1f})" for taken in times]


def table(folder: Path, names: list[str], sizes: list[tuple[int, int]], rounds: int) -> None:
    print(f"\n| size, threads | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for size in sizes:
        for threads in (1, 2):
            cells = measure([folder / name for name in names], size, threads, rounds)
            print(f"| {size[1]}×{size[0]}, {threads} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path.home() / ".local/share/motorium")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    folder = arguments.data / "models/ocr"
    print("median (minimum) ms per call")
    table(folder, DETECT, DETECT_SIZES, arguments.rounds)
    table(folder, RECOGNISE, RECOGNISE_SIZES, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
