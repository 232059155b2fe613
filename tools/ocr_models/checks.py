"""Checks of a prepared model against the original, required before it is used."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx

from . import reading

# Maximum difference of any output, which is a probability.
TOLERANCE = 1e-4

# Minimum share of lines that the 8-bit model must recognise like the original.
SAME_TEXT = 0.98

DETECT_SIZES = [(32, 32), (96, 416), (224, 416), (352, 608)]
RECOGNISE_SIZES = [(48, 16), (48, 160), (48, 320), (48, 656)]


class Failed(Exception):
    """A prepared model failed a check."""


class Sample(NamedTuple):
    text: str
    pixels: np.ndarray


def read_samples(path: Path) -> list[Sample]:
    """Reads pre-drawn lines, so that the check needs no fonts and is the same everywhere."""
    with np.load(path) as archive:
        texts = archive["texts"]
        return [Sample(str(text), archive[f"line{index}"]) for index, text in enumerate(texts)]


def write_samples(path: Path, samples: list[Sample]) -> None:
    images = {f"line{index}": sample.pixels for index, sample in enumerate(samples)}
    np.savez_compressed(path, texts=np.array([sample.text for sample in samples]), **images)


def same_numbers(original: onnx.ModelProto, rewritten: onnx.ModelProto, inputs: list[np.ndarray]) -> float:
    """Returns the maximum difference of the outputs."""
    first, second = reading.session(original), reading.session(rewritten)
    difference = max(float(np.abs(reading.run(first, x) - reading.run(second, x)).max()) for x in inputs)
    if not difference <= TOLERANCE:
        raise Failed(f"results differ from the original by {difference:.1e}, more than {TOLERANCE}")
    return difference


def same_text(original: onnx.ModelProto, quantised: onnx.ModelProto, samples: list[Sample]) -> tuple[int, int]:
    """Returns the number of lines recognised identically, ignoring spaces, and the total."""
    first, second = reading.session(original), reading.session(quantised)
    signs = reading.charset(first)
    if reading.charset(second) != signs:
        raise Failed("charset differs from the original")
    texts = [[squeezed(reading.read(one, s.pixels, signs)) for one in (first, second)] for s in samples]
    same = sum(a == b for a, b in texts)
    if same < SAME_TEXT * len(samples):
        raise Failed(f"{same} of {len(samples)} lines match the original, less than {SAME_TEXT:.0%}")
    return same, len(samples)


def squeezed(text: str) -> str:
    return "".join(text.split())


def noise(sizes: list[tuple[int, int]]) -> list[np.ndarray]:
    chance = np.random.default_rng(1)
    return [chance.uniform(-1, 1, (1, 3, *size)).astype(np.float32) for size in sizes]


def page(samples: list[Sample], size: tuple[int, int]) -> np.ndarray:
    """Returns the lines below one another, as input of the text detection model."""
    image = np.full((*size, 3), 255, np.float32)
    top = 8
    for sample in samples:
        rows, columns = min(sample.pixels.shape[0], size[0] - top), min(sample.pixels.shape[1], size[1] - 8)
        if rows <= 0:
            break
        image[top : top + rows, 8 : 8 + columns] = sample.pixels[:rows, :columns]
        top += rows + 8
    return (image[:, :, ::-1].transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)
