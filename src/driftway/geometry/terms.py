"""A matrix spelled out as arrays for compiled code."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


class Terms(NamedTuple):
    """A matrix spelled out for compiled code:  rows ⊕ columns + scale·(base or ‖x − y‖^(1 or 2)) + A B.

    What a matrix does not have is empty: `base` has no rows, x and y no features, A and B no terms.
    """

    rows: Double
    columns: Double
    base: Double
    x: Double
    y: Double
    euclidean: bool
    scale: float
    A: Double
    B: Double

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        x: Double | None = None,
        y: Double | None = None,
        euclidean: bool = True,
        *,
        rows: Double | None = None,
        columns: Double | None = None,
        base: Double | None = None,
        scale: float = 1.0,
        A: Double | None = None,
        B: Double | None = None,
    ) -> Self:
        """The terms that are given; what is missing is left empty."""
        n, m = shape
        return cls(
            np.zeros(n) if rows is None else rows,
            np.zeros(m) if columns is None else columns,
            np.empty((0, m)) if base is None else base,
            np.empty((n, 0)) if x is None else x,
            np.empty((0, m)) if y is None else y,
            euclidean,
            scale,
            np.empty((n, 0)) if A is None else A,
            np.empty((0, m)) if B is None else B,
        )
