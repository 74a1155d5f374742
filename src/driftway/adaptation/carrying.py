"""Further points of the source, carried as its own points were."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from driftway.adaptation.affine import fit_affine

Double = npt.NDArray[np.float64]

NEIGHBOURS = 5


def carry_points(points: Double, source: Double, images: Double, weights: Double) -> Double:
    """Images of new points: the affine part of source → images, and of the rest what the nearest neighbours have.

    A point of the source itself goes exactly where it went.
    """
    displacement = images - source
    affine = fit_affine(source, displacement, weights, 0.0)
    rest = displacement - affine(source)
    found = KDTree(source).query(points, k=min(NEIGHBOURS, len(source)))
    distance, nearest = (np.asarray(array).reshape(len(points), -1) for array in found)
    exact = distance[:, :1] <= 0
    share = np.where(exact, distance <= 0, 1.0 / np.where(distance > 0, distance, 1.0))
    share /= share.sum(axis=1, keepdims=True)
    return points + affine(points) + np.einsum("ik,ikd->id", share, rest[nearest])
