"""An ONNX graph in a form that is easy to rewrite: ordered nodes, constants as arrays, producers and consumers.

Names are stable: a node that absorbs the next one takes over the name of its output, so that tensors of a rewritten
network have the same names on every machine and in every run.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Editable copy of a model; `model()` converts it back."""

    def __init__(self, model: onnx.ModelProto):
        self._model = copy(model)
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in self._model.graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        for node in self._model.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = numpy_helper.to_array(attribute(node, "value"))
            else:
                self.nodes.append(node)
        self.outputs = {output.name for output in self._model.graph.output}

    def model(self) -> onnx.ModelProto:
        """Returns the current model, with the original's opset, metadata, inputs and outputs."""
        model = copy(self._model)
        used = {name for node in self.nodes for name in node.input}
        del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
        model.graph.node.extend(self.nodes)
        for name, value in self.constants.items():
            if name in used:
                model.graph.initializer.append(numpy_helper.from_array(as_stored(value), name))
        onnx.checker.check_model(model, full_check=True)
        return model

    def maker(self, tensor: str) -> onnx.NodeProto | None:
        return next((node for node in self.nodes if tensor in node.output), None)

    def takers(self, tensor: str) -> list[onnx.NodeProto]:
        return [node for node in self.nodes if tensor in node.input]

    def only_taker(self, tensor: str) -> onnx.NodeProto | None:
        """Returns the only consumer of a tensor, if there is one and the tensor is not a network output."""
        takers = self.takers(tensor)
        return takers[0] if len(takers) == 1 and tensor not in self.outputs else None

    def scalar(self, tensor: str) -> float | None:
        value = self.constants.get(tensor)
        return float(value.reshape(())) if value is not None and value.size == 1 else None

    def split(self, node: onnx.NodeProto) -> tuple[str, str] | None:
        """Returns the tensor and the constant input of a binary node; `None` for other nodes."""
        if len(node.input) != 2:
            return None
        first, second = node.input
        if first in self.constants:
            first, second = second, first
        return (first, second) if second in self.constants and first not in self.constants else None

    def split_scalar(self, node: onnx.NodeProto, operation: str) -> tuple[str, float] | None:
        """Returns the tensor and the scalar inputs of a node with this operation."""
        inputs = self.split(node) if node.op_type == operation else None
        if inputs is None or (number := self.scalar(inputs[1])) is None:
            return None
        return inputs[0], number

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def remove(self, *nodes: onnx.NodeProto) -> None:
        # By identity, because distinct nodes can be equal messages.
        self.nodes = [node for node in self.nodes if not any(node is gone for gone in nodes)]

    def insert_before(self, place: onnx.NodeProto, *nodes: onnx.NodeProto) -> None:
        index = next(index for index, node in enumerate(self.nodes) if node is place)
        self.nodes[index:index] = nodes

    def rename_input(self, old: str, new: str) -> None:
        for node in self.nodes:
            node.input[:] = [new if name == old else name for name in node.input]


def copy(model: onnx.ModelProto) -> onnx.ModelProto:
    other = onnx.ModelProto()
    other.CopyFrom(model)
    return other


def attribute(node: onnx.NodeProto, name: str, default=None):
    found = next((a for a in node.attribute if a.name == name), None)
    return default if found is None else helper.get_attribute_value(found)


def as_stored(value: np.ndarray) -> np.ndarray:
    """Rounds weights to single precision, once; they are computed in double precision."""
    return np.ascontiguousarray(value, np.float32 if value.dtype == np.float64 else value.dtype)
