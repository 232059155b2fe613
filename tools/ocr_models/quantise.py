"""Makes the 8-bit recogniser: weights per channel, ranges of activations from the repository.

ONNX Runtime's own tool quantises the convolutions and the products of the hard swishes. Two things are left to be said
by numbers alone, so that between two convolutions nothing is computed in floating point. Both use that what is written
with one scale and zero point may be read with another:

- `HardSigmoid(x)` is `x / 6 + 1/2` between 0 and 1. Written in steps of 6/255 around 128, x is cut to that range as a
  byte; read in steps of 1/255 from 0 it is the sigmoid. LeakyRelu of slope 1 stands for rewriting x, because ONNX
  Runtime does that with a table.
- `h + c`, where a convolution takes it, is h read with a zero point that is lower by c. Its padding is then 0, as it
  has to be.
"""

import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.calibrate import TensorData, TensorsData, save_tensors_data

from .graph import Graph

# The first in which the scale of a DequantizeLinear may have one value per channel.
OPSET = 13

LEVELS = 255

# A hard swish is 0 up to here; there is nothing to tell apart below.
SWISH_ZERO = -3.0

# Stay in floating point. The first two have too few channels for bytes to be faster, and lose the most; the others make
# the gates of whole channels (squeeze and excitation), tiny networks with a few values far above all others.
EXACT = frozenset(f"p2o.Conv.{number}" for number in (0, 1, 22, 23, 26, 27))

Ranges = dict[str, tuple[float, float]]


class Reading(NamedTuple):
    """How the values of a tensor are read, where it is not as they were written."""

    scale: float
    zero: int


def quantise(model: onnx.ModelProto, ranges: Ranges) -> onnx.ModelProto:
    """`ranges` has the least and the greatest value of what goes into and comes out of each convolution."""
    graph = Graph(with_opset(model))
    ranges, readings = dict(ranges), {}
    convolutions = [node for node in graph.nodes if node.op_type == "Conv" and node.name not in EXACT]
    names = {node.name for node in convolutions}
    made = {node.output[0] for node in convolutions}
    gates = [node for node in graph.nodes if is_swish_gate(graph, node) and node.input[0] in made]
    for gate in gates:
        rewrite_gate(graph, gate, ranges, readings)
    for add in list(graph.nodes):
        drop_term(graph, add, names, ranges, readings)
    products = [graph.takers(gate.output[0])[0].name for gate in gates]
    chosen = [*(node.name for node in (*convolutions, *gates)), *products]
    quantised = quantise_nodes(graph.model(), chosen, ranges)
    for tensor, reading in readings.items():
        read_as(quantised, tensor, reading)
    del quantised.metadata_props[:]
    quantised.metadata_props.extend(model.metadata_props)
    return quantised


def with_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    return version_converter.convert_version(model, OPSET)


def is_swish_gate(graph: Graph, node: onnx.NodeProto) -> bool:
    product = graph.only_taker(node.output[0]) if node.op_type == "HardSigmoid" else None
    return product is not None and set(product.input) == {node.input[0], node.output[0]}


def rewrite_gate(graph: Graph, gate: onnx.NodeProto, ranges: Ranges, readings: dict[str, Reading]) -> None:
    source, result = gate.input[0], gate.output[0]
    low, high = ranges[source]
    ranges[source] = max(low, SWISH_ZERO), high
    step = 6 / LEVELS
    # With 128 as zero; half a step too high, which is 0.002.
    ranges[result] = -128 * step, 127 * step
    readings[result] = Reading(1 / LEVELS, 0)
    gate.CopyFrom(helper.make_node("LeakyRelu", [source], [result], name=gate.name, alpha=1.0))


def drop_term(
    graph: Graph, add: onnx.NodeProto, names: set[str], ranges: Ranges, readings: dict[str, Reading]
) -> None:
    """Takes `h + c` out of the graph and has h read accordingly, if all that takes it are the named convolutions."""
    found = graph.split_scalar(add, "Add")
    if found is None or any(taker.name not in names for taker in graph.takers(add.output[0])):
        return
    source, term = found
    if graph.only_taker(source) is not add or add.output[0] in graph.outputs:
        return
    low, high = ranges[add.output[0]]
    # Both h and h + c have a 0 that can be written.
    low, high = min(low, 0.0, term), max(high, 0.0, term)
    steps, scale = whole_steps(abs(term), (high - low) / LEVELS)
    steps = int(np.sign(term)) * steps
    zero = min(LEVELS, max(0, round(-low / scale)))
    ranges[source] = -(zero + steps) * scale, (LEVELS - zero - steps) * scale
    readings[source] = Reading(scale, zero)
    for taker in graph.takers(add.output[0]):
        add_to_bias(graph, taker, term - steps * scale)
    graph.remove(add)
    graph.rename_input(add.output[0], source)


def add_to_bias(graph: Graph, convolution: onnx.NodeProto, rest: float) -> None:
    """What of a term is less than a step is the same everywhere but in the padding, where it is wrong by that little."""
    bias = graph.constants[convolution.input[2]].astype(np.float64)
    weights = graph.constants[convolution.input[1]].astype(np.float64)
    graph.constants[convolution.input[2]] = bias + rest * weights.sum(axis=(1, 2, 3))


def whole_steps(term: float, least_scale: float) -> tuple[int, float]:
    """How many steps the term is, with a scale that makes it a whole number of them."""
    steps = int(term / least_scale)
    # Few steps would make the scale much coarser. Then the term is rounded.
    return (steps, term / steps) if steps >= 8 else (round(term / least_scale), least_scale)


def quantise_nodes(model: onnx.ModelProto, names: list[str], ranges: Ranges) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory(prefix="motorium-models-") as folder:
        known, result = Path(folder) / "ranges.json", Path(folder) / "quantised.onnx"
        save_tensors_data(as_tensors_data(ranges), known)
        quantize_static(
            model, result, calibration_cache_path=known, quant_format=QuantFormat.QDQ, nodes_to_quantize=names,
            op_types_to_quantize=["Conv", "Mul", "LeakyRelu"], per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )
        return onnx.load(result)


def as_tensors_data(ranges: Ranges) -> TensorsData:
    data = {
        name: TensorData(lowest=np.array(low, np.float32), highest=np.array(high, np.float32))
        for name, (low, high) in ranges.items()
    }
    return TensorsData(CalibrationMethod.MinMax, data)


def read_as(model: onnx.ModelProto, tensor: str, reading: Reading) -> None:
    """Gives the DequantizeLinear of the tensor numbers of its own."""
    scale, zero = f"{tensor}_read_scale", f"{tensor}_read_zero_point"
    model.graph.initializer.append(numpy_helper.from_array(np.array(reading.scale, np.float32), scale))
    model.graph.initializer.append(numpy_helper.from_array(np.array(reading.zero, np.uint8), zero))
    written = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == tensor)
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] == written.output[0]:
            node.input[1:] = [scale, zero]


def read_ranges(path: Path) -> Ranges:
    return {name: tuple(bounds) for name, bounds in json.loads(path.read_text())["ranges"].items()}
