"""Cuts training samples from screens: position, scale and colour augmentation.

Screens are not mirrored: text has a direction, and a close button is not where a menu is.
"""

from dataclasses import dataclass

import cv2
import numpy

MIN_VISIBLE = 0.35
"""Minimum visible fraction of an element, as in screen generation."""

SHORTEST_SIDE = 3.0
"""Minimum side of an element in sample pixels: a checkbox at half size still counts, as does the thumb of a thin scroll
bar; thinner elements cannot be distinguished."""

PADDING_VALUE = 114
"""Grey padding of images smaller than the sample, and of images that do not end on the grid."""

UNSCALED_SHARE = 0.4
"""Fraction of samples at full size, the scale at which most screens are processed."""

MIN_SCALE, MAX_SCALE = 0.5, 2.0

FROM_AFAR = 0.2
"""Fraction of samples that show a whole screen or almost all of it, as the smaller scales do (inference.py)."""

FARTHEST = 0.3
NEARER = 1.6
"""Range of scales of such samples, relative to the scale at which the screen just fits."""


@dataclass(frozen=True)
class Sample:
    pixels: numpy.ndarray
    boxes: numpy.ndarray
    elements: numpy.ndarray
    """Indices of the elements of the screen."""


@dataclass(frozen=True)
class RegionMapping:
    """Mapping of an image region to a sample. All values are whole pixels, so boxes are exact."""

    left: int
    top: int
    width: int
    height: int
    at: tuple[int, int]
    """x and y in the sample."""
    to: tuple[int, int]
    """Width and height in the sample."""


def cut(pixels: numpy.ndarray, boxes: numpy.ndarray, visible: numpy.ndarray, place: RegionMapping, size: tuple[int, int], interpolation: int) -> Sample:
    """Cuts a sample. `size` is its height and width, `interpolation` the OpenCV interpolation."""
    part = pixels[place.top : place.top + place.height, place.left : place.left + place.width]
    if (place.width, place.height) != place.to:
        part = cv2.resize(part, place.to, interpolation=interpolation)
    if place.to != (size[1], size[0]):
        whole = numpy.full((*size, 3), PADDING_VALUE, numpy.uint8)
        x, y = place.at
        whole[y : y + place.to[1], x : x + place.to[0]] = part
        part = whole
    boxes, elements = moved(boxes, visible, place)
    return Sample(part, boxes, elements)


def moved(boxes: numpy.ndarray, visible: numpy.ndarray, place: RegionMapping) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Maps boxes to the sample and clips them; drops elements of which too little is visible."""
    scale = numpy.array([place.to[0] / place.width, place.to[1] / place.height] * 2, numpy.float32)
    whole = (boxes - numpy.array([place.left, place.top] * 2, numpy.float32)) * scale
    limit = numpy.array(place.to * 2, numpy.float32)
    inside = whole.clip(0, limit)
    sides, all_sides = inside[:, 2:] - inside[:, :2], whole[:, 2:] - whole[:, :2]
    share = visible * sides.prod(1) / all_sides.prod(1).clip(1e-6)
    # Uncut elements were already filtered when they were drawn, before their visible fraction was rounded.
    uncut = (inside == whole).all(1)
    elements = numpy.flatnonzero((uncut | (share >= MIN_VISIBLE)) & (sides.min(1) >= SHORTEST_SIDE))
    return inside[elements] + numpy.array(place.at * 2, numpy.float32), elements


def random_place(
    random: numpy.random.Generator, screen: tuple[int, int], size: tuple[int, int], towards: numpy.ndarray | None
) -> RegionMapping:
    """Chooses a random placement that contains the centre of the box `towards`, if given. Sizes are height and width."""
    scale = _scale(random, screen, size)
    left, width, x, to_width = _along(random, screen[1], size[1], scale, towards[[0, 2]] if towards is not None else None)
    top, height, y, to_height = _along(random, screen[0], size[0], scale, towards[[1, 3]] if towards is not None else None)
    # Half of the small images are placed in the corner, as in inference.
    if random.random() < 0.5:
        x = y = 0
    return RegionMapping(left, top, width, height, (x, y), (to_width, to_height))


def _scale(random: numpy.random.Generator, screen: tuple[int, int], size: tuple[int, int]) -> float:
    if random.random() < FROM_AFAR:
        fits = min(size[0] / screen[0], size[1] / screen[1])
        return min(1.0, max(FARTHEST, fits * random.uniform(1, NEARER)))
    return 1.0 if random.random() < UNSCALED_SHARE else MIN_SCALE * (MAX_SCALE / MIN_SCALE) ** random.random()


def _along(random: numpy.random.Generator, screen: int, size: int, scale: float, towards: numpy.ndarray | None) -> tuple[int, int, int, int]:
    """Placement along one axis: start and length in the image, start and length in the sample."""
    length = max(1, round(size / scale))
    if length >= screen:
        there = min(size, max(1, round(screen * scale)))
        return 0, screen, int(random.integers(0, size - there + 1)), there
    min_start, max_start = 0, screen - length
    if towards is not None:
        middle = int(towards.mean())
        min_start, max_start = max(min_start, min(max_start, middle - length + 1)), min(max_start, max(0, middle))
    return int(random.integers(min_start, max_start + 1)), length, 0, size


def interpolation_of(random: numpy.random.Generator, place: RegionMapping) -> int:
    """Interpolation: area averaging for downscaling, a random method for upscaling."""
    if place.to[0] < place.width:
        return cv2.INTER_AREA
    return int(random.choice([cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_NEAREST]))


def recoloured(random: numpy.random.Generator, pixels: numpy.ndarray) -> numpy.ndarray:
    """Changes colours and adds compression noise. Half of the samples stay unchanged."""
    if random.random() < 0.5:
        return pixels
    if random.random() < 0.15:
        pixels = 255 - pixels
    if random.random() < 0.5:
        pixels = cv2.transform(pixels, _colours(random))
    if random.random() < 0.5:
        pixels = cv2.LUT(pixels, _tones(random))
    if random.random() < 0.1:
        noise = random.integers(-8, 9, (*pixels.shape[:2], 1), numpy.int16)
        pixels = (pixels + noise).clip(0, 255).astype(numpy.uint8)
    if random.random() < 0.3:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(35, 96))]
        pixels = cv2.imdecode(cv2.imencode(".jpg", pixels, quality)[1], cv2.IMREAD_COLOR)
    return pixels


def _colours(random: numpy.random.Generator) -> numpy.ndarray:
    """Rotates hues around the grey axis and changes saturation."""
    angle, strength = random.uniform(-numpy.pi, numpy.pi), random.uniform(0.3, 1.4)
    third, root = 1 / 3, numpy.sqrt(1 / 3)
    cosine, sine = numpy.cos(angle), numpy.sin(angle)
    turn = numpy.full((3, 3), third * (1 - cosine)) + cosine * numpy.eye(3)
    turn += root * sine * numpy.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    return strength * turn + (1 - strength) * numpy.full((3, 3), third)


def _tones(random: numpy.random.Generator) -> numpy.ndarray:
    """Changes brightness, contrast and gamma."""
    values = (numpy.arange(256) / 255) ** random.uniform(0.7, 1.4)
    values = (values - 0.5) * random.uniform(0.7, 1.15) + 0.5 + random.uniform(-0.12, 0.12)
    return (values.clip(0, 1) * 255).round().astype(numpy.uint8)
