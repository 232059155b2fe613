"""Rows of lists and tables lie where their text is. What `parse/detect/rows.rs` does.

Rows of a list without lines between them look alike, so a network that sees one from afar has it where the next one
begins about as often as where it is. But the text of a row lies in its middle. So a wide row whose box holds no more
than one line of text is laid with its middle on the nearest one.

It moves boxes up and down only, and by less than half a row; what has two lines of text stays.
"""

import numpy

from . import classes
from .boxes import overlaps
from .found import Found

KINDS = [classes.NAMES.index(name) for name in ("list_item", "table_row")]
WIDE = 400
THICKNESS = (10, 64)
"""Rows as high as that."""
LEAST_SCORE = 0.15
SAME = 0.7
"""A row that shares so much (IoU) with a surer one is moved as that one is, without a look: it is the same row."""
INK = 30
"""So much of 255 brighter or darker than what most of its line of pixels has is text."""
LEAST_INK = 0.002
"""Share of a line of pixels from which on it has text. What every line has, a border that a box reaches over, is none."""
LEAST_HEIGHT = 5
"""Pixels: what is thinner is a line between rows."""
MOST_GAP = 2
"""Pixels between an accent and its letter."""
EVERY = 2
"""Every so manieth pixel of a line is looked at."""


def on_their_text(pixels: numpy.ndarray, found: Found) -> Found:
    """`found` on `pixels`, RGB, with rows moved to where their text is."""
    boxes = found.boxes.copy()
    sides = found.sides
    height = sides[:, 1]
    are_rows = numpy.isin(found.kinds, KINDS) & (sides[:, 0] >= WIDE) & (height >= THICKNESS[0]) & (height < THICKNESS[1])
    rows = numpy.flatnonzero(are_rows & (found.scores >= LEAST_SCORE))
    left = rows[numpy.argsort(-found.scores[rows], kind="stable")]
    while len(left):
        first = found.boxes[left[0]]
        is_same = overlaps(first[None], found.boxes[left])[0] >= SAME
        boxes[left[is_same], 1::2] += offset(pixels, first)
        left = left[~is_same]
    return Found(boxes, found.kinds, found.scores)


def offset(pixels: numpy.ndarray, box: numpy.ndarray) -> float:
    """Pixels down to where the row's text is."""
    left, top, right, bottom = (int(side + 0.5) for side in box.clip(0))
    half = (bottom - top) // 2
    above, below = max(0, top - half), min(pixels.shape[0], bottom + half)
    lines = lines_of_text(pixels[above:below, left:right:EVERY])
    lines = [(above + begin, above + end) for begin, end in lines]
    inside = [line for line in lines if top <= line[0] and line[1] <= bottom]
    if not lines or len(inside) > 1:
        return 0.0
    middle = (box[1] + box[3]) / 2
    begin, end = min(lines, key=lambda line: abs((line[0] + line[1]) / 2 - middle))
    down = (begin + end) / 2 - middle
    is_cut = begin <= above or end >= below
    return 0.0 if is_cut or end - begin >= bottom - top or abs(down) > half else down


def lines_of_text(part: numpy.ndarray) -> list[tuple[int, int]]:
    """From which to before which line of pixels each goes."""
    if not part.size:
        return []
    paper = numpy.median(part, axis=1, keepdims=True)
    inked = (abs(part - paper).max(2) > INK).mean(1)
    ink = inked - inked.min() > LEAST_INK
    steps = numpy.diff(numpy.concatenate(([0], ink.astype(int), [0])))
    lines: list[tuple[int, int]] = []
    for begin, end in zip(numpy.flatnonzero(steps > 0), numpy.flatnonzero(steps < 0)):
        if lines and begin - lines[-1][1] <= MOST_GAP:
            lines[-1] = lines[-1][0], int(end)
        else:
            lines.append((int(begin), int(end)))
    return [line for line in lines if line[1] - line[0] >= LEAST_HEIGHT]
