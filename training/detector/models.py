"""Models for inference: our weights, or any ONNX file in the usual layout."""

from pathlib import Path

import numpy
import onnx
import onnxruntime
import torch

from . import weights
from .inference import LARGE, Model
from .network import Exported, Network


def model(path: Path, threads: int) -> Model:
    """Loads a model for evaluation; an int8 file is computed exactly, independent of this CPU."""
    return from_onnx(path, threads, exactly=True) if path.suffix == ".onnx" else from_network(weights.load(path)[0])


def large_from(path: Path) -> float | None:
    """Size from which elements are taken from the smaller scales; `None` if the file does not declare it."""
    if path.suffix != ".onnx":
        return LARGE
    metadata = {one.key: one.value for one in onnx.load(path, load_external_data=False).metadata_props}
    return float(metadata["large_from"]) if "large_from" in metadata else None


def from_network(network: Network) -> Model:
    exported = Exported(network.eval().to(memory_format=torch.channels_last))

    def run(pixels: numpy.ndarray) -> numpy.ndarray:
        with torch.inference_mode():
            return exported(torch.from_numpy(pixels).contiguous(memory_format=torch.channels_last)).numpy()

    return run


def from_onnx(path: Path, threads: int, exactly: bool = False) -> Model:
    session = session_of(path, threads, exactly)
    name = session.get_inputs()[0].name
    return lambda pixels: session.run(None, {name: pixels})[0]


def session_of(path: Path, threads: int, exactly: bool = False) -> onnxruntime.InferenceSession:
    """Creates a session. With `exactly`, an int8 file is computed as written, in float between its steps: slow, but
    equal to a CPU with VNNI. The fast path without VNNI adds products in 16 bits, which saturate."""
    options = onnxruntime.SessionOptions()
    if exactly:
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
