"""Conversion of exported files to weights."""

import argparse
import copy

import numpy
import onnx
import pytest
import torch

from detector import classes, export, from_onnx, models, weights
from detector.network import Exported, Network
from detector.postprocess import ROOT
from detector.train import CPU, begin

SHIPPED = ROOT / "services" / "perception" / "models" / "detector.onnx"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A small network with fitted norms, and its file in half precision."""
    torch.manual_seed(5)
    network = Network(len(classes.NAMES), (16, 24, 32, 40), head=24).train()
    with torch.no_grad():
        for _ in range(4):
            network(torch.rand(2, 3, 128, 128))
    path = tmp_path_factory.mktemp("onnx") / "detector.onnx"
    export.to_onnx(network, path)
    export.halve(path)
    return network.eval(), path


def deviation(network, path):
    image = numpy.random.default_rng(2).random((1, 3, 160, 224), numpy.float32)
    return numpy.abs(models.from_network(network)(image) - models.from_onnx(path, 1)(image)).max()


def test_converted_network_matches_the_onnx_file(exported, tmp_path):
    network, path = exported
    converted = from_onnx.convert(path)
    assert converted.settings == network.settings
    assert deviation(converted, path) < 1e-3
    # Writing the weights loses nothing: the kernels of the file have half precision already.
    weights.save(converted, tmp_path / "weights.pt", from_onnx.about(5))
    again, about = weights.load(tmp_path / "weights.pt")
    assert about["images"] == 5
    for name, value in converted.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_the_network_that_ships_can_be_converted():
    converted = from_onnx.convert(SHIPPED)
    assert converted.settings == Network(len(classes.NAMES)).settings
    assert deviation(converted, SHIPPED) < 1e-2


def test_a_converted_network_is_exported_unchanged(exported, tmp_path):
    converted = from_onnx.convert(exported[1])
    export.to_onnx(converted, tmp_path / "again.onnx")
    assert deviation(converted, tmp_path / "again.onnx") < 1e-3
    assert from_onnx.has_merged_norms(from_onnx.convert(tmp_path / "again.onnx"))


def test_training_continues_from_it_only_with_frozen_norms(exported, tmp_path):
    network, path = exported
    assert not from_onnx.has_merged_norms(network)
    weights.save(from_onnx.convert(path), tmp_path / "weights.pt", from_onnx.about(640))
    arguments = argparse.Namespace(run=tmp_path / "run", weights=tmp_path / "weights.pt", seed=1, rate=1e-3, rising=160, keep_front=False, keep_norms=False, device=CPU)
    with pytest.raises(ValueError, match="--keep-norms"):
        begin(arguments)
    arguments.keep_norms = True
    training = begin(arguments)
    assert training.progress.images == 640
    image = torch.rand(1, 3, 96, 96)
    with torch.inference_mode():
        trained = Exported(copy.deepcopy(training.network))(image)
        assert torch.allclose(trained, Exported(training.mean)(image), atol=1e-4), "norms compute the same in training mode"


def test_other_files_are_refused(exported, tmp_path):
    model = onnx.load(exported[1])
    for node in model.graph.node:
        node.name = node.name.replace("heads", "tails")
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match="not a float file written by detector.export"):
        from_onnx.convert(tmp_path / "other.onnx")
    export.set_metadata(tmp_path / "other.onnx", {"names": '{"0": "poodle"}'})
    with pytest.raises(ValueError, match="other classes"):
        from_onnx.convert(tmp_path / "other.onnx")
