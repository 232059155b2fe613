"""An ONNX graph in a form that is easy to change: nodes in order, constants as arrays, who makes and who takes a tensor.

Names are kept: a node that takes over the work of the next one takes over the name of its output, so that a tensor of a
rewritten network has the same name on every machine and in every run.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Takes a copy of a model apart; `model()` puts it together again."""

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
        """The model as it is now. Opset, metadata, inputs and outputs are those of the original."""
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
        """The node that takes the tensor, if it is the only one and the tensor is no output of the network."""
        takers = self.takers(tensor)
        return takers[0] if len(takers) == 1 and tensor not in self.outputs else None

    def scalar(self, tensor: str) -> float | None:
        value = self.constants.get(tensor)
        return float(value.reshape(())) if value is not None and value.size == 1 else None

    def split(self, node: onnx.NodeProto) -> tuple[str, str] | None:
        """The two inputs of a node, the tensor first and the constant second; `None` if it has no such two."""
        if len(node.input) != 2:
            return None
        first, second = node.input
        if first in self.constants:
            first, second = second, first
        return (first, second) if second in self.constants and first not in self.constants else None

    def split_scalar(self, node: onnx.NodeProto, operation: str) -> tuple[str, float] | None:
        """The tensor and the number that a node of this operation works on."""
        inputs = self.split(node) if node.op_type == operation else None
        if inputs is None or (number := self.scalar(inputs[1])) is None:
            return None
        return inputs[0], number

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def remove(self, *nodes: onnx.NodeProto) -> None:
        # By identity: two nodes may be equal as messages.
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
    """Weights are computed in double precision and rounded once, here."""
    return np.ascontiguousarray(value, np.float32 if value.dtype == np.float64 else value.dtype)
