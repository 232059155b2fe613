"""Quantises the text recognition model to 8 bits: weights per channel, activation ranges from the repository.

ONNX Runtime's tool quantises the convolutions and the products of the hard swishes. Two operations are expressed by
scales and zero points alone, so that nothing between two convolutions is computed in floating point. Both exploit that
a tensor quantised with one scale and zero point can be dequantised with another:

- `HardSigmoid(x)` is `x / 6 + 1/2` clipped to 0..1. Quantised in steps of 6/255 around 128, x is clipped to that range;
  dequantised in steps of 1/255 from 0 it is the sigmoid. A LeakyRelu of slope 1 requantises x, because ONNX Runtime
  implements it with a lookup table.
- `h + c` as the input of a convolution is h dequantised with a zero point lowered by c. Its padding is then 0, as
  required.
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

# The first opset in which DequantizeLinear supports one scale per channel.
OPSET = 13

LEVELS = 255

# A hard swish is 0 below this input, so smaller values need no resolution.
SWISH_ZERO = -3.0

# Convolutions that stay in floating point. The first two have too few channels for 8 bits to be faster and lose the most
# accuracy; the others compute channel gates (squeeze and excitation), tiny networks with extreme outliers.
EXACT = frozenset(f"p2o.Conv.{number}" for number in (0, 1, 22, 23, 26, 27))

Ranges = dict[str, tuple[float, float]]


class Reading(NamedTuple):
    """Dequantisation parameters that differ from the quantisation parameters of a tensor."""

    scale: float
    zero: int


def quantise(model: onnx.ModelProto, ranges: Ranges) -> onnx.ModelProto:
    """Quantises a model. `ranges` has the minimum and maximum of each convolution's input and output."""
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
    # Zero point 128. The error is half a step, 0.002.
    ranges[result] = -128 * step, 127 * step
    readings[result] = Reading(1 / LEVELS, 0)
    gate.CopyFrom(helper.make_node("LeakyRelu", [source], [result], name=gate.name, alpha=1.0))


def drop_term(
    graph: Graph, add: onnx.NodeProto, names: set[str], ranges: Ranges, readings: dict[str, Reading]
) -> None:
    """Removes `h + c` and adjusts the dequantisation of h, if only the named convolutions consume it."""
    found = graph.split_scalar(add, "Add")
    if found is None or any(taker.name not in names for taker in graph.takers(add.output[0])):
        return
    source, term = found
    if graph.only_taker(source) is not add or add.output[0] in graph.outputs:
        return
    low, high = ranges[add.output[0]]
    # Zero must be representable in both h and h + c.
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
    """Adds the rest of a term, less than a step, to the bias. It is exact everywhere except in the padding."""
    bias = graph.constants[convolution.input[2]].astype(np.float64)
    weights = graph.constants[convolution.input[1]].astype(np.float64)
    graph.constants[convolution.input[2]] = bias + rest * weights.sum(axis=(1, 2, 3))


def whole_steps(term: float, min_scale: float) -> tuple[int, float]:
    """Returns the term as a number of steps, with a scale that makes it a whole number."""
    steps = int(term / min_scale)
    # With few steps the adjusted scale would be much coarser, so the term is rounded instead.
    return (steps, term / steps) if steps >= 8 else (round(term / min_scale), min_scale)


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
    """Sets separate parameters for the DequantizeLinear of a tensor."""
    scale, zero = f"{tensor}_read_scale", f"{tensor}_read_zero_point"
    model.graph.initializer.append(numpy_helper.from_array(np.array(reading.scale, np.float32), scale))
    model.graph.initializer.append(numpy_helper.from_array(np.array(reading.zero, np.uint8), zero))
    written = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == tensor)
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] == written.output[0]:
            node.input[1:] = [scale, zero]


def read_ranges(path: Path) -> Ranges:
    return {name: tuple(bounds) for name, bounds in json.loads(path.read_text())["ranges"].items()}
