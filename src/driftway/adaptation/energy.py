"""The energy distance between two weighted samples: how well one predicted the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

Double = npt.NDArray[np.float64]

# Larger samples are thinned to this many points, evenly in their order.
SAMPLE = 600


def energy_distance(X: Double, Y: Double, a: Double, b: Double) -> tuple[float, float]:
    """2 E‖x − y‖ − E‖x − x'‖ − E‖y − y'‖ ≥ 0, and what it is expected to be for two samples of one distribution."""
    return energies_to(Y, b)(X, a)


def energies_to(Y: Double, b: Double) -> Callable[[Double, Double], tuple[float, float]]:
    """`energy_distance` to one sample, whose own distances are taken once, as a function of X and a."""
    Y, b = _thinned(Y, b)
    second, same = float(b @ cdist(Y, Y) @ b), float(b @ b)

    def energy(X: Double, a: Double) -> tuple[float, float]:
        X, a = _thinned(X, a)
        between, first, alike = float(a @ cdist(X, Y) @ b), float(a @ cdist(X, X) @ a), float(a @ a)
        # E‖x − x'‖ over pairs of different points, shared by both samples.
        common = 0.5 * (first / (1.0 - min(alike, 0.5)) + second / (1.0 - min(same, 0.5)))
        return max(2.0 * between - first - second, 0.0), common * (alike + same)

    return energy


def _thinned(X: Double, a: Double) -> tuple[Double, Double]:
    step = -(-len(X) // SAMPLE)
    kept = a[::step]
    if not kept.sum() > 0:
        return X, a / a.sum()
    return X[::step], kept / kept.sum()
