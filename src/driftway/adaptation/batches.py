"""Rows that users give: which of them take part, and with what weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from driftway.adaptation.scaling import Scaling
from driftway.arrays.validation import points

Double = npt.NDArray[np.float64]
Held = npt.NDArray[np.bool_]

# How far points may be from the source, in its units: squares of what is further, times a mass, leave float64.
FARTHEST = 1e140


def source_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Double, npt.NDArray[Any], Double]:
    """The points of the source that take part, their targets and their weights."""
    X, y = validate_data(model, X, y, dtype=np.float64, order="C", ensure_min_samples=2, ensure_all_finite="allow-nan")
    weights, held = _held(X, sample_weight)
    if held.sum() < 2:
        raise ValueError(f"X must have at least two rows without missing values, got {held.sum()}")
    return points("X", X[held]), y[held], weights[held]


def batch_rows(model: Any, X: Any, sample_weight: Any, scaling: Scaling) -> tuple[Double, Double, Held]:
    """The points of a batch that take part, their weights of total 1, and which of the batch they are."""
    batch = rows_with_gaps(model, X)
    weights, held = _held(batch, sample_weight)
    batch, weights = batch[held], weights[held]
    if len(batch) < 2 or not np.ptp(batch, axis=0).any():
        raise ValueError(
            f"a batch must have at least two different points without missing values, got {len(batch)} "
            f"{'that are all equal' if len(batch) > 1 else 'of them'}"
        )
    with np.errstate(over="ignore"):
        reach = float(np.abs(points("X", scaling(batch))).max())
    if reach > FARTHEST:
        raise ValueError(f"a batch must be within {FARTHEST:g} units of the source, got a point at {reach:.1e}")
    return batch, weights / weights.sum(), held


def rows_with_gaps(model: Any, X: Any) -> Double:
    """Points with the columns of the source, in which values may be missing."""
    found: Double = validate_data(model, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan")
    return found


def among(held: Held, received: Double) -> Double:
    """What points received among those without weight, who received nothing: equal shares, or no value."""
    if held.all():
        return received
    nothing = np.nan if received.ndim == 1 else 1.0 / received.shape[1]
    out = np.full((held.size, *received.shape[1:]), nothing)
    out[held] = received
    return out


def _held(X: Double, sample_weight: Any) -> tuple[Double, Held]:
    """The weights of all rows, and which have one and no missing value."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.sum() > 0:
        raise ValueError("sample_weight must have a positive sum, got only zeros")
    return weights, (weights > 0) & ~np.isnan(X).any(axis=1)
