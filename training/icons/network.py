"""Icon classifier: a small model over 40x40 pixels with a rejection threshold.

It predicts the probability of each meaning, and of "none of these" as an additional output. A name is given only above
a threshold that was calibrated on unseen icon sets; below it an icon has a kind and a position, but no name.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

EMBEDDING = 128


def _convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs, momentum=0.05), nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = _convolution(channels, channels), _convolution(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(x))


class Trunk(nn.Module):
    """`[icons, 3, 40, 40]` to `[icons, EMBEDDING]`."""

    def __init__(self, widths: tuple[int, int, int] = (32, 64, 96)) -> None:
        super().__init__()
        a, b, c = widths
        self.layers = nn.Sequential(
            _convolution(3, a),
            _convolution(a, a, 2),
            Residual(a),
            _convolution(a, b, 2),
            Residual(b),
            _convolution(b, c, 2),
            Residual(c),
            nn.Conv2d(c, EMBEDDING, 5),
            nn.Flatten(),
        )

    def forward(self, crops: Tensor) -> Tensor:
        return self.layers(crops)


class Names(nn.Module):
    """Logits of the meanings, with "other" last. Uses cosine similarity to a direction per meaning."""

    def __init__(self, meanings: int) -> None:
        super().__init__()
        self.trunk = Trunk()
        self.directions = nn.Parameter(torch.randn(meanings + 1, EMBEDDING) * 0.1)
        self.sharpness = nn.Parameter(torch.tensor(16.0))

    def forward(self, crops: Tensor) -> Tensor:
        embedding = functional.normalize(self.trunk(crops).float(), dim=1)
        return self.sharpness * embedding @ functional.normalize(self.directions, dim=1).T


class Calibrated(nn.Module):
    """Exported probabilities; `temperature` calibrates them."""

    def __init__(self, names: Names, temperature: float) -> None:
        super().__init__()
        self.names, self.temperature = names, temperature

    def forward(self, crops: Tensor) -> Tensor:
        return (self.names(crops) / self.temperature).softmax(1)
