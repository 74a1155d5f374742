"""Newton steps along a path of strengths: how they are damped, and when a strength is passed.

The same numbers for the compiled steps of small problems and for the others.
"""

from __future__ import annotations

# Where a step was too long, the next one is damped: by this at first, and by no more than that; the shortest step.
DAMPING, HIGHEST, SHORTEST = 1e-4, 1e3, 0.05
# A strength on the way is passed when a whole step promised less than this share of ε. With more damping than the
# second number that tells nothing: the Hessian is all but singular where rows have a single column.
CLOSE, UNDAMPED = 0.5, 1e-6
