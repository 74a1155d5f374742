"""What a regulariser is given and returns, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import real_array, real_number

Double = npt.NDArray[np.float64]


def checked_factor(factor: object) -> float:
    """A factor of a regulariser, which must not be negative."""
    return real_number("the factor of a regularizer", factor, minimum=0.0)


def total_of(values: Sequence[float | None]) -> float | None:
    """The sum, or `None` if a summand is unknown."""
    return None if any(value is None for value in values) else float(sum(values))  # type: ignore[arg-type]


def one_number(name: str, value: object, *, proven: bool = False) -> float:
    """What a regulariser returned as one finite number, or an error that names it.

    One that is proven right is not to blame: there it is the plan, or the range of float64.
    """
    number = real_array(f"the regularizer's {name}", value)
    if number.size != 1:
        raise ValueError(f"the regularizer's {name} must be one number, got an array of shape {number.shape}")
    if not np.isfinite(number).all():
        if proven:
            raise FloatingPointError(f"the regularizer's {name} came out as {float(number.reshape(()))}")
        raise ValueError(f"the regularizer's {name} must be finite, got {value}")
    return float(number.reshape(()))


def finite_like(name: str, value: object, whose: str, shape: tuple[int, ...], *, proven: bool = False) -> Double:
    """What a regulariser returned as a finite array of this shape, or an error that names it."""
    array = real_array(f"the regularizer's {name}", value)
    if array.shape != shape:
        raise ValueError(f"the regularizer's {name} must have {whose} shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        if proven:
            raise FloatingPointError(f"the regularizer's {name} came out with NaN or infinity")
        raise ValueError(f"the regularizer's {name} must be finite, but it contains NaN or infinity")
    return array.astype(np.float64, copy=False)
