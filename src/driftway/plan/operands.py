"""What a plan is multiplied by, as a matrix, and products as the arrays that their operands were."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import kind_of
from driftway.arrays.validation import Array, finite_array, real_array

Double = npt.NDArray[np.float64]


def as_columns(name: str, value: npt.ArrayLike, size: int) -> Double:
    """A vector or matrix of `size` rows, as a float64 matrix."""
    dimensions = 1 if real_array(name, value).ndim == 1 else 2
    array: Double = finite_array(name, value, ndim=dimensions).astype(np.float64, copy=False)
    if array.shape[0] != size:
        raise ValueError(f"{name} must have {size} rows to meet the plan, got shape {array.shape}")
    return array[:, None] if array.ndim == 1 else array


def in_kind_of(operand: npt.ArrayLike, result: Double, dtype: np.dtype[Any]) -> Array:
    """A product in a dtype, a vector if the operand was one, and in the operand's library."""
    array = (result[:, 0] if real_array("the operand", operand).ndim == 1 else result).astype(dtype)
    kind = kind_of(operand)
    return array if kind.library == "numpy" else kind.wrap(array)
