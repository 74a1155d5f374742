"""Reading and writing of Parquet files by PyArrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import TableError, in_short
from driftway.files.limits import unpacked_limit

BYTES_PER_NUMBER = 8


class ParquetFile:
    """The content of a Parquet file. The declared sizes are checked first, and only the wanted columns are read."""

    number = float

    def __init__(self, name: str, content: bytes) -> None:
        _pyarrow()
        if not content:
            raise TableError(name, "the file is empty")
        self._name, self._content = name, content
        with self._reading():
            self._file = self._opened([])
            self._check()
            self.names = list(self._file.schema_arrow.names)

    def load(self, numbers: Sequence[str], texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The columns `numbers` as an array n×d, NaN for missing ones, and `texts` as lists, None for missing ones."""
        with self._reading():
            self._check_plain([*numbers, *texts])
            leaves = (self._file.schema.column(k) for k in range(len(self._file.schema)))
            # Repeated texts are kept in memory once.
            strings = [leaf.path for leaf in leaves if leaf.logical_type.type == "STRING"]
            self._table = self._opened(strings).read(columns=[*numbers, *texts])
            # PyArrow raises here if the file has fewer rows than it declares.
            matrix = np.empty((self._table.num_rows, len(numbers)))
            for j, name in enumerate(numbers):
                matrix[:, j] = self._numbers(name)
            return matrix, {name: [_plain(value) for value in _values(self._table[name])] for name in texts}

    def text_columns(self, names: Sequence[str]) -> list[str]:
        """Those of the columns that hold strings, or categories of any kind."""
        pyarrow, _ = _pyarrow()
        types, schema = pyarrow.types, self._file.schema_arrow
        checks = (types.is_string, types.is_large_string, types.is_dictionary)
        return [name for name in names if any(is_kind(schema.field(name).type) for is_kind in checks)]

    def place(self, row: int) -> str:
        """The number of a row, from 1, as error messages name it."""
        return f"row {row + 1}"

    def _opened(self, strings: list[str]) -> Any:
        pyarrow, parquet = _pyarrow()
        return parquet.ParquetFile(pyarrow.BufferReader(self._content), read_dictionary=strings)

    def _check(self) -> None:
        """Raises if the file declares more than its size allows.

        What its groups of rows declare is asked for, and not what the chunks of their columns do: there PyArrow ends
        the process where a byte is damaged. No column that is read has more values than rows.
        """
        declared, limit = self._file.metadata, unpacked_limit(len(self._content))
        groups = [declared.row_group(k) for k in range(declared.num_row_groups)]
        if min([declared.num_rows, *(group.num_rows for group in groups)]) < 0:
            raise ValueError("it declares a negative number of rows")
        rows = max(declared.num_rows, sum(group.num_rows for group in groups))
        bytes_, cells = sum(max(group.total_byte_size, 0) for group in groups), rows * declared.num_columns
        if max(bytes_, cells * BYTES_PER_NUMBER) > limit:
            told = f"its {len(self._content)} bytes declare {cells} cells and {bytes_} bytes"
            raise ValueError(f"{told}, more than the {limit} bytes that are allowed for this size")

    def _check_plain(self, names: Sequence[str]) -> None:
        """Raises if a column holds lists or records, of which a row may have any number."""
        pyarrow, _ = _pyarrow()
        for name in names:
            kind = self._file.schema_arrow.field(name).type
            if pyarrow.types.is_nested(getattr(kind, "storage_type", kind)):
                raise TableError(self._name, f"its entries must be plain values, got {kind}", column=name)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns any error of PyArrow into a `TableError` of one line."""
        try:
            yield
        except TableError:
            raise
        except Exception as error:
            raise TableError(self._name, f"not a valid Parquet file ({in_short(error)})") from None

    def _numbers(self, name: str) -> npt.NDArray[np.float64]:
        pyarrow, _ = _pyarrow()
        column, kind = self._table[name], self._table.schema.field(name).type
        types = pyarrow.types
        checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        if not any(is_kind(kind) for is_kind in checks):
            row = next((k for k, value in enumerate(column) if value.is_valid), 0)
            value = column[row].as_py() if len(column) else None
            raise TableError(self._name, f"{value!r} is not a number", place=self.place(row), column=name)
        return column.cast(pyarrow.float64(), safe=False).to_numpy()


def _values(column: Any) -> list[Any]:
    """A column as a list; repeated values are the same object."""
    found: list[Any] = []
    for chunk in column.chunks:
        if not hasattr(chunk, "dictionary"):
            found += chunk.to_pylist()
            continue
        words = chunk.dictionary.to_pylist()
        found += [None if at is None else words[at] for at in chunk.indices.to_pylist()]
    return found


def write_parquet(file: IO[bytes], columns: dict[str, Any]) -> None:
    """Writes columns of equal length."""
    pyarrow, parquet = _pyarrow()
    large = {name for name, column in columns.items() if any(type(v) is int and v >= 2**63 for v in column)}
    arrays = {
        name: pyarrow.array(list(column), type=pyarrow.uint64() if name in large else None)
        for name, column in columns.items()
    }
    parquet.write_table(pyarrow.table(arrays), file)


def _plain(value: Any) -> Any:
    """Numbers and strings as they are, anything else (a date, a decimal) as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet files need PyArrow: pip install 'driftway[cli]'") from None
    return pyarrow, parquet
