"""A path of strengths along which Newton's method stays near the optimum: its strides, and how steps are damped.

The same rules for the compiled steps of small problems and for the others. A stride begins where the last two strengths
lead to. How far the first Newton step goes from there tells how good that was: as the rows of a plan are exponentials,
what counts is the largest standard deviation of what it adds to the logarithms of a row, its `reach`.
"""

from __future__ import annotations

import math

# Where a step was too long, the next one is damped: by this at first, and by no more than that; the shortest step.
DAMPING, HIGHEST, SHORTEST = 1e-4, 1e3, 0.05
# A strength is passed after a whole step of at most this reach, with no more damping than that.
CLOSE, UNDAMPED = 0.4, 1e-5
# The first stride and the shortest, in units of log, and the reach that is aimed at.
STRIDE, LEAST, AIM = math.log(2.0), 0.2, 0.3
# A stride was too long if the first step has more reach than this, or if so many evaluations do not suffice.
FAR, HASTE = 2.0, 8


def ahead(strength: float, last: float, stride: float) -> tuple[float, float]:
    """The next strength on the way to the last, by equal strides no longer than this one; and their length."""
    distance = math.log(strength / last)
    count = math.ceil(distance / stride - 1e-9)
    return (last, distance) if count <= 1 else (strength * math.exp(-distance / count), distance / count)


def longer(stride: float, reach: float) -> float:
    """The stride after one at whose end the first step had this reach, which grows with its square."""
    return max(LEAST, stride * min(max(math.sqrt(AIM / max(reach, 1e-9)), 0.5), 2.0))


def shorter(stride: float) -> float:
    """The stride instead of one that was too long."""
    return max(LEAST, 0.5 * stride)
