"""Aligns rows of lists and tables with their text, like `parse/detect/row_alignment.rs`.

Rows without separators look alike, so at a small scale the model places a row at the start of the next one about as
often as at its own. The text of a row is vertically centred. A wide row whose box contains at most one line of text is
therefore centred on the nearest line.

Boxes are only moved vertically, by less than half a row; rows with two lines of text stay.
"""

import numpy

from . import classes
from .boxes import overlaps
from .found import Found

KINDS = [classes.NAMES.index(name) for name in ("list_item", "table_row")]
WIDE = 400
THICKNESS = (10, 64)
"""Heights of rows that are aligned, in pixels."""
LEAST_SCORE = 0.15
SAME = 0.7
"""IoU from which a row is moved like a more confident one, without another measurement: it is the same row."""
INK = 30
"""Minimum difference from the background of a pixel line, of 255, that counts as text."""
LEAST_INK = 0.002
"""Minimum fraction of text pixels in a line of pixels. A border that crosses every line is subtracted."""
LEAST_HEIGHT = 5
"""Minimum height of a line of text in pixels; thinner marks are separators."""
MOST_GAP = 2
"""Maximum gap between an accent and its letter, in pixels."""
EVERY = 2
"""Sampling step along a line of pixels."""


def on_their_text(pixels: numpy.ndarray, found: Found) -> Found:
    """Aligns the rows among `found` on the RGB image `pixels` with their text."""
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
    """Vertical offset of the row's text in pixels."""
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
    """Vertical range of each line of text."""
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
