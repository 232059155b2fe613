"""Synthesises icon boxes as they appear on a screen: colours, frames, sizes, neighbouring content."""

import cv2
import numpy

from .sets import SIDE

CROP = 40
"""Side of a patch in pixels."""

MARGIN = 0.1
"""Margin around the box, as a fraction of its longer side."""

MIN_SIDE, MAX_SIDE = 14, 80
"""Side of the shown area on the screen, in pixels."""


def shown(pixels: numpy.ndarray, box: numpy.ndarray) -> numpy.ndarray:
    """Cuts the patch for a box: square, with a margin; the screen's edge is repeated."""
    middle, side = (box[:2] + box[2:]) / 2, float((box[2:] - box[:2]).max()) * (1 + 2 * MARGIN)
    side = max(4, round(side))
    left, top = (int(value) for value in numpy.floor(middle - side / 2))
    before = [max(0, -top), max(0, -left)]
    after = [max(0, top + side - pixels.shape[0]), max(0, left + side - pixels.shape[1])]
    part = pixels[max(0, top) : top + side, max(0, left) : left + side]
    part = cv2.copyMakeBorder(part, before[0], after[0], before[1], after[1], cv2.BORDER_REPLICATE)
    return resized(part)


def resized(part: numpy.ndarray) -> numpy.ndarray:
    way = cv2.INTER_AREA if part.shape[0] > CROP else cv2.INTER_LINEAR
    return cv2.resize(part, (CROP, CROP), interpolation=way)


def drawn(random: numpy.random.Generator, pictogram: numpy.ndarray) -> numpy.ndarray:
    """Draws an RGBA icon at a random place on a synthetic screen."""
    side = int(MIN_SIDE * (MAX_SIDE / MIN_SIDE) ** random.random())
    ground = _ground(random)
    canvas = numpy.empty((side, side, 3), numpy.uint8)
    canvas[:] = ground
    share = random.uniform(0.72, 1.0)
    if random.random() < 0.4:
        ground = _framed(random, canvas, ground)
        share = random.uniform(0.4, 0.8)
    size = max(6, round(side * share))
    slack = side - size
    left, top = (int(numpy.clip(slack / 2 + random.normal(0, 0.04 * side), 0, slack)) for _ in range(2))
    _laid(canvas[top : top + size, left : left + size], _coloured(random, pictogram, ground), size)
    if random.random() < 0.06:
        at = (int(side * random.uniform(0.65, 0.9)), int(side * random.uniform(0.1, 0.4)))
        cv2.circle(canvas, at, max(2, side // 7), _bright(random), -1, cv2.LINE_AA)
    if random.random() < 0.15:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(40, 95))]
        canvas = cv2.imdecode(cv2.imencode(".jpg", canvas, quality)[1], cv2.IMREAD_COLOR)
    return resized(canvas)


def _ground(random: numpy.random.Generator) -> numpy.ndarray:
    chance = random.random()
    if chance < 0.45:
        return numpy.clip(random.integers(225, 256) + random.integers(-6, 7, 3), 0, 255)
    if chance < 0.75:
        return numpy.clip(random.integers(15, 70) + random.integers(-8, 9, 3), 0, 255)
    return random.integers(0, 256, 3)


def _bright(random: numpy.random.Generator) -> tuple[int, int, int]:
    return tuple(int(value) for value in random.permutation([random.integers(180, 256), random.integers(0, 120), random.integers(0, 120)]))


def _framed(random: numpy.random.Generator, canvas: numpy.ndarray, ground: numpy.ndarray) -> numpy.ndarray:
    """Draws a button frame or face, and returns the background of the icon."""
    side = len(canvas)
    face = _ground(random) if random.random() < 0.6 else ground
    inset = round(side * random.uniform(0.02, 0.1))
    width = -1 if random.random() < 0.6 else 1
    colour = tuple(int(value) for value in (face if width < 0 else _against(random, ground, 30)))
    if random.random() < 0.4:
        cv2.circle(canvas, (side // 2, side // 2), max(3, side // 2 - inset), colour, width, cv2.LINE_AA)
    else:
        cv2.rectangle(canvas, (inset, inset), (side - 1 - inset, side - 1 - inset), colour, width)
    return face if width < 0 else ground


def _against(random: numpy.random.Generator, ground: numpy.ndarray, min_difference: float) -> numpy.ndarray:
    """Chooses a colour that contrasts with the background."""
    for _ in range(20):
        colour = random.integers(0, 256, 3) if random.random() < 0.35 else numpy.repeat(random.integers(0, 256), 3)
        if abs(float(colour.mean() - ground.mean())) >= min_difference:
            return colour
    return numpy.full(3, 0 if ground.mean() > 127 else 255)


def _coloured(random: numpy.random.Generator, pictogram: numpy.ndarray, ground: numpy.ndarray) -> numpy.ndarray:
    """Recolours monochrome icons with a visible colour, sometimes faint like a disabled one; coloured icons stay."""
    solid = pictogram[pictogram[..., 3] > 128][:, :3]
    if len(solid) and solid.max(0).astype(int).max() - solid.min(0).min() > 40:
        return pictogram
    result = pictogram.copy()
    result[..., :3] = _against(random, ground, 30 if random.random() < 0.12 else 70)
    return result


def _laid(part: numpy.ndarray, pictogram: numpy.ndarray, size: int) -> None:
    """Blends the icon over `part`, in place. Colours are premultiplied before scaling, so that no dark rim appears."""
    alpha = pictogram[..., 3:].astype(numpy.float32) / 255
    weighted = numpy.concatenate((pictogram[..., :3] * alpha, alpha), 2)
    if size != SIDE:
        weighted = cv2.resize(weighted, (size, size), interpolation=cv2.INTER_AREA if size < SIDE else cv2.INTER_LINEAR)
    part[:] = (part * (1 - weighted[..., 3:]) + weighted[..., :3]).round()
