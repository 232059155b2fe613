"""Post-processing of model outputs by the product's own code.

Runs `services/perception/examples/detect_boxes.rs` as a child process, which calls the functions that Perception calls.
Build it with `make -C training postprocess`; `MOTORIUM_DETECT_BOXES` names another binary. Pixels and outputs travel in
files of a temporary folder, requests and answers as lines of JSON.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import numpy

from . import classes
from .detections import Detections

BINARY_VARIABLE = "MOTORIUM_DETECT_BOXES"

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ModelOutputs:
    """Outputs of a model for one image."""

    passes: list[numpy.ndarray]
    """`[4 + classes, cells]` of the full-size pass and, if they were run, of the passes at the smaller scales."""
    scale: float = 1.0
    """Number of input pixels per image pixel in the full-size pass."""
    large_from: float | None = None
    """Length in input pixels from which elements are taken from the smaller scales; `None` for a single pass."""


class PostProcessor:
    """Child process that turns outputs into detections. Use it as a context manager, or call `close`."""

    def __init__(self, binary: Path | None = None) -> None:
        command = [str(binary or default_binary())]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self._folder = TemporaryDirectory(prefix="motorium-postprocess-")

    def __enter__(self) -> "PostProcessor":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process. Can be called again."""
        # The process ends with its input.
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()

    def detections(
        self,
        pixels: numpy.ndarray,
        outputs: ModelOutputs,
        confidence_threshold: float,
        backdrop_threshold: float | None = None,
    ) -> Detections:
        """Returns the controls on the RGB image `pixels` in its own pixels, most confident first. Detections below
        `backdrop_threshold` are no evidence for a backdrop; by default it is the confidence threshold of the product,
        even where lower scores are evaluated."""
        rows = outputs.passes[0].shape[0]
        if not 4 < rows <= 4 + len(classes.NAMES):
            raise ValueError(f"the output has {rows} rows; it must have 4 and one for each of up to {len(classes.NAMES)} classes")
        height, width = pixels.shape[:2]
        request = {
            "pixels": self._written("pixels", pixels, "u1"),
            "width": width,
            "height": height,
            "classes": classes.NAMES[: rows - 4],
            "outputs": [self._written(f"output-{number}", one, "<f4") for number, one in enumerate(outputs.passes)],
            "scale": outputs.scale,
            "large_from": outputs.large_from,
            "confidence_threshold": confidence_threshold,
            "backdrop_threshold": backdrop_threshold,
        }
        return _detections_of(self._answer(request)["detections"])

    def _written(self, name: str, values: numpy.ndarray, form: str) -> str:
        path = Path(self._folder.name) / name
        numpy.ascontiguousarray(values, form).tofile(path)
        return str(path)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args[0]} ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(f"post-processing failed: {answer['error']}")
        return answer


def default_binary() -> Path:
    """Returns the binary that the environment names, or the newest one of a build in this repository."""
    if named := os.environ.get(BINARY_VARIABLE):
        return Path(named)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [path for profile in ("release", "debug") if (path := target / profile / "examples" / "detect_boxes").exists()]
    if not built:
        raise FileNotFoundError(f"no post-processing binary in {target}; build it with `make -C training postprocess`, or set {BINARY_VARIABLE}")
    return max(built, key=lambda path: path.stat().st_mtime)


def _detections_of(found: list[dict[str, Any]]) -> Detections:
    return Detections(
        boxes=numpy.array([one["box"] for one in found], numpy.float32).reshape(-1, 4),
        kinds=numpy.array([classes.INDEX[one["class"]] for one in found], numpy.int64),
        scores=numpy.array([one["score"] for one in found], numpy.float32),
    )
