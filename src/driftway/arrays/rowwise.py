"""Functions of rows, computed where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_remote(value: object) -> bool:
    """Whether an array of rows lives elsewhere and has functions of rows computed there."""
    return hasattr(value, "__by_rows__")


def fetched(value: Any) -> Any:
    """An array, fetched from wherever its rows are: for what couples all of them."""
    return np.asarray(value) if is_remote(value) else value


def by_rows(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), for a function that takes arrays of rows and treats every row by itself."""
    for argument in arguments:
        if is_remote(argument):
            return argument.__by_rows__(function, *arguments)
    return function(*arguments)
