"""Whether the gradient of a regulariser is that of its values: looked at where a solve has not converged."""

from __future__ import annotations

import numpy as np

from driftway.arrays.rowwise import is_remote
from driftway.plan.plan import Plan
from driftway.problem.model import Model

# Central differences over this share of the line. Their own error is far below WRONG.
SHARE = 1e-4
# Relative differences from here on, beyond what rounding explains, are an error of the gradient.
WRONG, ROUNDING = 0.01, 1e-9
# Plans with more entries are not formed for this.
LARGEST = 2**22


def slope_error(model: Model, plan: Plan) -> float:
    """By which share the gradient's slope on a line between two couplings differs from that of the values.

    Zero if the difference is below `WRONG`, or if it is not looked at: regularisers of our own are proven, and large
    plans are not formed. The line leads from the plan to a⊗b, since a gradient need only be right on the couplings.
    """
    J, (n, m) = model.J, (len(model.a), len(model.b))
    if J.proven or J.vanishes or is_remote(model.a) or n * m > LARGEST:
        return 0.0
    gamma = np.asarray(plan.array(), dtype=np.float64)
    independent = np.outer(model.a, model.b) / model.problem.mass
    middle, along = 0.5 * (gamma + independent), 0.5 * (independent - gamma)
    try:
        said = float(np.vdot(J.gradient(middle), along))
        there = [float(J.value(middle + share * along)) for share in (-SHARE, SHARE)]
    except Exception:  # a function of the user's may fail anywhere, and this is no more than a look at it
        return 0.0
    seen, size = (there[1] - there[0]) / (2 * SHARE), max(map(abs, there))
    error, unit = abs(said - seen), max(abs(said), abs(seen))
    return error / unit if error > WRONG * unit + ROUNDING * size else 0.0
