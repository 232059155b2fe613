"""A page is no field.

What `parse/detect/pages.rs` does, with the same constants; why it does it is written there.
"""

import numpy

from . import classes
from .boxes import area, shared_area
from .found import Found

LEAST_SIDES = 400.0, 150.0
"""Pixels, the longer side and the shorter: what is smaller holds nothing but what belongs to it."""
INSIDE = 0.9
"""A control lies in a field, or in a dialog over it, if so much of it does."""
LEAST_CONTROLS = 2
HELD = ("button", "text_field", "checkbox", "radio", "switch", "drop_down", "slider", "spin_box")
"""What no field has in it. Links, rows and pictograms are in some."""


def without_pages(found: Found) -> Found:
    """Those that are left when fields that hold surer controls are not believed."""
    named = numpy.array(classes.NAMES)[found.kinds]
    large = (found.sides.max(1) >= LEAST_SIDES[0]) & (found.sides.min(1) >= LEAST_SIDES[1])
    fields = numpy.flatnonzero((named == "text_field") & large)
    held = numpy.flatnonzero(numpy.isin(named, HELD))
    if not len(fields) or len(held) < LEAST_CONTROLS:
        return found
    dialogs = numpy.flatnonzero(named == "dialog")
    held_in, dialogs_in = (_lie_in(found.boxes[some], found.boxes) for some in (held, dialogs))
    page = numpy.zeros(len(found.boxes), bool)
    for field in fields:
        over = dialogs[dialogs_in[:, field]]
        surer = held_in[:, field] & (found.scores[held] > found.scores[field])
        page[field] = (surer & ~held_in[:, over].any(1)).sum() >= LEAST_CONTROLS
    return found.only(~page)


def _lie_in(inner: numpy.ndarray, outer: numpy.ndarray) -> numpy.ndarray:
    """Of each in each: `[len(inner), len(outer)]`."""
    return shared_area(inner, outer) >= INSIDE * area(inner)[:, None]
