"""Writing a table to a file, in the format that its name says."""

from __future__ import annotations

import csv
import math
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from driftway.files.atomic import replacing
from driftway.files.parquet_file import write_parquet
from driftway.files.reading import format_of

# A spreadsheet may execute cells that begin so: with the full-width signs of East Asian keyboards, too.
SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
# Where one may begin: at the beginning of a cell, and after what another program takes for its end. Each of these
# separates cells in some country or program, whatever the file was written with.
FORMULA = re.compile(rf"^(?=[\t\r\n])|(?:^|(?<=[,;|\t\r\n]))(?=[ \"]*[{SIGNS}])")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def write_table(path: Path, columns: Mapping[str, Sequence[Any]], *, escape: bool = False) -> None:
    """Writes columns of equal length to a CSV, Parquet or NPZ file, as a whole or not at all.

    Numbers are written exactly. In CSV, missing values (None and NaN) are empty fields.

    Parameters
    ----------
    path : Path
        The file; the extension of its name says its format. Parquet needs PyArrow. An existing file is replaced when
        the new one is complete.
    columns : mapping of str to sequence
        The columns by name.
    escape : bool, optional
        Whether to put an apostrophe before texts in CSV that a spreadsheet would execute as a formula.

    Raises
    ------
    TableError
        If the extension says no known format.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftway.files import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "predictions.csv"
    ...     write_table(path, {"id": ["a", "b"], "predicted": [0.1, None]})
    ...     print(path.read_text(), end="")
    id,predicted
    a,0.1
    b,

    """
    plain = {name: _plain(column) for name, column in columns.items()}
    with replacing(path) as part:
        kind = format_of(path)
        if kind == "parquet":
            with part.open("wb") as file:
                write_parquet(file, plain)
        elif kind == "npz":
            # np.savez would take a column called `file` for its own argument.
            with zipfile.ZipFile(part, "w") as archive:
                for name, column in plain.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, _vector(column), allow_pickle=False)
        else:
            with part.open("w", newline="", encoding="utf-8") as text:
                _write_rows(text, path, [tuple(plain), *zip(*plain.values(), strict=True)], escape)


def append_row(path: Path, row: Mapping[str, Any], *, escape: bool = False) -> None:
    """Appends one row to a CSV file that `write_table` wrote, in the same form.

    Parameters
    ----------
    path : Path
        The file.
    row : mapping of str to value
        The values by column, in the order of the columns.
    escape : bool, optional
        As for `write_table`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftway.files import append_row, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "history.csv"
    ...     write_table(path, {"step": [1], "drift": [0.5]})
    ...     append_row(path, {"step": 2, "drift": 0.75})
    ...     print(path.read_text(), end="")
    step,drift
    1,0.5
    2,0.75

    """
    plain = {name: _plain([value]) for name, value in row.items()}
    with path.open("a", newline="", encoding="utf-8") as text:
        _write_rows(text, path, zip(*plain.values(), strict=True), escape)


def _write_rows(text: TextIO, path: Path, rows: Iterable[tuple[Any, ...]], escape: bool) -> None:
    form: dict[str, Any] = {"delimiter": "\t" if path.suffix.lower() == ".tsv" else ",", "lineterminator": "\n"}
    writer, quoting = csv.writer(text, **form), csv.writer(text, **form, quoting=csv.QUOTE_ALL)
    shown = _escaped if escape else _shown
    for row in rows:
        # Not every version of Python quotes a field with a carriage return.
        returns = any(isinstance(value, str) and "\r" in value for value in row)
        (quoting if returns else writer).writerow(map(shown, row))


def _plain(column: Sequence[Any]) -> list[Any]:
    """The values as Python objects of one type: all texts if one is a text, else all floats if one is a float."""
    values = [value.item() if isinstance(value, np.generic) else value for value in column]
    kinds = {type(value) for value in values}
    kind = str if str in kinds else float if float in kinds and int in kinds else None
    return values if kind is None else [value if value is None else kind(value) for value in values]


def _vector(column: list[Any]) -> npt.NDArray[Any]:
    """The column as an array of numbers, or of texts if it has any; a missing text is ""."""
    if any(isinstance(value, str) for value in column):
        return np.array(["" if value is None else str(value) for value in column])
    if column and all(type(value) is int for value in column) and min(column) >= 0 and max(column) < 2**64:
        # By default NumPy turns integers on both sides of 2⁶³ into floats.
        return np.array(column, np.uint64 if max(column) >= 2**63 else np.int64)
    return np.array([math.nan if value is None else value for value in column])


def _shown(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _escaped(value: Any) -> Any:
    """The value, with an apostrophe before whatever a spreadsheet would take for the beginning of a formula."""
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        return FORMULA.sub("'", value)
    return _shown(value)
