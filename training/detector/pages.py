"""Removes pages that were detected as text fields.

Same algorithm and constants as `parse/detect/page_filter.rs`, where the reasons are documented.
"""

import numpy

from . import classes
from .boxes import area, shared_area
from .found import Found

LEAST_SIDES = 400.0, 150.0
"""Minimum longer and shorter side in pixels. Smaller fields contain only their own parts."""
INSIDE = 0.9
"""Minimum fraction of a control that must be inside a field, or inside a dialog above it."""
LEAST_CONTROLS = 2
HELD = ("button", "text_field", "checkbox", "radio", "switch", "drop_down", "slider", "spin_box")
"""Kinds that never occur inside a text field. Links, rows and icons may."""


def without_pages(found: Found) -> Found:
    """Drops fields that contain more confident controls."""
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
    """Containment of each in each: `[len(inner), len(outer)]`."""
    return shared_area(inner, outer) >= INSIDE * area(inner)[:, None]
