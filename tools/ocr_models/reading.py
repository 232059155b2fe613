"""Runs the models as the service does: preprocessing of lines and decoding of outputs."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime

HEIGHT = 48
WIDTH_STEP = 16


def session(model: Path | onnx.ModelProto, threads: int = 1) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(network: onnxruntime.InferenceSession, planes: np.ndarray) -> np.ndarray:
    return network.run(None, {network.get_inputs()[0].name: planes})[0]


def charset(network: onnxruntime.InferenceSession) -> list[str]:
    """Returns one character per class: the blank, the model's charset, a space."""
    listed = network.get_modelmeta().custom_metadata_map["character"].split("\n")
    return ["", *(sign.rstrip("\r") for sign in listed[: -1 if not listed[-1] else None]), " "]


def line_planes(pixels: np.ndarray) -> np.ndarray:
    """Converts RGB pixels to the input of text recognition: 48 pixels high, the width a multiple of 16."""
    rows, columns, _ = pixels.shape
    width = max(1, -(-columns * HEIGHT // rows))
    padded = -(-width // WIDTH_STEP) * WIDTH_STEP
    scaled = np.rint(scale(scale(pixels.astype(np.float32), HEIGHT, 0), width, 1))
    planes = np.zeros((1, 3, HEIGHT, padded), np.float32)
    planes[0, :, :, :width] = scaled[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return planes


def scale(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Resizes along an axis by linear interpolation, averaging when it shrinks."""
    old = values.shape[axis]
    step = old / size
    reach = max(step, 1.0)
    centres = (np.arange(size) + 0.5) * step
    distance = np.abs(np.arange(old) + 0.5 - centres[:, None]) / reach
    weights = np.maximum(0.0, 1.0 - distance)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.moveaxis(np.tensordot(weights.astype(np.float32), values, (1, axis)), 0, axis)


def decode(probabilities: np.ndarray, signs: list[str]) -> str:
    """Decodes CTC output: merges repeated classes; class 0 is the blank."""
    classes = probabilities[0].argmax(axis=1)
    changed = np.concatenate([[True], classes[1:] != classes[:-1]])
    return "".join(signs[index] for index in classes[changed]).strip()


def read(network: onnxruntime.InferenceSession, pixels: np.ndarray, signs: list[str]) -> str:
    return decode(run(network, line_planes(pixels)), signs)
