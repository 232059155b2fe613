"""Merges the detections of several scales of one image, like `parse/detect/multiscale.rs`.

The receptive field of the model is a few hundred pixels, and training samples are no larger. Large elements are
therefore taken from a copy at half size, and still larger ones from a copy at a quarter.

In such a copy a table row is about ten pixels high, and its box is off by as much. At full size the model sees the row
and its vertical position, but not its ends. For thin elements the long sides come from the smaller copy, the short
sides from the full-size pass, and the score is the higher of both. On 150 test screens, recall of elements at least 400
pixels wide and less than 64 high is 0.761 this way and 0.670 with the smaller copy alone.
"""

from dataclasses import dataclass

import numpy

from .found import Found, together

FROM_AFAR = (0.5, 0.25)
"""Scales of the additional passes, relative to the first. The second pass costs a fourth of the first, the third a
sixteenth."""
LARGE = 400
"""Length, in input pixels, from which an element is large. The fractions below refer to it."""
HUGE, HUGE_ACROSS = 2.0, 0.375
"""Minimum long and short side of elements taken from the smallest scale: panes, text that fills a screen."""
SLENDER = 0.16
"""Maximum thickness of a thin element."""
SEEN = 0.25
"""Minimum length of a full-size box that refines a thin element."""
LEAST_SCORE = 0.1
"""Minimum score of a box in either pass to influence the other."""
BESIDE = 0.5
"""Maximum offset across the axis between both passes, in thicknesses."""
AS_THICK = 1.6
"""Maximum ratio of the thicknesses in both passes."""
SAME = 0.6
"""Minimum overlap across the axis of full-size boxes of the same element."""


@dataclass(frozen=True)
class Slender:
    """Boxes along one axis: 0 for wide ones, 1 for high ones."""

    found: Found
    axis: int

    @property
    def length(self) -> numpy.ndarray:
        return self.found.sides[:, self.axis]

    @property
    def thickness(self) -> numpy.ndarray:
        return self.found.sides[:, 1 - self.axis]

    @property
    def across(self) -> numpy.ndarray:
        """Range across the axis: `[boxes, 2]`."""
        return self.found.boxes[:, 1 - self.axis :: 2]

    def are(self, least_length: float, most_thickness: float) -> numpy.ndarray:
        return (self.length >= least_length) & (self.thickness < most_thickness) & (self.found.scores >= LEAST_SCORE)

    def only(self, which: numpy.ndarray) -> "Slender":
        return Slender(self.found.only(which), self.axis)


def merged(near: Found, afar: list[Found], large: float) -> Found:
    """Merges the full-size pass `near` with the passes `afar` at the smaller scales; `large` is in image pixels."""
    half, quarter = afar
    half = half.only(is_large(half, large) & ~is_huge(half, large))
    quarter = quarter.only(is_huge(quarter, large))
    return together(near.only(~is_large(near, large)), placed(half, near, large), quarter)


def is_large(found: Found, large: float) -> numpy.ndarray:
    return found.sides.max(1, initial=0) >= large


def is_huge(found: Found, large: float) -> numpy.ndarray:
    sides = found.sides
    return (sides.max(1, initial=0) >= HUGE * large) & (sides.min(1, initial=numpy.inf) >= HUGE_ACROSS * large)


def placed(afar: Found, near: Found, large: float) -> Found:
    """Refines the thin boxes of `afar` with their positions in `near`."""
    boxes, scores = afar.boxes.copy(), afar.scores.copy()
    for axis in (0, 1):
        distant, close = Slender(afar, axis), Slender(near, axis)
        close = close.only(close.are(SEEN * large, AS_THICK * SLENDER * large))
        for index in numpy.flatnonzero(distant.are(large, SLENDER * large)):
            seen = _seen_by(close, distant.only(numpy.array([index])))
            if seen is None:
                continue
            boxes[index, 1 - axis :: 2] = numpy.average(seen.across, axis=0, weights=seen.found.scores)
            scores[index] = max(scores[index], seen.found.scores.max())
    return Found(boxes, afar.kinds, scores)


def _seen_by(close: Slender, one: Slender) -> Slender | None:
    """Full-size boxes of the element `one`, a single box; `None` if there are none."""
    axis = one.axis
    middles = (close.found.boxes[:, :2] + close.found.boxes[:, 2:]) / 2
    from_, to = one.found.boxes[0, axis :: 2]
    thickness, middle = one.thickness[0], one.across[0].mean()
    is_beside = abs(middles[:, 1 - axis] - middle) < BESIDE * thickness
    is_as_thick = (close.thickness * AS_THICK > thickness) & (close.thickness < AS_THICK * thickness)
    is_along = (middles[:, axis] > from_) & (middles[:, axis] < to)
    candidates = close.only(is_beside & is_as_thick & is_along & (close.found.kinds == one.found.kinds[0]))
    if not len(candidates.found.scores):
        return None
    best = (candidates.found.scores * shared_across(candidates.across, one.across[0])).argmax()
    return candidates.only(shared_across(candidates.across, candidates.across[best]) >= SAME)


def shared_across(several: numpy.ndarray, one: numpy.ndarray) -> numpy.ndarray:
    """Overlap of ranges `[several, 2]` with one range, as a fraction of the union."""
    shared = numpy.minimum(several[:, 1], one[1]) - numpy.maximum(several[:, 0], one[0])
    union = numpy.maximum(several[:, 1], one[1]) - numpy.minimum(several[:, 0], one[0])
    return shared.clip(0) / union.clip(1e-9)
