"""The cost of POT's adaptation classes: normalisation, and a high cost for pairs with different labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import on_host
from driftway.arrays.validation import one_of, real_number

Double = npt.NDArray[np.float64]

NORMS = ("median", "max", "log", "loglog")
UNKNOWN_LABEL = -1


def normalized(cost: Double, norm: str | None, value: float | None = None) -> tuple[Double, float | None]:
    """The cost divided by its median or maximum, or its logarithm; and the divisor, to be given for new costs."""
    if norm is None:
        return cost, None
    one_of("norm", norm, NORMS)
    if norm == "log":
        return np.log1p(cost), None
    if norm == "loglog":
        return np.log1p(np.log1p(cost)), None
    if value is None:
        value = float(np.median(cost) if norm == "median" else cost.max())
    return cost / value, value


def forbid(cost: Double, ys: Any, yt: Any, limit_max: float) -> tuple[Double, float]:
    """The cost, raised to `limit_max` times its maximum where both labels are known and differ; and that limit."""
    rows, columns = _labels("ys", ys, cost.shape[0]), _labels("yt", yt, cost.shape[1])
    limit = np.inf if limit_max == np.inf else real_number("limit_max", limit_max, minimum=0.0) * float(cost.max())
    known = np.multiply.outer(rows != UNKNOWN_LABEL, columns != UNKNOWN_LABEL)
    differ = known & (rows[:, None] != columns[None, :])
    return np.where(differ, np.maximum(cost, limit), cost), limit


def one_hot(name: str, labels: Any, size: int) -> Double:
    """Indicators of the labels: one column per label, sorted."""
    values = _labels(name, on_host(labels), size)
    return (values[:, None] == np.unique(values)[None, :]).astype(np.float64)


def _labels(name: str, labels: Any, size: int) -> npt.NDArray[Any]:
    if labels is None:
        raise ValueError(f"{name} must be given")
    values = np.asarray(labels)
    if values.shape != (size,):
        raise ValueError(f"{name} must have one label per sample, {size} in all, got shape {values.shape}")
    return values
