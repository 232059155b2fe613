"""Sides of large boxes lie on the edges of what they are around. What `parse/detect/edges.rs` does.

Where a box of a thousand pixels ends a network says to within some tens of them, and of one of two hundred to within
some. But fields, tables, panes and dialogs end at straight lines, which text in them does not have. So each side is moved to
the nearest place near it where the picture changes along nearly all of the side.

Of what is slender only the short sides are moved: a network sees to the pixel how thick it is, and lines of a table are
near. On 100 validation screens 703 boxes of 100 pixels and more came nearer to what they stand for and 97 went farther.
"""

import numpy

from .found import Found

LARGE = 150
"""So many pixels long or high is what is moved."""
THICK = 64
"""So long is a box at least between two sides that are moved."""
REACH, MOST_REACH = 0.2, 200
"""So far, as a share of the box and in pixels, is an edge looked for."""
CORNER = 0.15
"""Share of a side at each end that need not have the edge: corners are round, and other things begin."""
CHANGE = 14
"""So much of 255 is an edge, in one of the three colours."""
ALONG = 0.8
"""Share of a side that has it."""


def on_edges(pixels: numpy.ndarray, found: Found) -> Found:
    """`found` on `pixels`, RGB, with sides moved to edges."""
    boxes = found.boxes.copy()
    for index in numpy.flatnonzero(found.sides.max(1, initial=0) >= LARGE):
        for axis in (0, 1):
            if found.sides[index, axis] >= THICK:
                boxes[index, axis::2] = _ends(pixels if axis == 0 else pixels.transpose(1, 0, 2), found.boxes[index], axis)
    return Found(boxes, found.kinds, found.scores)


def _ends(pixels: numpy.ndarray, box: numpy.ndarray, axis: int) -> numpy.ndarray:
    """Where the box begins and ends along an axis, which goes along the second one of `pixels`."""
    length, side = box[axis + 2] - box[axis], box[3 - axis] - box[1 - axis]
    reach = min(MOST_REACH, REACH * length)
    first, last = int(box[1 - axis] + CORNER * side), int(box[3 - axis] - CORNER * side)
    across = pixels[first:last]
    return numpy.array([_nearest_edge(across, end, reach) for end in box[axis::2]])


def _nearest_edge(across: numpy.ndarray, end: float, reach: float) -> float:
    """The place nearest to `end` where `across` changes in nearly every line; `end` itself if there is none."""
    least, most = max(1, int(end - reach)), min(across.shape[1] - 1, int(end + reach))
    part = across[:, least - 1 : most + 1].astype(numpy.int16)
    if not part.size:
        return end
    changes = (abs(numpy.diff(part, axis=1)).max(2) > CHANGE).mean(0)
    places = least + numpy.flatnonzero(changes >= ALONG)
    # A picture ends at its edges.
    places = numpy.concatenate((places, [side for side in (0, across.shape[1]) if abs(side - end) <= reach]))
    return float(places[abs(places - end).argmin()]) if len(places) else end
