"""Removes captions that were detected as text fields.

Same algorithm and constants as `parse/detect/caption_filter.rs`, where the reasons are documented.
"""

import numpy

from . import classes
from .found import Found

FIELDS = [classes.INDEX[name] for name in ("text_field", "drop_down", "spin_box")]
TOUCHING = 4.0
"""Maximum gap or overlap of touching boxes, in pixels."""
APART = 0.05
"""Maximum misalignment of the left and right edges of fields in one form, as a fraction of the width."""


def without_captions(found: Found) -> Found:
    """Drops text fields that fill the gap between two fields with higher scores."""
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
