"""Affine displacements fitted to noisy ones: what map models and motion models are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


class Affine(NamedTuple):
    """The displacement  x ↦ shift + (x − centre) · linear."""

    centre: Double
    shift: Double
    linear: Double

    def __call__(self, points: Double) -> Double:
        return self.shift + (points - self.centre) @ self.linear


def fit_affine(points: Double, displacement: Double, weights: Double, ridge: float) -> Affine:
    """The affine displacement nearest to the given one in the mean, its linear part shrunk towards none.

    `ridge` is relative to the variance of the points.
    """
    share = weights / weights.sum()
    centre, shift = share @ points, share @ displacement
    centred = points - centre
    weighted = centred * share[:, None]
    covariance, d = weighted.T @ centred, points.shape[1]
    damping = ridge * np.trace(covariance) / d
    if not damping + np.trace(covariance) > 0:  # a single place
        return Affine(centre, shift, np.zeros((d, d)))
    covariance[np.diag_indices(d)] += damping + 1e-12 * np.trace(covariance)
    linear: Double = np.linalg.lstsq(covariance, weighted.T @ (displacement - shift), rcond=None)[0]
    return Affine(centre, shift, linear)
