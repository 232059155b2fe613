"""Model: plain convolutions, three strides, no anchors.

Design decisions:
- Screens are looked at in their own pixels, because a checkbox has 13 of them and a frame is one wide. So cost per pixel
  is what counts: one convolution goes down to a quarter, and real work begins at an eighth. Parameters sit where pixels
  are few. The usual two thin convolutions in place of the first took half of an int8 frame's time, and have the largest
  activations in training; 48 channels keep what is in 4x4 pixels. The input is quantised in steps of 1/255, so that
  first convolution loses nothing in int8 either.
- Plain 3x3 convolutions with ReLU: on a processor they train faster than depthwise ones of a third of the work, and
  int8 fuses the ReLU (a smooth activation would stay in float).
- No stride below 8: the smallest control is more than one cell of it, and a head at 4 would cost as much as all the rest.
- A box is four distances from the middle of a cell, each `stride * (exp(t) - 1/2)`: without an upper bound, because a
  table row is 1,900 pixels wide (a distribution over 16 bins ends at 15 strides), and down to half a cell *beyond* the
  middle, so that the nearest cell can say the box of something smaller than a cell. One number a side also keeps the
  head small.
- Dilated convolutions at the coarsest stride, because the ends of such a row lie far from its middle. Everything still
  lies on a grid of 32 pixels, so a part of an image on that grid gives what the whole image gives.
"""

import math

import torch
from torch import Tensor, nn

STRIDES = (8, 16, 32)

MAX_LOGARITHM = 5.5
"""exp of it is 245 cells: 1,960 pixels at stride 8, enough for a table row across a screen."""

PRIOR = 0.01
"""Initial fraction of positive cells."""


def convolution(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, bias=False),
        norm(outputs),
        nn.ReLU(inplace=True),
    )


def norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, momentum=0.03, eps=1e-3)


class Residual(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.first = convolution(channels, channels)
        self.second = convolution(channels, channels, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(x))


class Stage(nn.Module):
    """Half of the channels bypass the residual blocks; all are mixed at the end."""

    def __init__(self, inputs: int, outputs: int, blocks: int = 1, dilation: int = 1) -> None:
        super().__init__()
        half = outputs // 2
        self.past = convolution(inputs, half, 1)
        self.through = convolution(inputs, half, 1)
        self.blocks = nn.Sequential(*(Residual(half, dilation) for _ in range(blocks)))
        self.mix = convolution(2 * half, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(torch.cat((self.past(x), self.blocks(self.through(x))), 1))


class Pyramid(nn.Module):
    """Context as maxima over increasing neighbourhoods."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.narrow = convolution(channels, half, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.mix = convolution(4 * half, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        steps = [self.narrow(x)]
        for _ in range(3):
            steps.append(self.pool(steps[-1]))
        return self.mix(torch.cat(steps, 1))


class DetectionHead(nn.Module):
    """Class scores and distances of one stride, with separate last layers."""

    def __init__(self, inputs: int, width: int, classes: int) -> None:
        super().__init__()
        self.shared = convolution(inputs, width)
        self.classes = nn.Sequential(convolution(width, width), nn.Conv2d(width, classes, 1))
        self.distances = nn.Sequential(convolution(width, width), nn.Conv2d(width, 4, 1))
        nn.init.constant_(self.classes[-1].bias, -math.log(1 / PRIOR - 1))
        nn.init.normal_(self.classes[-1].weight, std=0.01)
        nn.init.normal_(self.distances[-1].weight, std=0.01)
        # Initially a box extends two cells to each side.
        nn.init.constant_(self.distances[-1].bias, math.log(2.5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.shared(x)
        return self.classes(x), self.distances(x)


class Network(nn.Module):
    """Detector for images `[batch, 3, height, width]`, RGB from 0 to 1, with sides that are multiples of 32."""

    def __init__(self, classes: int, widths: tuple[int, ...] = (48, 64, 128, 192), head: int = 48) -> None:
        super().__init__()
        self.settings = {"classes": classes, "widths": list(widths), "head": head}
        b, c, d, e = widths
        # 6x6 with a padding of 1: neighbouring cells see each other's borders.
        self.down4 = nn.Sequential(nn.Conv2d(3, b, 6, 4, 1, bias=False), norm(b), nn.ReLU(inplace=True))
        self.down8 = nn.Sequential(convolution(b, c, stride=2), Stage(c, c, blocks=2))
        self.down16 = nn.Sequential(convolution(c, d, stride=2), Stage(d, d, blocks=2))
        self.down32 = nn.Sequential(convolution(d, e, stride=2), Stage(e, e, dilation=2), Pyramid(e), Stage(e, e, dilation=4))
        self.larger = nn.Upsample(scale_factor=2, mode="nearest")
        # Channels are reduced before upsampling: the result is the same and cheaper.
        self.narrow32, self.narrow16 = convolution(e, d // 2, 1), convolution(d // 2, c // 2, 1)
        self.up16, self.up8 = Stage(d + d // 2, d // 2), Stage(c + c // 2, c)
        self.again16, self.again32 = convolution(c, d // 2, stride=2), convolution(d, d, stride=2)
        self.out16, self.out32 = Stage(d, d), Stage(d + d // 2, d)
        self.heads = nn.ModuleList((DetectionHead(c, head, classes), DetectionHead(d, head, classes), DetectionHead(d, head, classes)))

    def features(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        eighth = self.down8(self.down4(images))
        sixteenth = self.down16(eighth)
        coarse = self.narrow32(self.down32(sixteenth))
        middle = self.up16(torch.cat((sixteenth, self.larger(coarse)), 1))
        fine = self.up8(torch.cat((eighth, self.larger(self.narrow16(middle))), 1))
        middle = self.out16(torch.cat((self.again16(fine), middle), 1))
        coarse = self.out32(torch.cat((self.again32(middle), coarse), 1))
        return fine, middle, coarse

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits `[batch, cells, classes]` and boxes `[batch, cells, 4]` as x1, y1, x2, y2 in pixels."""
        logits, boxes = [], []
        for feature, head, stride in zip(self.features(images), self.heads, STRIDES):
            scores, distances = head(feature)
            logits.append(scores.flatten(2).transpose(1, 2).float())
            middles = middles_of(feature.shape[2], feature.shape[3], stride, feature.device)
            boxes.append(boxes_of(distances.flatten(2).transpose(1, 2).float(), middles, stride))
        return torch.cat(logits, 1), torch.cat(boxes, 1)


class Exported(nn.Module):
    """Model in the usual layout: `[batch, 4 + classes, cells]`, xywh in pixels and scores from 0 to 1."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        logits, boxes = self.network(images)
        upper, lower = boxes[..., :2], boxes[..., 2:]
        return torch.cat(((upper + lower) / 2, lower - upper, logits.sigmoid()), 2).transpose(1, 2)


def middles_of(rows: int, columns: int, stride: int, device: torch.device | None = None) -> Tensor:
    """Centres of the cells, row by row: `[rows * columns, 2]`."""
    y = (torch.arange(rows, device=device) + 0.5) * stride
    x = (torch.arange(columns, device=device) + 0.5) * stride
    y, x = torch.meshgrid(y, x, indexing="ij")
    return torch.stack((x.flatten(), y.flatten()), 1)


def boxes_of(logarithms: Tensor, middles: Tensor, stride: int) -> Tensor:
    """Converts the outputs of the last layer to x1, y1, x2, y2."""
    distances = (logarithms.clamp(max=MAX_LOGARITHM).exp() - 0.5) * stride
    return torch.cat((middles - distances[..., :2], middles + distances[..., 2:]), -1)


def logarithms_of(boxes: Tensor, middles: Tensor, stride: int) -> Tensor:
    """Inverse; a side more than half a cell beyond the centre cannot be represented."""
    distances = torch.cat((middles - boxes[..., :2], boxes[..., 2:] - middles), -1)
    return (distances / stride + 0.5).log()
