"""Exports the model to ONNX in float and int8, checks the files against PyTorch, and measures their speed.

    python -m detector.export --weights weights.pt --screens FOLDER --out FOLDER

The layout is the usual one: one input `[1, 3, height, width]`, RGB from 0 to 1, with sides that are multiples of 32,
and one output `[1, 4 + classes, cells]` with xywh in pixels and scores. Height, width and cells are dynamic on both:
with a dynamic input alone the exporter writes fixed shapes after it, and the int8 file fails at every other size.

In int8, activations are unsigned and weights are signed per channel. The last convolutions stay in float: one step of a
quantised logarithm of a distance would be several pixels. Accuracy of the int8 file is evaluated exactly, on any CPU;
speed should be measured on one with VNNI.
"""

import argparse
import json
import time
from pathlib import Path

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from . import classes, models, screens, weights
from .inference import LARGE, base_scale, prepare
from .json_report import as_text, write
from .network import Exported, Network

OPSET = 17
MIN_HALVED = 64
"""Minimum number of values of a weight that is stored in half precision."""
CALIBRATION_IMAGES = 48
CALIBRATION_PIXELS = 1280 * 800
"""Maximum size of calibration screens; larger ones are scaled down, which limits memory and does not change the value
ranges."""

QUANTISED = ["Conv", "Relu", "Add", "Concat", "MaxPool", "Resize"]

FRAME = (1088, 1920)
"""Padded size of 1920x1080."""

PEERS = """For comparison, from measurements on the same kind of machine (2 cores with AVX-512, milliseconds, 2 threads):
a network of 2.5 M parameters and 3.25 GMAC at 640x640: 111 in float, 40 in int8 at 736x1280 (55 with one thread);
OmniParser: 600 to 800 for everything, on an A100 or a 4090. The target is 45 in int8 at 1920x1080."""


def to_onnx(network: Network, path: Path) -> None:
    free = {"pictures": {2: "height", 3: "width"}, "found": {2: "cells"}}
    with torch.no_grad():
        torch.onnx.export(
            Exported(network.eval()),
            (torch.zeros(1, 3, 256, 320),),
            str(path),
            input_names=["pictures"],
            output_names=["found"],
            dynamic_axes=free,
            opset_version=OPSET,
            dynamo=False,
        )
    _set_detector_metadata(path)


def halve(path: Path) -> None:
    """Stores the weights in half precision; they are converted to float when the file is loaded. Halves the file size
    without changing the speed. The weights of a run (weights.pt) have the same precision."""
    model = onnx.load(path)
    graph = model.graph
    casts = []
    for value in graph.initializer:
        weights = onnx.numpy_helper.to_array(value)
        if weights.dtype != numpy.float32 or weights.size < MIN_HALVED:
            continue
        name = value.name
        value.CopyFrom(onnx.numpy_helper.from_array(weights.astype(numpy.float16), f"{name}.half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}.half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def set_metadata(path: Path, properties: dict[str, str]) -> None:
    """Writes metadata into the model file."""
    model = onnx.load(path)
    onnx.helper.set_model_props(model, properties)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _set_detector_metadata(path: Path) -> None:
    """Writes the class names under the usual key, and the size from which elements are taken from the smaller scales."""
    set_metadata(path, {"names": json.dumps(dict(enumerate(classes.NAMES))), "large_from": str(LARGE)})


class CalibrationImages(CalibrationDataReader):
    def __init__(self, images: list[numpy.ndarray]) -> None:
        self.left = iter(images)

    def get_next(self) -> dict[str, numpy.ndarray] | None:
        image = next(self.left, None)
        return None if image is None else {"pictures": image}


def to_int8(floats: Path, path: Path, images: list[numpy.ndarray]) -> None:
    prepared = path.with_suffix(".prepared.onnx")
    quant_pre_process(str(floats), str(prepared), skip_symbolic_shape=True)
    graph = onnx.load(prepared).graph
    quantize_static(
        str(prepared),
        str(path),
        CalibrationImages(images),
        quant_format=QuantFormat.QDQ,
        op_types_to_quantize=QUANTISED,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=kept_in_float(graph),
        calibrate_method=CalibrationMethod.MinMax,
    )
    prepared.unlink()
    _set_detector_metadata(path)


def kept_in_float(graph: onnx.GraphProto) -> list[str]:
    """Returns the last convolutions and all later nodes, which compute pixel coordinates. The backward search also ends
    at a shape."""
    by_output = {name: node for node in graph.node for name in node.output}
    kept, open_ = [], [output.name for output in graph.output]
    while open_:
        node = by_output.get(open_.pop())
        if node is None or node.name in kept:
            continue
        kept.append(node.name)
        if node.op_type not in ("Conv", "Shape"):
            open_.extend(node.input)
    return kept


def calibration(folder: Path) -> list[numpy.ndarray]:
    read = screens.read(folder / "validation")
    step = max(1, len(read) // CALIBRATION_IMAGES)
    images = (screen.pixels() for screen in read[::step][:CALIBRATION_IMAGES])
    return [prepare(pixels, base_scale(pixels, CALIBRATION_PIXELS)) for pixels in images]


def max_deviation(network: Network, path: Path, images: list[numpy.ndarray], exactly: bool) -> dict[str, float]:
    """Maximum deviation of a file from PyTorch, where either detects something: scores, and boxes in pixels. With
    `exactly`, the file is computed as written instead of with the fast path of this CPU."""
    ours, theirs = models.from_network(network), models.from_onnx(path, 2, exactly)
    score = pixels = 0.0
    for image in images:
        a, b = ours(image)[0], theirs(image)[0]
        score = max(score, float(numpy.abs(a[4:] - b[4:]).max()))
        seen = numpy.maximum(a[4:], b[4:]).max(0) >= 0.3
        pixels = max(pixels, float(numpy.abs(a[:4] - b[:4])[:, seen].max(initial=0)))
    return {"score": score, "pixels": pixels}


def milliseconds(path: Path, threads: int, size: tuple[int, int] = FRAME, rounds: int = 15) -> float:
    """Median time of several runs."""
    session = models.session_of(path, threads)
    image = numpy.random.default_rng(1).random((1, 3, *size), numpy.float32)
    took = []
    for _ in range(rounds + 2):
        started = time.perf_counter()
        session.run(None, {"pictures": image})
        took.append(time.perf_counter() - started)
    return 1000 * float(numpy.median(took[2:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--screens", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    network, _ = weights.load(arguments.weights)
    floats, int8 = arguments.out / "detector.onnx", arguments.out / "detector.int8.onnx"
    images = calibration(arguments.screens)
    to_onnx(network, floats)
    to_int8(floats, int8, images)
    halve(floats)
    figures = {"parameters": sum(value.numel() for value in network.parameters()), "onnxruntime": onnxruntime.__version__}
    for name, path in (("float", floats), ("int8", int8)):
        figures[name] = {
            "bytes": path.stat().st_size,
            "farthest_from_pytorch": max_deviation(network, path, images[:8], exactly=True),
            "farthest_as_computed_here": max_deviation(network, path, images[:8], exactly=False),
            "milliseconds_1_thread": milliseconds(path, 1),
            "milliseconds_2_threads": milliseconds(path, 2),
        }
    write(arguments.out / "export.json", figures)
    print(as_text(figures))
    print(PEERS)


if __name__ == "__main__":
    main()
