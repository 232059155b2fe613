"""Converts an exported detector to weights, so that training can continue from the network that ships.

    python -m detector.from_onnx --model detector.onnx --out weights.pt --images 931520

The exporter merges each norm into the convolution before it, so the file does not have the statistics of the norms.
They are set to a mean of 0 and a variance of 1, and the kernels and offsets of the file are used as they are: the network
computes the same as the file, but only while its norms are frozen. `detector.train` therefore requires `--keep-norms`.

Only the float file can be converted: the int8 file has lost precision.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx.numpy_helper
import torch
from torch import Tensor, nn

from . import classes, weights
from .network import Network

PREFIX = "network"
"""Attribute of the network in the exported module (`Exported`), the first part of every node name."""


def convert(path: Path) -> Network:
    """Returns the network of a float ONNX file, in evaluation mode."""
    model = onnx.load(path)
    check_classes(path, model)
    constants = constants_of(model.graph)
    try:
        kernels = {node.name: [constants[name] for name in node.input[1:]] for node in model.graph.node if node.op_type == "Conv"}
        network = network_like(kernels)
        for name, convolution, norm in convolutions(network):
            copy(*(torch.from_numpy(value.copy()) for value in kernels[name]), convolution, norm)
    except (KeyError, RuntimeError) as error:
        raise ValueError(f"{path} is not a float file written by detector.export: {error}") from error
    return network.eval()


def check_classes(path: Path, model: onnx.ModelProto) -> None:
    metadata = {one.key: one.value for one in model.metadata_props}
    names = list(json.loads(metadata.get("names", "{}")).values())
    if not names or names != classes.NAMES[: len(names)]:
        raise ValueError(f"{path} has other classes than classes.json")


def constants_of(graph: onnx.GraphProto) -> dict[str, numpy.ndarray]:
    """Returns the weights by name. Those in half precision reach their nodes through a conversion to float, and those
    that are equal to others through an identity."""
    constants = {value.name: onnx.numpy_helper.to_array(value) for value in graph.initializer}
    for node in graph.node:
        if node.op_type in ("Cast", "Identity") and node.input[0] in constants:
            constants[node.output[0]] = constants[node.input[0]].astype(numpy.float32)
    return constants


def network_like(kernels: dict[str, list[numpy.ndarray]]) -> Network:
    """Creates a network with the sizes of these kernels."""
    outputs = lambda *parts: len(kernels["/".join(("", PREFIX, *parts, "Conv"))][0])
    downs = [outputs(f"down{stride}", f"down{stride}.0", f"down{stride}.0.0") for stride in (8, 16, 32)]
    head = outputs("heads.0", "shared", "shared.0")
    return Network(outputs("heads.0", "classes", "classes.1"), (outputs("down4", "down4.0"), *downs), head)


def convolutions(network: Network) -> Iterator[tuple[str, nn.Conv2d, nn.BatchNorm2d | None]]:
    """Yields each convolution with the name of its node in the file, and the norm after it, if there is one."""
    modules = dict(network.named_modules())
    for path, module in modules.items():
        if not isinstance(module, nn.Conv2d):
            continue
        parent, _, place = path.rpartition(".")
        after = modules.get(f"{parent}.{int(place) + 1}")
        yield node_name(path, modules), module, after if isinstance(after, nn.BatchNorm2d) else None


def node_name(path: str, modules: dict[str, nn.Module]) -> str:
    """Returns the name that the exporter gives to a module: `down8.1.past.0` becomes
    `/network/down8/down8.1/past/past.0/Conv`. Lists are not called and have no part of their own."""
    parts, scope, before = path.split("."), [PREFIX], ""
    for number, part in enumerate(parts, 1):
        before = f"{before}.{part}" if part.isdigit() else part
        if not isinstance(modules[".".join(parts[:number])], nn.ModuleList):
            scope.append(before)
    return "/" + "/".join((*scope, "Conv"))


@torch.no_grad()
def copy(kernel: Tensor, offset: Tensor, convolution: nn.Conv2d, norm: nn.BatchNorm2d | None) -> None:
    convolution.weight.copy_(kernel)
    if norm is None:
        convolution.bias.copy_(offset)
        return
    norm.running_mean.zero_()
    # The norm divides by the root of variance plus eps, so this is a division by 1.
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.fill_(1)
    norm.bias.copy_(offset)


def has_merged_norms(network: Network) -> bool:
    """Returns whether the network was converted: its norms have no statistics, also after training with frozen norms."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    return all(not norm.running_mean.any() for norm in norms)


def about(images: int) -> dict[str, Any]:
    """Metadata of the weights. The file does not have the screens that it was trained on; the model card lists them."""
    return {"images": images, "screens": {}, "finished": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="float file, such as services/perception/models/detector.onnx")
    parser.add_argument("--out", type=Path, required=True, help="weights file to write")
    parser.add_argument("--images", type=int, default=0, help="samples that it was trained on (model card), so that training continues with others")
    arguments = parser.parse_args()
    weights.save(convert(arguments.model), arguments.out, about(arguments.images))
    print(arguments.out)


if __name__ == "__main__":
    main()
