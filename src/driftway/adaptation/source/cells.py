"""Cells of tables: which are missing, which are numbers, and which are texts that stand for categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.object_]
Double = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The missing values of data frames, by the names of their classes.
MISSING_VALUES = {"NAType", "NaTType"}
# How the types of columns begin that are categories whatever is in them, and of those that may hold texts: in pandas
# and polars.
CATEGORICAL_TYPES = ("category", "Categorical", "Enum")
TEXT_TYPES = (*CATEGORICAL_TYPES, "object", "Object", "str", "String", "large_string")


def may_hold_texts(X: Any) -> bool:
    """Whether a table may have columns that are no numbers; an array of numbers has none."""
    if _is_frame(X):
        return any(str(kind).startswith(TEXT_TYPES) for kind in X.dtypes)
    if isinstance(X, list | tuple):
        return any(isinstance(cell, str) for row in X if isinstance(row, list | tuple) for cell in row)
    return getattr(getattr(X, "dtype", None), "kind", None) in ("O", "U", "T")


def declared_categories(X: Any, columns: int) -> list[bool]:
    """Of every column, whether the type of a data frame says that it holds categories."""
    if _is_frame(X):
        return [str(kind).startswith(CATEGORICAL_TYPES) for kind in X.dtypes]
    return [False] * columns


def is_missing(cell: Any) -> bool:
    """Whether nothing is in a cell: None, NaN, or the missing values of data frames."""
    if cell is None or type(cell).__name__ in MISSING_VALUES:
        return True
    return isinstance(cell, float | np.floating) and bool(cell != cell)


def missing_in(cells: Cells) -> Flags:
    """Which cells nothing is in."""
    return np.array([is_missing(cell) for cell in cells.flat], dtype=np.bool_).reshape(cells.shape)


def holds_categories(name: str, column: Cells, declared: bool) -> bool:
    """Whether a column of the source holds categories: it is declared to, or it has texts that are no numbers.

    A column of texts that all are numbers holds numbers, as everywhere in scikit-learn. One that has both is refused,
    since it may be numbers with a fault in one cell.
    """
    if declared:
        return True
    there = [cell for cell in column if not is_missing(cell)]
    number = next((cell for cell in there if _is_number(cell)), None)
    other = next((cell for cell in there if isinstance(cell, str) and not _is_number(cell)), None)
    if number is not None and other is not None:
        raise ValueError(
            f"column {name!r} holds numbers and other texts, such as {number!r} and {other!r}: mend the cell, or make "
            "the column one of categories (in a data frame by its type, else by texts that are no numbers)"
        )
    return other is not None


def categories_in(column: Cells) -> list[str | None]:
    """The categories in the cells of a column as texts, None where one is missing; whole numbers have no decimals."""
    return [None if is_missing(cell) else _text(cell) for cell in column]


def numbers_in(name: str, column: Cells) -> Double:
    """The cells of a column as numbers, NaN where one is missing."""
    found = np.full(len(column), np.nan)
    for row, cell in enumerate(column):
        if not is_missing(cell):
            if not _is_number(cell):
                raise ValueError(f"column {name!r} must hold numbers as the source does, got {cell!r}")
            found[row] = float(cell)
    return found


def _text(cell: Any) -> str:
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _is_frame(X: Any) -> bool:
    return hasattr(X, "dtypes") and hasattr(X, "columns")
