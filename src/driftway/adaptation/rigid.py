"""Rigid maps fitted to noisy images: a turn and a shift, which keep all distances.

A plan at entropy ε draws images together, so affine maps fitted to them lose variance in every step: after 18 turns of
5°, carried digits have .3 of it. A turn has none to lose, and half as many free numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]

# How much a turn is drawn to the expected one, for a batch with as many points as features. With 1 turned digits of two
# seeds are 92.9 % right, with 0.3 95.5, with 0.1 95.7.
RIDGE = 0.1


def nearest_turn(products: Double) -> Double:
    """The rotation Q that maximises tr(Qᵀ P) for products P = Σ w x yᵀ, so that x Q is nearest to y: Kabsch (1976).

    It is no mirror image, which no continuous motion reaches.
    """
    U, _, V = np.linalg.svd(products)
    if np.linalg.det(U) * np.linalg.det(V) < 0:
        U[:, -1] *= -1.0
    Q: Double = U @ V
    return Q


def turned(points: Double, images: Double, weights: Double, expected: Double, strength: float) -> Double:
    """The points (n×d), turned and shifted as a whole to be nearest to their images.

    The shift is all the images'. The turn is drawn to that of `expected`, which counts `strength` times as much as the
    images: they say little of directions in which points hardly vary.
    """
    share = weights / weights.sum()
    now, there = share @ points, share @ images
    centred = points - now
    products = (centred * share[:, None]).T @ (images - there + strength * (expected - share @ expected))
    return there + centred @ nearest_turn(products)
