"""Weight files: checkpoints for resuming, and small files to keep."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import classes
from .network import Network


def save(network: Network, path: Path, about: dict[str, Any]) -> None:
    """Writes the weights, with kernels in half precision: 5 MB. Training can continue from them with a fresh optimiser
    state."""
    state = {name: _smaller(value) for name, value in network.state_dict().items()}
    write({"settings": network.settings, "names": classes.NAMES, "about": about, "state": state}, path)


def load(path: Path) -> tuple[Network, dict[str, Any]]:
    """Returns the model in evaluation mode and its metadata."""
    record = torch.load(path, weights_only=True)
    if record["names"] != classes.NAMES[: len(record["names"])]:
        raise ValueError(f"{path} has other classes than classes.json; train again, or only append classes")
    settings = record["settings"]
    network = Network(settings["classes"], tuple(settings["widths"]), settings["head"])
    network.load_state_dict({name: value.float() if value.is_floating_point() else value for name, value in record["state"].items()})
    return network.eval(), record["about"]


def write(record: dict[str, Any], path: Path) -> None:
    """Writes atomically: if interrupted, the previous file remains."""
    beside = path.with_suffix(".new")
    torch.save(record, beside)
    beside.rename(path)


def _smaller(value: Tensor) -> Tensor:
    """Norms keep full precision: they are few, and small variances would become zero."""
    value = value.cpu()
    return value.half() if value.is_floating_point() and value.dim() > 1 else value
