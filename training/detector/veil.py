"""Detects controls that the backdrop of a modal dialog blocks.

Same algorithm and constants as `parse/backdrop.rs`, where the reasons are documented. Evaluation also has boxes with
lower scores: those below the product's threshold give no evidence, and are removed with the others.
"""

import cv2
import numpy

from . import classes

TOLD = 0.22
"""Confidence threshold of the product. A dialog below it has no backdrop."""
CONTRAST = 140
THROUGH = 0.68, 0.4
"""Maximum fraction of the dialog's brightness behind a dark backdrop and, on the inverted image, behind a light one."""
TILE = 16
SURROUNDINGS = 40
RIM = 6
MOST_BRIGHT = 0.3
POINTER = 2
SOMETHING = 24
LEAST_SEEN = 24
MOST_SEEN_BRIGHT = 0.12
LEAST_CONTROLS = 4
MOSTLY = 0.66

Tiles = tuple[int, int, int, int]
"""Left, top, right and bottom in tiles, the last two exclusive."""


def veiled(pixels: numpy.ndarray, boxes: numpy.ndarray, kinds: numpy.ndarray, scores: numpy.ndarray) -> numpy.ndarray:
    """Returns which boxes on the RGB image `pixels` are blocked; `boxes` are `[elements, 4]` in pixels."""
    behind = numpy.zeros(len(boxes), bool)
    dialogs = boxes[(kinds == classes.NAMES.index("dialog")) & (scores >= TOLD)]
    if not len(dialogs):
        return behind
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    # In the inverted image a light backdrop is a dark one.
    for picture, through in zip((grey, 255 - grey), THROUGH):
        extremes = _extremes(picture)
        for dialog in dialogs:
            behind |= _behind(picture, extremes, numpy.rint(dialog).astype(int), through, boxes, scores >= TOLD)
    return behind


def _behind(
    picture: numpy.ndarray,
    extremes: tuple[numpy.ndarray, numpy.ndarray],
    dialog: numpy.ndarray,
    through: float,
    boxes: numpy.ndarray,
    told: numpy.ndarray,
) -> numpy.ndarray:
    none = numpy.zeros(len(boxes), bool)
    inside = dialog + numpy.array((RIM, RIM, -RIM, -RIM))
    darkest, brightest = at_share(picture, inside, 0.005), at_share(picture, inside, 0.995)
    if brightest - darkest < CONTRAST:
        return none
    limit = int(through * brightest)
    hole = _tiles_under(dialog + numpy.array((-1, -1, 1, 1)) * SURROUNDINGS, extremes[0].shape)
    veil = _grown(extremes[1] > limit, hole)
    if not _is_dim_around(extremes, hole, veil, limit):
        return none
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    around = _contains(numpy.array(veil) * TILE, middles) & ~_contains(dialog, middles)
    dim = around.copy()
    for index in numpy.flatnonzero(around):
        dim[index] = at_share(picture, numpy.rint(boxes[index]).astype(int), 0.98) <= limit
    seen = (dim & told).sum()
    return dim if seen >= LEAST_CONTROLS and seen >= MOSTLY * (around & told).sum() else none


def at_share(picture: numpy.ndarray, part: numpy.ndarray, share: float) -> int:
    """Brightness quantile `share` of a region; 0 if the region is outside the image."""
    left, top, right, bottom = part.clip(0)
    pixels = picture[top:bottom, left:right]
    if not pixels.size:
        return 0
    counts = numpy.bincount(pixels.ravel(), minlength=256).cumsum()
    return int(numpy.searchsorted(counts, share * pixels.size))


def _extremes(picture: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Minimum and maximum brightness of each tile."""
    height, width = picture.shape
    whole = numpy.pad(picture, ((0, -height % TILE), (0, -width % TILE)), "edge")
    tiles = whole.reshape(whole.shape[0] // TILE, TILE, whole.shape[1] // TILE, TILE)
    return tiles.min((1, 3)).astype(int), tiles.max((1, 3)).astype(int)


def _tiles_under(part: numpy.ndarray, shape: tuple[int, int]) -> Tiles:
    left, top, right, bottom = part
    return max(0, left // TILE), max(0, top // TILE), min(shape[1], -(-right // TILE)), min(shape[0], -(-bottom // TILE))


def _grown(bright: numpy.ndarray, hole: Tiles) -> Tiles:
    """Grows `hole` to the largest rectangle in which almost nothing is bright."""
    veil, before = hole, None
    while veil != before:
        before = veil
        for side in range(4):
            wider, strip = _beside(veil, side, bright)
            if strip.size and strip.sum() <= max(POINTER, MOST_BRIGHT * strip.size):
                veil = wider
    return veil


def _beside(veil: Tiles, side: int, bright: numpy.ndarray) -> tuple[Tiles, numpy.ndarray]:
    """Extends the rectangle by the tiles on one side and returns both; nothing is added beyond the image."""
    left, top, right, bottom = veil
    wider = (left - 1, top, right, bottom), (left, top - 1, right, bottom), (left, top, right + 1, bottom), (left, top, right, bottom + 1)
    rows, columns = slice(top, bottom), slice(left, right)
    # A negative index would wrap around to the last tiles.
    part = (rows, slice(max(0, left - 1), left)), (slice(max(0, top - 1), top), columns), (rows, slice(right, right + 1)), (slice(bottom, bottom + 1), columns)
    return wider[side], bright[part[side]]


def _is_dim_around(extremes: tuple[numpy.ndarray, numpy.ndarray], hole: Tiles, veil: Tiles, limit: int) -> bool:
    """Returns whether the backdrop has enough content and almost none of it is bright."""
    darkest, brightest = extremes
    seen = numpy.zeros(darkest.shape, bool)
    seen[veil[1] : veil[3], veil[0] : veil[2]] = True
    seen[hole[1] : hole[3], hole[0] : hole[2]] = False
    seen &= brightest - darkest >= SOMETHING
    return seen.sum() >= LEAST_SEEN and (seen & (brightest > limit)).sum() <= MOST_SEEN_BRIGHT * seen.sum()


def _contains(part: numpy.ndarray, points: numpy.ndarray) -> numpy.ndarray:
    return (points >= part[:2]).all(1) & (points < part[2:]).all(1)
