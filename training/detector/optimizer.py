"""Optimiser: Muon for the inner kernels, AdamW for all other parameters.

Muon (Jordan et al. 2024, as in PyTorch) orthogonalises the update of a matrix, so that rare directions are learnt as
fast as frequent ones. A kernel is treated as a matrix of outputs by inputs and positions. The first and the last layers
use AdamW, as its authors recommend, and norms have no matrix.

The learning rate has the same meaning for both (updates have the length of AdamW's), so there is a single one.
PyTorch's Muon computes in bfloat16, which takes a third of a step on a CPU without bfloat16 support; in float32 it
takes a tenth.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from .network import Network

DECAY = 0.05
"""Weight decay of kernels. Norms and biases have none."""
MOMENTUM = 0.95
AS_LONG_AS_ADAM = 0.2
NEWTON_SCHULZ = 3.4445, -4.7750, 2.0315
NEWTON_SCHULZ_STEPS = 5


class Optimizer:
    """Updates all weights with one learning rate."""

    def __init__(self, network: Network) -> None:
        moving = {name: value for name, value in network.named_parameters() if value.requires_grad}
        inner = {name: kernel for name, kernel in moving.items() if is_inner(name, kernel)}
        others = [value for name, value in moving.items() if name not in inner]
        self.kernels = list(inner.values())
        # Views of the same memory: updating the matrix updates the kernel.
        self.matrices = [nn.Parameter(matrix(kernel.detach()), requires_grad=False) for kernel in self.kernels]
        assert all(a.data_ptr() == b.data_ptr() for a, b in zip(self.kernels, self.matrices)), "a kernel was copied"
        self.muon = Muon(self.matrices)
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


class Muon(torch.optim.Optimizer):
    """PyTorch's Muon with the same constants and state, in float32."""

    def __init__(self, matrices: list[nn.Parameter]) -> None:
        super().__init__(matrices, {"lr": 0.0})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for weights in group["params"]:
                self._move(weights, group["lr"])

    def _move(self, weights: nn.Parameter, rate: float) -> None:
        state = self.state[weights]
        momentum = state.setdefault("momentum_buffer", torch.zeros_like(weights.grad))
        momentum.lerp_(weights.grad, 1 - MOMENTUM)
        ahead = weights.grad.lerp(momentum, MOMENTUM)
        weights.mul_(1 - rate * DECAY)
        weights.add_(orthogonal(ahead), alpha=-rate * AS_LONG_AS_ADAM * math.sqrt(max(weights.shape)))


def orthogonal(update: Tensor) -> Tensor:
    """Nearest matrix with singular values of about one, by five Newton-Schulz steps."""
    tall = len(update) > update.shape[1]
    x = update.T if tall else update
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=NEWTON_SCHULZ[1], alpha=NEWTON_SCHULZ[2]), x, beta=NEWTON_SCHULZ[0])
    return x.T if tall else x


def is_inner(name: str, kernel: Tensor) -> bool:
    """Returns whether a parameter is an inner kernel: neither in the first layer nor in the output layers."""
    answers = name.startswith("heads.") and (".classes.1." in name or ".distances.1." in name)
    return kernel.dim() == 4 and not name.startswith("down4.") and not answers


def matrix(kernel: Tensor) -> Tensor:
    """Views `[outputs, inputs, height, width]` as `[outputs, height * width * inputs]`, without a copy if channels are
    last."""
    return kernel.permute(0, 2, 3, 1).reshape(len(kernel), -1)
