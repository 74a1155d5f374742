"""Checks of what users pass in; every error names the argument, what it got and what it wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import is_differentiated, on_host
from driftway.arrays.rowwise import is_remote

Array = npt.NDArray[np.floating[Any]]


def finite_array(name: str, value: object, ndim: int) -> Array:
    """`value` as a non-empty finite array of `ndim` dimensions, in float32 or float64.

    float32 stays float32; every other real type becomes float64.
    """
    array = real_array(name, value)
    if array.ndim != ndim:
        one_feature = "; a single feature is X[:, None]" if ndim == 2 and array.ndim == 1 and name in ("X", "Y") else ""
        plural = "s" * (ndim != 1)
        raise ValueError(f"{name} must have {ndim} dimension{plural}, got shape {array.shape}{one_feature}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but it contains NaN or infinity")
    return array


def real_array(name: str, value: object) -> Array:
    """`value` as an array of real numbers of any shape, in float32 if it was, else in float64.

    PyTorch tensors and JAX arrays are moved to the CPU, unless they are being differentiated: that would end here.
    """
    if is_remote(value):
        return value  # type: ignore[return-value]
    if is_differentiated(value):
        raise TypeError(
            f"{name} is being differentiated or traced, which would end here: detach it, or use driftway.torch or "
            f"driftway.jax"
        )
    value = on_host(value)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must not be masked, but entries of it are; fill or drop them first")
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nested sequences
        raise ValueError(f"{name} must be an array of numbers, got a ragged one ({error})") from None
    if array.dtype.kind not in "biuf":
        if hasattr(value, "toarray"):  # a matrix of scipy.sparse
            raise TypeError(f"{name} must be dense, got {type(value).__name__}; convert it by toarray()")
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def double_array(name: str, value: object, shape: tuple[int | None, ...]) -> npt.NDArray[np.float64]:
    """`value` as a finite float64 array of the given shape (`None` matches any length)."""
    array = finite_array(name, value, len(shape)).astype(np.float64, copy=False)
    if any(want is not None and got != want for got, want in zip(array.shape, shape, strict=True)):
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ",)"[len(shape) > 1 :]
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    return array


def points(name: str, value: object, shape: tuple[int | None, ...] = (None, None)) -> npt.NDArray[np.float64]:
    """Points, one per row, whose squared distances are finite."""
    array = double_array(name, value, shape)
    with np.errstate(over="ignore"):
        reach = 4.0 * np.square(array).sum(axis=1).max()
    if not np.isfinite(reach):
        raise ValueError(f"{name} must be small enough for its squared distances to be finite; rescale it")
    return array


def weights(name: str, value: object, size: int | None) -> npt.NDArray[np.float64]:
    """Non-negative weights of positive finite total; `None` means uniform weights of total 1."""
    if value is None and size is not None:
        return np.full(size, 1.0 / size)
    array = double_array(name, value, (size,))
    with np.errstate(over="ignore"):
        total = array.sum()
    if not np.isfinite(total):
        raise ValueError(f"{name} must have a finite sum, but it overflows")
    if (array < 0).any():
        raise ValueError(f"{name} must be non-negative, but its minimum is {array.min():g}")
    if total <= 0:
        raise ValueError(f"{name} must have a positive sum, but it sums to {total:g}")
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
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    inside = minimum < number < maximum if strict else minimum <= number <= maximum
    if not math.isfinite(number) or not inside:
        left = "(" if strict or math.isinf(minimum) else "["
        right = ")" if strict or math.isinf(maximum) else "]"
        raise ValueError(f"{name} must be in {left}{minimum:g}, {maximum:g}{right}, got {number:g}")
    return number


def positive_integer(name: str, value: object, minimum: int = 1) -> int:
    """`value` as an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__} {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def flag(name: str, value: object) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} {value!r}")
    return bool(value)


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """`value` if it is one of the strings `choices`."""
    if not isinstance(value, str) or value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {wanted}; got {value!r}")
    return value
