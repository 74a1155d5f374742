"""Features in units in which distances mean something."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

Double = npt.NDArray[np.float64]

# A feature that hardly ever varies on the labelled data must not be blown up: its unit is this share of its range.
RARE = 0.1
# By how much one unit per feature must be better on the labelled data than a common one.
BETTER = 0.01
SAMPLE = 1000


class Scaling(NamedTuple):
    """x ↦ (x − centre) / unit."""

    centre: Double
    unit: Double

    def __call__(self, X: Double) -> Double:
        return (X - self.centre) / self.unit

    def inverse(self, X: Double) -> Double:
        return X * self.unit + self.centre


def fit_scaling(how: str | None, X: Double, groups: npt.NDArray[np.intp] | None, weights: Double) -> Scaling:
    """The scaling of this name: None, "common" (one unit), "features" (a unit each), or "auto".

    "auto" is "common", which keeps rotations what they are, unless on the labelled data a point's nearest
    neighbour is clearly more often of its own class in units per feature.
    """
    d = X.shape[1]
    if how is None:
        return Scaling(np.zeros(d), np.ones(d))
    share = weights / weights.sum()
    centre = share @ X
    spread = np.sqrt(share @ (X - centre) ** 2)
    common = np.full(d, np.sqrt(np.mean(spread**2)) or 1.0)
    each = np.maximum(spread, RARE * np.ptp(X, axis=0))
    varies = each > 1e-12 * np.abs(X).max(axis=0)
    each[~varies] = np.median(each[varies]) if varies.any() else 1.0
    if how == "auto":
        how = "common"
        if groups is not None and len(X) > 1:
            # An even part of every class, in whatever order they come.
            order = np.argsort(groups, kind="stable")
            part = np.sort(order[:: -(-len(X) // SAMPLE)])
            purity = [_purity(X[part] / unit, groups[part]) for unit in (common, each)]
            how = "features" if purity[1] > purity[0] + BETTER else "common"
    return Scaling(centre, each if how == "features" else common)


def _purity(X: Double, groups: npt.NDArray[np.intp]) -> float:
    """How often a point's nearest neighbour is of its class."""
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    return float(np.mean(groups[distance.argmin(axis=1)] == groups))
