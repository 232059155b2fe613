"""Raises the scores of elements in a series, like `parse/detect/series_boost.rs`.

Keys, tabs, rows, tools and checkboxes come in rows and columns of similar elements: of equal height, aligned, and close
to each other. An element with a more confident neighbour of its kind in such a series gets twice its score, but at most
the score of the neighbour. Form fields are excluded: the space between two of them is as wide as they are and is a
caption. Boxes are neither moved nor added.

On validation screens, a threshold of 0.22 with it instead of 0.2 without it raises recall on drawn screens from 0.879
to 0.882 and lowers the false positive rate on applications from 0.080 to 0.069.
"""

import numpy

from . import classes
from .found import Found

FIELDS = [classes.INDEX[name] for name in ("text_field", "drop_down", "spin_box", "slider")]
TIMES = 2.0
"""Factor by which a score is raised."""
LEAST_SCORE = 0.05
"""Scores below this are not raised."""
APART = 0.08
"""Maximum difference in size and alignment of a neighbour, as a fraction of the sides."""
LEAST_APART = 2.0
"""Minimum tolerance in pixels, for small elements."""
REACH = 4.0
"""Maximum distance of the centres: in heights for a neighbour above or below, in longer sides for one beside."""


def believed(found: Found) -> Found:
    """Returns `found`, sorted by descending score, with raised scores."""
    scores = found.scores.copy()
    order = numpy.argsort(-found.scores, kind="stable")
    for place, index in enumerate(order):
        if found.scores[index] < LEAST_SCORE:
            break
        if found.kinds[index] in FIELDS:
            continue
        before = order[:place]
        surer = before[(found.kinds[before] == found.kinds[index]) & (found.scores[before] > found.scores[index])]
        neighbours = surer[_in_a_series(found.boxes[surer], found.boxes[index])]
        if len(neighbours):
            scores[index] = min(TIMES * found.scores[index], found.scores[neighbours[0]])
    by_score = numpy.argsort(-scores, kind="stable")
    return Found(found.boxes[by_score], found.kinds[by_score], scores[by_score])


def _in_a_series(boxes: numpy.ndarray, one: numpy.ndarray) -> numpy.ndarray:
    """Returns which of `boxes` are in a row or a column with `one`."""
    width, height = one[2:] - one[:2]
    across, down = max(LEAST_APART, APART * width), max(LEAST_APART, APART * height)
    off = abs(boxes - one)
    away = abs(boxes[:, :2] + boxes[:, 2:] - one[:2] - one[2:]) / 2
    as_high = abs(boxes[:, 3] - boxes[:, 1] - height) <= down
    column = (off[:, 0] <= across) & (off[:, 2] <= across) & as_high & (away[:, 1] <= REACH * height)
    row = (off[:, 1] <= down) & (off[:, 3] <= down) & (away[:, 0] <= REACH * max(width, height))
    return column | row
