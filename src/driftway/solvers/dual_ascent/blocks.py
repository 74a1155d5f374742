"""The diagonal blocks of the dual's Hessian in P, one per row: Cov(R)/ε + q, and their inverses."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import FEW_ROUNDINGS
from driftway.plan.lbfgs import ROUNDING

Double = npt.NDArray[np.float64]


@cache
def pairs(r: int, *, every: bool) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The pairs of moments whose covariance is used: every one, or only variances."""
    diagonal = np.arange(r)
    return np.triu_indices(r) if every else (diagonal, diagonal)


def blocks_of(
    means: Double, a: Double, seen: npt.NDArray[np.bool_], curvature: Double, damped: Double, epsilon: float
) -> Double:
    """Cov(R)/ε + q for every row (n×r×r), from the means of R and of all its products under the plan."""
    n, r = curvature.shape
    first, second = pairs(r, every=True)
    covariance = (means[:, r:] - per_mass(means[:, :r], a)[:, first] * means[:, second]) / epsilon
    blocks, diagonal = np.zeros((n, r, r)), np.arange(r)
    blocks[:, first, second] = np.where(seen[:, first] & seen[:, second], covariance, 0.0)
    blocks[:, second, first] = blocks[:, first, second]
    # A variance of rounding errors is none: it may have come out negative, and the block with it. What rounding may
    # have added to any entry, times r, keeps it positive definite.
    noise = FEW_ROUNDINGS * r / epsilon * means[:, r:][:, first == second]
    blocks[:, diagonal, diagonal] = np.maximum(blocks[:, diagonal, diagonal], 0.0) * (1.0 + 1e-9)
    blocks[:, diagonal, diagonal] += curvature + np.multiply.outer(a, damped) + noise
    return blocks


def inverse_blocks(
    means: Double,
    a: Double,
    seen: npt.NDArray[np.bool_],
    curvature: Double,
    damped: Double,
    epsilon: float,
    every: bool,
) -> Double:
    """(Cov(R)/ε + q)⁻¹ for every row, or without every covariance its diagonal."""
    r = curvature.shape[1]
    if not every:
        variance = np.maximum(means[:, r:] - per_mass(means[:, :r], a) * means[:, :r], 0.0) / epsilon
        return np.asarray(1.0 / (np.where(seen, variance, 0.0) + curvature + np.multiply.outer(a, damped)))
    blocks = blocks_of(means, a, seen, curvature, damped, epsilon)
    if r == 1:
        return 1.0 / blocks
    if r == 2:
        # By way of the correlation: the products of entries that are proportional to a small mass underflow.
        (p, q), (_, s) = np.moveaxis(blocks, 0, 2)
        p, s = 1.0 / np.sqrt(p), 1.0 / np.sqrt(s)
        c = p * q * s
        share = 1.0 / np.maximum((1.0 - c) * (1.0 + c), 1e-14)
        across = -share * c * p * s
        return np.moveaxis(np.array([[share * p * p, across], [across, share * s * s]]), 2, 0)
    roots = inverse_roots_of(blocks)
    return np.asarray(np.einsum("ikl,ikm->ilm", roots, roots), dtype=np.float64)


def inverse_roots_of(blocks: Double) -> Double:
    """W with WᵀW = A⁻¹ for every block A: the inverse of its Cholesky factor, by way of the correlation.

    The least ridge is added with which all of them are positive definite: moments that were summed in float32 may need
    one of 1e-7.
    """
    r = blocks.shape[1]
    scale = 1.0 / np.sqrt(np.diagonal(blocks, axis1=1, axis2=2))
    correlation, ridge = blocks * scale[:, :, None] * scale[:, None, :], ROUNDING
    while ridge < 1.0:
        with suppress(np.linalg.LinAlgError):
            factors = np.linalg.cholesky(correlation + ridge * np.eye(r))
            return np.asarray(np.linalg.inv(factors) * scale[:, None, :], dtype=np.float64)
        ridge *= 100.0
    raise FloatingPointError("the covariances of the rows overflowed")


def per_mass(means: Double, a: Double) -> Double:
    """Means per unit of mass, zero in a row that has none."""
    return np.divide(means, a[:, None], out=np.zeros_like(means), where=a[:, None] > 0)


def times(inverse: Double, seen: npt.NDArray[np.bool_], right: Double) -> Double:
    """The inverse blocks times a vector per row, zero where a coefficient is no variable."""
    return np.where(seen, inverse * right if inverse.ndim == 2 else np.einsum("ikl,il->ik", inverse, right), 0.0)
