"""What several looks at one picture say together. What `parse/detect/looks.rs` does.

A network sees no further than some hundred pixels, and trains on crops that are no larger. So what is large is taken
from a look from afar, at a copy of half the size, and what is larger still from one at a quarter.

From there a row of a table is some ten pixels high, and its box as many pixels off. But in the picture's own pixels the
network sees that there is a row and where it lies, and only not where it ends. So of what is slender the long sides are
taken from the look from afar, the short ones from the nearest, and the score from the one that is surer. On 150 test
screens 0.761 of what is 400 pixels or more wide and less than 64 high was found so, where from afar alone it was 0.670.
"""

from dataclasses import dataclass

import numpy

from .found import Found, together

FROM_AFAR = (0.5, 0.25)
"""Sizes of the copies, of what the first look is shown. The second costs a fourth of the first, the third a sixteenth."""
LARGE = 400
"""So many shown pixels long or high is what is large. The shares below are shares of this."""
HUGE, HUGE_ACROSS = 2.0, 0.375
"""So long and, the other way, so high is what the look from farthest is for: panes, text over a whole screen."""
SLENDER = 0.16
"""Thinner than this is what is taken from two looks."""
SEEN = 0.25
"""So long has to be what the nearest look shows of it."""
LEAST_SCORE = 0.1
"""What is less certain than this in either look says nothing about the other."""
BESIDE = 0.5
"""So far across, in its own thickness, may the nearest look have it from where it is from afar."""
AS_THICK = 1.6
"""So many times as thick at most is it in one look as in the other."""
SAME = 0.6
"""Boxes of the nearest look that share so much of their thickness mean the same thing."""


@dataclass(frozen=True)
class Slender:
    """Boxes seen along one axis: 0 for what is wide, 1 for what is high."""

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
        """From where to where: `[boxes, 2]`."""
        return self.found.boxes[:, 1 - self.axis :: 2]

    def are(self, least_length: float, most_thickness: float) -> numpy.ndarray:
        return (self.length >= least_length) & (self.thickness < most_thickness) & (self.found.scores >= LEAST_SCORE)

    def only(self, which: numpy.ndarray) -> "Slender":
        return Slender(self.found.only(which), self.axis)


def merged(near: Found, afar: list[Found], large: float) -> Found:
    """`near` is the look in the picture's own pixels, `afar` those of `FROM_AFAR`, `large` in pixels of the picture."""
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
    """`afar`, the slender among them where `near` sees them."""
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
    """What the nearest look has of `one`, which is a single box; `None` if nothing."""
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
    """Shared length as a share of the union, of stretches `[several, 2]` with one."""
    shared = numpy.minimum(several[:, 1], one[1]) - numpy.maximum(several[:, 0], one[0])
    union = numpy.maximum(several[:, 1], one[1]) - numpy.minimum(several[:, 0], one[0])
    return shared.clip(0) / union.clip(1e-9)
