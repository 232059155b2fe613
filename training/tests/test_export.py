import numpy
import onnx
import pytest
import torch

from detector import classes, export, models
from detector.network import Network

SIZES = [(64, 96), (160, 128), (256, 320)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Float and int8 files of a model with random weights and fitted norms."""
    torch.manual_seed(5)
    network = Network(len(classes.NAMES), (16, 24, 32, 32), head=16).train()
    random = numpy.random.default_rng(1)
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 0.5
    with torch.no_grad():
        for _ in range(6):
            network(torch.rand(2, 3, 128, 128))
    folder = tmp_path_factory.mktemp("onnx")
    export.to_onnx(network, folder / "float.onnx")
    images = [random.random((1, 3, 160, 192), numpy.float32) for _ in range(4)]
    export.to_int8(folder / "float.onnx", folder / "int8.onnx", images)
    return network, folder


@pytest.mark.parametrize("size", SIZES)
def test_float_export_matches_pytorch(files, size):
    network, folder = files
    image = numpy.random.default_rng(2).random((1, 3, *size), numpy.float32)
    ours, theirs = models.from_network(network)(image), models.from_onnx(folder / "float.onnx", 1)(image)
    cells = sum((size[0] // stride) * (size[1] // stride) for stride in (8, 16, 32))
    assert ours.shape == theirs.shape == (1, 4 + len(classes.NAMES), cells)
    assert numpy.allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("size", SIZES)
def test_int8_export_is_close_to_pytorch_at_every_size(files, size):
    network, folder = files
    image = numpy.random.default_rng(2).random((1, 3, *size), numpy.float32)
    ours, theirs = models.from_network(network)(image)[0], models.from_onnx(folder / "int8.onnx", 1, exactly=True)(image)[0]
    assert numpy.abs(ours[4:] - theirs[4:]).max() < 0.02
    assert numpy.abs(ours[:4] - theirs[:4]).mean() < 2


def test_the_last_convolutions_stay_in_float(files):
    nodes = onnx.load(files[1] / "int8.onnx").graph.node
    by_output = {name: node for node in nodes for name in node.output}
    kept = [node.name for node in nodes if node.op_type == "Conv" and node.input[1] not in by_output]
    assert len(kept) == 6 and all("heads" in name for name in kept), "one for classes and one for distances on each stride"
    assert not [node for node in nodes if node.op_type == "Relu"], "int8 convolutions do their ReLU themselves"
