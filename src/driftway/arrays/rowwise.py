"""Functions of rows, computed where the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


class Remote(ABC):
    """Base class of arrays whose rows live elsewhere."""

    @abstractmethod
    def __by_rows__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A function of rows, computed where they are."""


def is_remote(value: object) -> bool:
    """Whether an array of rows lives elsewhere and has functions of rows computed there."""
    return isinstance(value, Remote)


def fetched(array: Double) -> Double:
    """An array, fetched from wherever its rows are: for what couples all of them."""
    return np.asarray(array) if is_remote(array) else array


def by_rows(function: Callable[..., Double], *arguments: object) -> Double:
    """function(*arguments), for a function that takes arrays of rows and treats every row by itself."""
    for argument in arguments:
        if isinstance(argument, Remote):
            return argument.__by_rows__(function, *arguments)
    return function(*arguments)
