"""What rounding a plan onto its marginals adds to the objective at the most, from its sums alone."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


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
