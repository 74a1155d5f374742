"""Rounding a plan onto its marginals (Altschuler, Weed & Rigollet 2017), and what it adds to the objective at the most.

Rows and columns whose sums are too large are lowered; what is missing then is added as a matrix u vᵀ of rank one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]

EXACT = 1e-12  # row sums this close to their masses are so but for rounding
# How often sums that rounding left above their masses are lowered again, and by how many times as much every time:
# float32 leaves potentials of up to 10⁵ ε, beyond which plans have no digits, in so many attempts.
ATTEMPTS, WIDEN = 9, 4.0


def rounded(
    sums: Callable[[Double, Double], tuple[Double, Double]],
    f: Double,
    g: Double,
    rows: Double,
    columns: Double,
    a: Double,
    b: Double,
    margin: float,
) -> tuple[Double, Double, tuple[Double, Double]]:
    """Potentials that are low enough for no sum to exceed its mass, and u and v of what is missing then.

    `sums` are those of rows and columns as functions of the potentials; `rows` and `columns` those at f and g. They are
    lowered by `margin` more than is needed, and by more where they still are too large: all of it is added at the costs
    of independent masses, so that the less it is, the less is lost.
    """
    if np.abs(rows - a).sum() <= EXACT * a.sum():  # rounding: either side may be lowered first
        g = g + _log_ratio(b, columns, margin)
    else:
        f = f + _log_ratio(a, rows, margin)
        g = g + _log_ratio(b, sums(f, g)[1], margin)
    rows, columns = sums(f, g)
    for _ in range(ATTEMPTS):
        if not ((rows > a).any() or (columns > b).any()):
            break
        f, g = f + _log_ratio(a, rows, margin), g + _log_ratio(b, columns, margin)
        rows, columns = sums(f, g)
        margin *= WIDEN
    u, v = np.maximum(a - rows, 0.0), np.maximum(b - columns, 0.0)
    if (missing := u.sum()) <= 0 or v.sum() <= 0:
        u, v, missing = np.zeros_like(u), np.zeros_like(v), 1.0
    return f, g, (u, v / missing)


def lowered_columns(g: Double, columns: Double, b: Double) -> tuple[Double, Double]:
    """Where rows are exact: potentials that lower the columns, and the shares v of what every row loses by it."""
    lacking = np.maximum(b - columns, 0.0)
    total = lacking.sum()
    g = g + np.log(np.divide(b, columns, out=np.ones_like(b), where=columns > b))
    return g, lacking / total if total > 0 else lacking


def _log_ratio(target: Double, actual: Double, margin: float) -> Double:
    """log(target / actual) − margin where the actual sum has to be lowered, else zero."""
    ratio = np.divide(target, actual, out=np.ones_like(target), where=actual > target)
    with np.errstate(divide="ignore"):
        return np.where(actual > target, np.log(ratio) - margin, 0.0)


def growth(rows: Double, columns: Double, a: Double, b: Double, *, epsilon: float, lipschitz: float) -> float:
    """A bound of what ⟨γ, M⟩ + ε H(γ) grows by, for any M with |M| ≤ `lipschitz`, where γ is rounded onto a and b.

    Rounding (Altschuler, Weed & Rigollet 2017) takes at most a share δ from every entry and adds what is missing then.
    With h(x) = x (log x − 1),  h((1 − δ)x) − h(x) ≤ δ x (|log x| + δ)  and  h(x + t) − h(x) ≤ t log(x + t);  and over
    n·m numbers that add up to s,  Σ x |log x| ≤ s (log⁺(nm/s) + 2 log⁺ s).
    """
    total, mass = float(rows.sum()), float(a.sum())
    taken = float(np.maximum(rows - a, 0.0).sum() + np.maximum(columns - b, 0.0).sum())
    added = max(mass - total, 0.0) + taken
    share = min(_share(rows, a) + _share(columns, b), 1.0)
    largest = max(math.log(max(total + added, 1e-300)), 0.0)
    spread = total * (max(math.log(rows.size * columns.size / total), 0.0) + 2.0 * largest + 1.0) if total > 0 else 0.0
    return (taken + added) * lipschitz + epsilon * (added * largest + share * spread)


def _share(sums: Double, masses: Double) -> float:
    """The largest share by which a sum has to be lowered to its mass."""
    excess = np.maximum(sums - masses, 0.0)
    return float(np.divide(excess, sums, out=np.zeros_like(sums), where=sums > 0).max())
