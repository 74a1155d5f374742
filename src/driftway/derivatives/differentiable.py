"""Functions of NumPy arrays with their derivatives: what a library that differentiates is given of a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]
Solved = TypeVar("Solved")

# An argument as an array of floating-point numbers of a library, beside a second one if that is given.
Floating = Callable[[Any, Any], Any]


class Differentiable(Protocol[Solved]):
    """A function of several arrays that can be differentiated once, at the point where it was solved."""

    def solve(self, values: Sequence[Any]) -> Solved:
        """What result and derivatives are read from, computed in float64."""
        ...

    def result(self, solved: Solved) -> npt.ArrayLike:
        """The function's value."""
        ...

    def pull_back(self, solved: Solved, slope: Any, wanted: Sequence[bool] | None = None) -> list[Double | None]:
        """The derivatives in all arrays, or in those that are wanted, of what has this slope in the result."""
        ...


def a_and_b(given: tuple[bool, bool], values: Sequence[Double]) -> tuple[Double | None, Double | None, list[Double]]:
    """The masses that are given, in front of the other values."""
    rest = list(values)
    a, b = (rest.pop(0) if each else None for each in given)
    return a, b, rest
