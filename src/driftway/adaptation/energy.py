"""The energy distance between two weighted samples: how well one predicted the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

Double = npt.NDArray[np.float64]

# Larger samples are thinned to this many points, evenly in their order.
SAMPLE = 600


def energy_distance(X: Double, Y: Double, a: Double, b: Double) -> tuple[float, float]:
    """2 E‖x − y‖ − E‖x − x'‖ − E‖y − y'‖ ≥ 0, and what it is expected to be for two samples of one distribution."""
    (X, a), (Y, b) = _thinned(X, a), _thinned(Y, b)
    between, first, second = float(a @ cdist(X, Y) @ b), float(a @ cdist(X, X) @ a), float(b @ cdist(Y, Y) @ b)
    # E‖x − x'‖ over pairs of different points, shared by both samples.
    alike, same = float(a @ a), float(b @ b)
    common = 0.5 * (first / (1.0 - min(alike, 0.5)) + second / (1.0 - min(same, 0.5)))
    return max(2.0 * between - first - second, 0.0), common * (alike + same)


def _thinned(X: Double, a: Double) -> tuple[Double, Double]:
    step = -(-len(X) // SAMPLE)
    kept = a[::step]
    if not kept.sum() > 0:
        return X, a / a.sum()
    return X[::step], kept / kept.sum()
