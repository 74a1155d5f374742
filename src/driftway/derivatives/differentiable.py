"""Functions of NumPy arrays with their derivatives, to be wrapped for PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]
Shape = tuple[int, ...]
Solved = TypeVar("Solved")

# An argument as an array of floating-point numbers of a library, beside a second one if that is given.
Floating = Callable[[Any, Any], Any]


class Differentiable(Protocol[Solved]):
    """A function of several arrays that can be differentiated once, at the point where it was solved."""

    def solve(self, values: Sequence[Any]) -> Solved:
        """Solves the problem of these values in float64; result and derivatives are read from what it returns."""
        ...

    def result(self, solved: Solved) -> npt.ArrayLike:
        """The function's value."""
        ...

    def shapes(self, arrays: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
        """The shape of the value, and the shapes of what `saved` returns, for arrays of these shapes."""
        ...

    def saved(self, solved: Solved) -> list[Double]:
        """Arrays that suffice for the derivatives, where nothing else can be kept."""
        ...

    def pull_back_saved(self, saved: Sequence[Any], slope: Any) -> list[Any]:
        """`pull_back` for all arrays, from what `saved` returned."""
        ...

    def pull_back(self, solved: Solved, slope: Any, wanted: Sequence[bool] | None = None) -> list[Double | None]:
        """The vector-Jacobian product: the derivatives in the arrays that are wanted, for a slope of the result."""
        ...


def a_and_b(given: tuple[bool, bool], values: Sequence[Double]) -> tuple[Double | None, Double | None, list[Double]]:
    """Splits values into a and b, as far as they are given, and the rest."""
    rest = list(values)
    a, b = (rest.pop(0) if each else None for each in given)
    return a, b, rest
