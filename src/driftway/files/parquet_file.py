"""Parquet, by PyArrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import TableError


class ParquetFile:
    """The columns of a Parquet file."""

    def __init__(self, name: str, content: bytes) -> None:
        pyarrow, parquet = _pyarrow()
        if not content:
            raise TableError(name, "the file is empty")
        try:
            self._table = parquet.ParquetFile(pyarrow.BufferReader(content)).read()
        except (pyarrow.ArrowException, OSError) as error:
            raise TableError(name, f"not a whole Parquet file ({_first_line(error)})") from None
        self._name, self.names = name, list(self._table.column_names)

    def load(self, numbers: Sequence[str], texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The columns `numbers` as an array n×d, and the columns `texts` as lists; None where one is empty."""
        matrix = np.empty((self._table.num_rows, len(numbers)))
        for j, name in enumerate(numbers):
            matrix[:, j] = self._numbers(name)
        return matrix, {name: [_plain(value) for value in self._table[name].to_pylist()] for name in texts}

    def place(self, row: int) -> str:
        """Where a row is, counted from 1."""
        return f"row {row + 1}"

    def _numbers(self, name: str) -> npt.NDArray[np.float64]:
        pyarrow, _ = _pyarrow()
        column, kind = self._table[name], self._table.schema.field(name).type
        types = pyarrow.types
        checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        if not any(is_kind(kind) for is_kind in checks):
            row = next((k for k, value in enumerate(column) if value.is_valid), 0)
            value = column[row].as_py() if len(column) else None
            raise TableError(self._name, f"{value!r} is not a number", place=self.place(row), column=name)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise TableError(self._name, "a number is missing", place=self.place(row), column=name)
        return column.cast(pyarrow.float64(), safe=False).to_numpy()


def write_parquet(path: Any, columns: dict[str, Any]) -> None:
    """Writes columns of equal length."""
    pyarrow, parquet = _pyarrow()
    large = {name for name, column in columns.items() if any(type(v) is int and v >= 2**63 for v in column)}
    arrays = {
        name: pyarrow.array(list(column), type=pyarrow.uint64() if name in large else None)
        for name, column in columns.items()
    }
    parquet.write_table(pyarrow.table(arrays), path)


def _plain(value: Any) -> Any:
    """Numbers and strings as they are, anything else (a date, a decimal) by its text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet files need PyArrow: pip install 'driftway[cli]'") from None
    return pyarrow, parquet


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
