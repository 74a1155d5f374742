"""Checks of what users pass in; every error names the argument, what it got and what it wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]


def finite_array(name: str, value: object, ndim: int) -> Array:
    """`value` as a non-empty finite array of `ndim` dimensions, in float32 or float64.

    float32 stays float32; every other real type becomes float64.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nested sequences
        raise ValueError(f"{name} must be an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but it contains NaN or infinity")
    return array


def double_array(name: str, value: object, shape: tuple[int | None, ...]) -> npt.NDArray[np.float64]:
    """`value` as a finite float64 array of the given shape (`None` matches any length)."""
    array = finite_array(name, value, len(shape)).astype(np.float64, copy=False)
    if any(want is not None and got != want for got, want in zip(array.shape, shape, strict=True)):
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    return array


def weights(name: str, value: object, size: int) -> npt.NDArray[np.float64]:
    """Non-negative weights of positive total; `None` means uniform weights of total 1."""
    if value is None:
        return np.full(size, 1.0 / size)
    array = double_array(name, value, (size,))
    if (array < 0).any():
        raise ValueError(f"{name} must be non-negative, but its minimum is {array.min():g}")
    if array.sum() <= 0:
        raise ValueError(f"{name} must have a positive sum, but it sums to {array.sum():g}")
    return array


def real_number(
    name: str,
    value: object,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    strict: bool = False,
) -> float:
    """`value` as a finite float in [minimum, maximum], or in the open interval if `strict`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}")
    number = float(value)
    inside = minimum < number < maximum if strict else minimum <= number <= maximum
    if not math.isfinite(number) or not inside:
        left, right = ("(", ")") if strict else ("[", "]")
        raise ValueError(f"{name} must be in {left}{minimum:g}, {maximum:g}{right}, got {number:g}")
    return number


def positive_integer(name: str, value: object) -> int:
    """`value` as an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__} {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """`value` if it is one of the strings `choices`."""
    if not isinstance(value, str) or value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {wanted}; got {value!r}")
    return value
