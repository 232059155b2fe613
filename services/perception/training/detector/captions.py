"""What fills the gap between two fields is the words of the second one.

What `parse/detect/captions.rs` does, with the same constants; why it does it is written there.
"""

import numpy

from . import classes
from .found import Found

FIELDS = [classes.INDEX[name] for name in ("text_field", "drop_down", "spin_box")]
TOUCHING = 4.0
"""Pixels between one and the next, or on each other, of what touches."""
APART = 0.05
"""Share of its width by which the left or the right ends of fields of one form lie beside each other."""


def without_captions(found: Found) -> Found:
    """Those that are left when text fields that fill the gap between two surer fields are not believed."""
    fields = numpy.flatnonzero(numpy.isin(found.kinds, FIELDS))
    left = numpy.ones(len(found.boxes), bool)
    for index in numpy.flatnonzero(found.kinds == classes.INDEX["text_field"]):
        left[index] = not _is_caption(found, index, fields)
    return found.only(left)


def _is_caption(found: Found, index: int, fields: numpy.ndarray) -> bool:
    box, others = found.boxes[index], fields[found.scores[fields] > found.scores[index]]
    as_wide = (abs(found.boxes[others][:, [0, 2]] - box[[0, 2]]) <= APART * (box[2] - box[0])).all(1)
    near = found.boxes[others[as_wide]]
    above, below = abs(near[:, 3] - box[1]) <= TOUCHING, abs(near[:, 1] - box[3]) <= TOUCHING
    return bool(above.any() and below.any())
