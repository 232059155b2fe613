"""Derives the prepared models from the originals: `python -m ocr_models.prepare FOLDER RESULT NAME...`.

FOLDER contains detect.onnx and recognise.onnx; the named models that pass their checks are written to RESULT. The exit
code is 3 if one of them fails; the others are written nevertheless.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import onnx

from . import checks, quantise, reading, rewrite

CALIBRATION = Path(__file__).resolve().parent.parent / "calibration"
RANGES = CALIBRATION / "recognise.json"
SAMPLES = CALIBRATION / "lines.npz"


def detector(folder: Path, samples: list[checks.Sample]) -> tuple[onnx.ModelProto, str]:
    original = onnx.load(folder / "detect.onnx")
    model = rewrite.blocked(rewrite.rewrite(original))
    inputs = [*checks.noise(checks.DETECT_SIZES), checks.page(samples, (320, 480))]
    difference = checks.same_numbers(original, model, inputs)
    return model, f"differs by {difference:.1e}"


def recogniser(folder: Path, samples: list[checks.Sample]) -> tuple[onnx.ModelProto, str]:
    original = onnx.load(folder / "recognise.onnx")
    model = rewrite.blocked(rewrite.rewrite(original))
    inputs = [*checks.noise(checks.RECOGNISE_SIZES), *(reading.line_planes(s.pixels) for s in samples[:8])]
    difference = checks.same_numbers(original, model, inputs)
    return model, f"differs by {difference:.1e}"


def recogniser_in_bytes(folder: Path, samples: list[checks.Sample]) -> tuple[onnx.ModelProto, str]:
    original = onnx.load(folder / "recognise.onnx")
    model = quantise.quantise(rewrite.rewrite(original), quantise.read_ranges(RANGES))
    same, count = checks.same_text(original, model, samples)
    return model, f"recognises {same} of {count} lines identically"


MODELS: dict[str, Callable[[Path, list[checks.Sample]], tuple[onnx.ModelProto, str]]] = {
    "detect.fast.onnx": detector,
    "recognise.fast.onnx": recogniser,
    "recognise.int8.onnx": recogniser_in_bytes,
}


def main() -> int:
    # Suppresses the quantiser's recommendation of a preprocessing that would rename the calibrated tensors.
    logging.disable(logging.WARNING)
    folder, result = Path(sys.argv[1]), Path(sys.argv[2])
    samples = checks.read_samples(SAMPLES)
    failed = 0
    for name in sys.argv[3:]:
        try:
            model, finding = MODELS[name](folder, samples)
        except checks.Failed as error:
            print(f"setup: {name} is not used: {error}", file=sys.stderr)
            failed = 3
            continue
        onnx.save(model, result / name)
        print(f"setup: {name} {finding}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
