"""NPZ files as tables: a vector is a column, and a matrix `X` has the columns `X0`, `X1` and so on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import TableError
from driftway.files.limits import unpacked_limit
from driftway.files.npz_archive import read_arrays

# What a column takes beside its entries, which may be packed to next to nothing: an array, a name and their places.
BYTES_PER_COLUMN = 500


class NpzFile:
    """The arrays of an NPZ file as columns of equal length; nothing is unpickled."""

    number = float

    def __init__(self, name: str, content: bytes) -> None:
        if not content:
            raise TableError(name, "the file is empty")
        try:
            arrays = read_arrays(content)
        except ValueError as error:
            raise TableError(name, f"not a valid NPZ file of numbers and strings ({error})") from None
        self._name = name
        self._check_columns(arrays, len(content))
        self._columns = dict(self._vectors(arrays))
        self.names = [column for key, array in arrays.items() for column in _names(key, array)]

    def load(self, numbers: Sequence[str], texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The columns `numbers` as an array n×d, and the columns `texts` as lists."""
        rows = len(next(iter(self._columns.values()), ()))
        matrix = np.empty((rows, len(numbers)))
        for j, name in enumerate(numbers):
            column = self._columns[name]
            if column.dtype.kind not in "biuf":
                value = column[0].item() if rows else None
                raise TableError(self._name, f"{value!r} is not a number", place=self.place(0), column=name)
            matrix[:, j] = column
        return matrix, {name: [_plain(value) for value in self._columns[name].tolist()] for name in texts}

    def text_columns(self, names: Sequence[str]) -> list[str]:
        """Those of the columns that hold strings."""
        return [name for name in names if self._columns[name].dtype.kind == "U"]

    def place(self, row: int) -> str:
        """The number of a row, from 1, as error messages name it."""
        return f"row {row + 1}"

    def _check_columns(self, arrays: dict[str, npt.NDArray[Any]], size: int) -> None:
        columns, most = sum(math.prod(array.shape[1:]) for array in arrays.values()), unpacked_limit(size)
        if columns * BYTES_PER_COLUMN > most:
            told = f"{columns} columns are more than the {most // BYTES_PER_COLUMN} that are allowed"
            raise TableError(self._name, f"{told} for a file of {size} bytes")

    def _vectors(self, arrays: dict[str, npt.NDArray[Any]]) -> list[tuple[str, npt.NDArray[Any]]]:
        found: list[tuple[str, npt.NDArray[Any]]] = []
        for key, array in arrays.items():
            if array.ndim not in (1, 2):
                raise TableError(self._name, f"array {key!r} must have 1 or 2 dimensions, got {array.ndim}")
            parts = [array] if array.ndim == 1 else list(array.T)
            found += zip(_names(key, array), parts, strict=True)
        lengths = {key: len(array) for key, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key!r} {length}" for key, length in lengths.items())
            raise TableError(self._name, f"the arrays must have the same number of rows, got {told}")
        return found


def _names(key: str, array: npt.NDArray[Any]) -> list[str]:
    return [key] if array.ndim == 1 else [f"{key}{j}" for j in range(array.shape[1])]


def _plain(value: Any) -> Any:
    """Numbers and strings as they are, anything else (a date) by its text."""
    return value if isinstance(value, bool | int | float | str) else str(value)
