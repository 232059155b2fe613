"""Rewrites an exported network to compute the same result with fewer passes over its data.

The PP-OCRv4 exports spend half of their time outside convolutions: scalar multiplications and additions around each of
them, and `x * clip(x + 3, 0, 6) / 6` in four steps. Scalars are folded into adjacent weights, and the four steps become
HardSigmoid and Mul. Nothing is approximated; results differ by rounding only.
"""

import numpy as np
import onnx
from onnx import helper

from .graph import Graph, attribute

CONVOLUTIONS = ("Conv", "ConvTranspose")

# Homogeneous operations, which a factor passes through: f(a * x) = a * f(x).
HOMOGENEOUS = ("GlobalAveragePool", "AveragePool")


def rewrite(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the network with fewer nodes; remaining tensors keep their names."""
    graph = Graph(model)
    drop_factors_of_one(graph)
    write_hard_swish(graph)
    fold_what_follows(graph)
    merge_convolutions(graph)
    fold_factors_before(graph)
    fold_terms_before(graph)
    gate_once(graph)
    return graph.model()


def blocked(model: onnx.ModelProto) -> onnx.ModelProto:
    """Converts remaining `x + b` to depthwise 1×1 convolutions.

    ONNX Runtime keeps blocks of 8 or 16 channels between convolutions and reorders them for a scalar addition, which costs
    more than the addition.
    """
    graph = Graph(model)
    for add in list(graph.nodes):
        found = graph.split_scalar(add, "Add")
        channels = channels_of(graph, found[0]) if found else None
        if channels is None:
            continue
        weights = graph.constant(f"{add.output[0]}.ones", np.ones((channels, 1, 1, 1), np.float32))
        bias = graph.constant(f"{add.output[0]}.terms", np.full(channels, found[1], np.float32))
        inputs, name = [found[0], weights, bias], add.output[0]
        shift = helper.make_node("Conv", inputs, [name], name=name, kernel_shape=[1, 1], group=channels)
        graph.insert_before(add, shift)
        graph.remove(add)
    return graph.model()


def channels_of(graph: Graph, tensor: str) -> int | None:
    """Returns the number of channels of a tensor that is the hard swish of a convolution."""
    maker = graph.maker(tensor)
    if maker is not None and maker.op_type == "Mul":
        maker = graph.maker(maker.input[0])
    if maker is None or maker.op_type != "Conv":
        return None
    return len(graph.constants[maker.input[1]])


def drop_factors_of_one(graph: Graph) -> None:
    for node in list(graph.nodes):
        found = graph.split_scalar(node, "Mul")
        if found and found[1] == 1.0 and node.output[0] not in graph.outputs:
            graph.remove(node)
            graph.rename_input(node.output[0], found[0])


def write_hard_swish(graph: Graph) -> None:
    """Replaces `x * clip(x + 3, 0, 6) / 6` with `x * HardSigmoid(x)`."""
    for add in list(graph.nodes):
        if chain := hard_swish_chain(graph, add):
            clip, product, division = chain
            source = graph.split_scalar(add, "Add")[0]
            gate = add.output[0]
            graph.insert_before(
                division,
                helper.make_node("HardSigmoid", [source], [gate], name=gate, alpha=1 / 6, beta=0.5),
                helper.make_node("Mul", [source, gate], [division.output[0]], name=division.output[0]),
            )
            graph.remove(add, clip, product, division)


def hard_swish_chain(graph: Graph, add: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """Returns the three nodes after `x + 3` that form a hard swish with it."""
    found = graph.split_scalar(add, "Add")
    if found is None or found[1] != 3.0:
        return None
    clip = graph.only_taker(add.output[0])
    if clip is None or clip.op_type != "Clip" or [graph.scalar(bound) for bound in clip.input[1:]] != [0.0, 6.0]:
        return None
    product = graph.only_taker(clip.output[0])
    if product is None or product.op_type != "Mul" or set(product.input) != {found[0], clip.output[0]}:
        return None
    division = graph.only_taker(product.output[0])
    if division is None or graph.split_scalar(division, "Div") != (product.output[0], 6.0):
        return None
    return [clip, product, division]


def fold_what_follows(graph: Graph) -> None:
    """Folds a factor, term or batch normalisation after a convolution into its weights and bias."""
    for node in list(graph.nodes):
        if node.op_type in CONVOLUTIONS:
            while (after := graph.only_taker(node.output[0])) and (affine := affine_of(graph, after)):
                scale_outputs(graph, node, *affine)
                node.output[0] = after.output[0]
                graph.remove(after)


def affine_of(graph: Graph, node: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the factor and term that a node applies, as one number or one per channel."""
    if node.op_type == "BatchNormalization":
        scale, bias, mean, variance = (graph.constants[name].astype(np.float64) for name in node.input[1:])
        factor = scale / np.sqrt(variance + attribute(node, "epsilon", 1e-5))
        return factor, bias - mean * factor
    inputs = graph.split(node)
    if inputs is None or node.op_type not in ("Mul", "Add"):
        return None
    value = graph.constants[inputs[1]]
    if value.size != 1 and value.shape != (1, value.size, 1, 1):
        return None
    number = value.reshape(-1).astype(np.float64)
    return (number, np.zeros(1)) if node.op_type == "Mul" else (np.ones(1), number)


def scale_outputs(graph: Graph, node: onnx.NodeProto, factor: np.ndarray, term: np.ndarray) -> None:
    weights, bias = weights_of(graph, node), bias_of(graph, node)
    # One factor per output channel; in a transposed convolution that is the second axis.
    shape = (-1, 1, 1, 1) if node.op_type == "Conv" else (1, -1, 1, 1)
    set_weights(graph, node, weights * factor.reshape(shape), bias * factor + term)


def merge_convolutions(graph: Graph) -> None:
    """Merges two consecutive 1×1 convolutions where that reduces work."""
    for first in list(graph.nodes):
        second = graph.only_taker(first.output[0]) if is_plain_pointwise(first) else None
        if second is None or not is_plain_pointwise(second):
            continue
        a, b = weights_of(graph, first)[:, :, 0, 0], weights_of(graph, second)[:, :, 0, 0]
        if a.shape[1] * b.shape[0] < a.size + b.size:
            bias = b @ bias_of(graph, first) + bias_of(graph, second)
            set_weights(graph, second, (b @ a)[:, :, None, None], bias)
            second.input[0] = first.input[0]
            graph.remove(first)


def is_plain_pointwise(node: onnx.NodeProto) -> bool:
    return (
        node.op_type == "Conv"
        and attribute(node, "kernel_shape") == [1, 1]
        and attribute(node, "strides", [1, 1]) == [1, 1]
        and attribute(node, "group", 1) == 1
        and not is_padded(node)
    )


def is_padded(node: onnx.NodeProto) -> bool:
    return any(attribute(node, "pads", [0]))


def fold_factors_before(graph: Graph) -> None:
    """Folds the factor of `a * x` and `a * x + b` before convolutions into their weights; `x + b/a` remains."""
    for node in list(graph.nodes):
        found = graph.split_scalar(node, "Mul")
        if found is None:
            continue
        source, factor = found
        add = graph.only_taker(node.output[0])
        added = graph.split_scalar(add, "Add") if add is not None else None
        result = add.output[0] if added else node.output[0]
        convolutions = who_takes_the_factor(graph, result)
        if convolutions is None:
            continue
        for convolution in convolutions:
            set_weights(graph, convolution, weights_of(graph, convolution) * factor, bias_of(graph, convolution))
        graph.remove(node)
        if added:
            term = graph.constant(f"{result}.term", np.array([added[1] / factor], np.float32))
            add.input[:] = [source, term]
        else:
            graph.rename_input(result, source)


def who_takes_the_factor(graph: Graph, tensor: str) -> list[onnx.NodeProto] | None:
    """Returns the convolutions that a factor of the tensor reaches; `None` if it reaches other nodes as well."""
    if tensor in graph.outputs:
        return None
    convolutions = []
    for node in graph.takers(tensor):
        if node.op_type == "Conv" and node.input[0] == tensor:
            convolutions.append(node)
            continue
        passes = node.op_type in HOMOGENEOUS or (node.op_type == "Mul" and list(node.input).count(tensor) == 1)
        further = who_takes_the_factor(graph, node.output[0]) if passes else None
        if further is None:
            return None
        convolutions += further
    return convolutions


def fold_terms_before(graph: Graph) -> None:
    """Folds `x + b` before unpadded convolutions into their bias. With padding it would differ: padding is 0, not b."""
    for node in list(graph.nodes):
        found = graph.split_scalar(node, "Add")
        takers = graph.takers(node.output[0])
        if found is None or not takers or node.output[0] in graph.outputs:
            continue
        if all(taker.op_type == "Conv" and not is_padded(taker) for taker in takers):
            for taker in takers:
                weights = weights_of(graph, taker)
                bias = bias_of(graph, taker) + found[1] * weights.sum(axis=(1, 2, 3))
                set_weights(graph, taker, weights, bias)
            graph.remove(node)
            graph.rename_input(node.output[0], found[0])


def gate_once(graph: Graph) -> None:
    """Rewrites `x + x * s` with one `s` per channel as `x * (s + 1)`: one pass over x instead of two."""
    for add in list(graph.nodes):
        product = product_with_itself(graph, add)
        if product is None:
            continue
        gate = next(name for name in product.input if name not in add.input)
        one = graph.constant(f"{product.output[0]}.one", np.ones(1, np.float32))
        raised = f"{gate}.raised"
        graph.insert_before(product, helper.make_node("Add", [gate, one], [raised], name=raised))
        product.input[:] = [raised if name == gate else name for name in product.input]
        product.output[0] = add.output[0]
        graph.remove(add)


def product_with_itself(graph: Graph, add: onnx.NodeProto) -> onnx.NodeProto | None:
    """Returns the `x * s` node that `add` adds to x, if s comes from a HardSigmoid without other consumers."""
    if add.op_type != "Add" or graph.split(add):
        return None
    for product in filter(None, map(graph.maker, add.input)):
        others = [name for name in product.input if name not in add.input]
        if product.op_type == "Mul" and len(others) == 1 and graph.only_taker(product.output[0]) is add:
            gate = graph.maker(others[0])
            if gate is not None and gate.op_type == "HardSigmoid" and graph.only_taker(others[0]) is product:
                return product
    return None


def weights_of(graph: Graph, node: onnx.NodeProto) -> np.ndarray:
    return graph.constants[node.input[1]].astype(np.float64)


def bias_of(graph: Graph, node: onnx.NodeProto) -> np.ndarray:
    if len(node.input) > 2:
        return graph.constants[node.input[2]].astype(np.float64)
    weights = graph.constants[node.input[1]]
    channels = weights.shape[0] if node.op_type == "Conv" else weights.shape[1] * attribute(node, "group", 1)
    return np.zeros(channels)


def set_weights(graph: Graph, node: onnx.NodeProto, weights: np.ndarray, bias: np.ndarray) -> None:
    """Sets separate weights for a node; the original ones may be shared."""
    weight_name = graph.constant(f"{node.name}.weights", weights)
    bias_name = graph.constant(f"{node.name}.bias", bias)
    node.input[:] = [node.input[0], weight_name, bias_name]
