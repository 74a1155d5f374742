"""POT's conventions for masses and costs: an empty list is uniform, an infinite cost forbids a pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind, kind_of, on_host
from driftway.arrays.validation import real_array

Double = npt.NDArray[np.float64]


def arrays(a: Any, b: Any, M: Any) -> tuple[Kind, Double, Double, Double]:
    """The library of the result, and a, b and M in float64; empty masses become uniform ones."""
    kind = kind_of(M, a, b)
    cost = real_array("M", on_host(M)).astype(np.float64)
    if cost.ndim != 2:
        raise ValueError(f"M must be a matrix of costs, got shape {cost.shape}")
    rows, columns = (
        np.full(size, 1.0 / size) if np.size(on_host(mass)) == 0 else real_array(name, on_host(mass)).astype(np.float64)
        for name, mass, size in (("a", a, cost.shape[0]), ("b", b, cost.shape[1]))
    )
    return kind, rows, columns, cost


def finite(cost: Double, reg: float) -> Double:
    """The cost with +∞ replaced by a number so large that the plan is zero there, if the masses allow it."""
    forbidden = np.isposinf(cost)
    if not forbidden.any() or forbidden.all():
        return cost
    allowed = cost[~forbidden]
    return np.where(forbidden, allowed.max() + 10.0 * np.ptp(allowed) + 1000.0 * reg, cost)
