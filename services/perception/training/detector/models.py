"""Models to look with: our weights, or any ONNX file in the usual layout, looked at in the same way."""

from pathlib import Path

import numpy
import onnxruntime
import torch

from . import weights
from .frame import Model
from .network import Exported, Network


def model(path: Path, threads: int) -> Model:
    return from_onnx(path, threads) if path.suffix == ".onnx" else from_network(weights.load(path)[0])


def from_network(network: Network) -> Model:
    exported = Exported(network.eval().to(memory_format=torch.channels_last))

    def run(pixels: numpy.ndarray) -> numpy.ndarray:
        with torch.inference_mode():
            return exported(torch.from_numpy(pixels).contiguous(memory_format=torch.channels_last)).numpy()

    return run


def from_onnx(path: Path, threads: int) -> Model:
    session = session_of(path, threads)
    name = session.get_inputs()[0].name
    return lambda pixels: session.run(None, {name: pixels})[0]


def session_of(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
