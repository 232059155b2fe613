"""What moves the weights: Muon for the kernels within, AdamW for everything else.

Muon (Jordan et al. 2024, as PyTorch has it) makes the update of a matrix orthogonal, so that rare directions move as far
as frequent ones. A kernel is a matrix here: outputs by inputs and places. The first layer and the last ones are kept to
AdamW, as its authors advise, and norms have no matrix.

Rates mean the same for both (`match_rms_adamw`: an update is as long as AdamW's would be), so there is one rate.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .network import Network

DECAY = 0.05
"""Of kernels. Norms and biases have none."""


class Optimizer:
    """Steps all weights of a network at one rate."""

    def __init__(self, network: Network) -> None:
        inner = {name: kernel for name, kernel in network.named_parameters() if is_inner(name, kernel)}
        others = [value for name, value in network.named_parameters() if name not in inner]
        self.kernels = list(inner.values())
        # The same memory under another shape: what moves the matrix moves the kernel.
        self.matrices = [nn.Parameter(matrix(kernel.detach()), requires_grad=False) for kernel in self.kernels]
        assert all(a.data_ptr() == b.data_ptr() for a, b in zip(self.kernels, self.matrices)), "a kernel was copied"
        self.muon = torch.optim.Muon(self.matrices, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw")
        groups = [
            {"params": [value for value in others if value.dim() > 1], "weight_decay": DECAY},
            {"params": [value for value in others if value.dim() <= 1], "weight_decay": 0.0},
        ]
        self.adam = torch.optim.AdamW(groups, betas=(0.9, 0.99), fused=True)

    def step(self, rate: float) -> None:
        for group in self.muon.param_groups + self.adam.param_groups:
            group["lr"] = rate
        for kernel, flat in zip(self.kernels, self.matrices):
            flat.grad = matrix(kernel.grad)
        self.muon.step()
        self.adam.step()

    def state_dict(self) -> dict[str, Any]:
        return {"muon": self.muon.state_dict(), "adam": self.adam.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])


def is_inner(name: str, kernel: Tensor) -> bool:
    """Whether a parameter is a kernel between two norms: neither of the layer that sees pixels nor of those that answer."""
    answers = name.startswith("heads.") and (".classes.1." in name or ".distances.1." in name)
    return kernel.dim() == 4 and not name.startswith("down4.") and not answers


def matrix(kernel: Tensor) -> Tensor:
    """`[outputs, inputs, height, width]` as `[outputs, height * width * inputs]`: no copy where channels are last."""
    return kernel.permute(0, 2, 3, 1).reshape(len(kernel), -1)
