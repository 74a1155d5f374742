"""A file's features, labels and ids, checked."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.files.csv_file import CsvFile, typed
from driftway.files.errors import TableError, in_short
from driftway.files.limits import size_limit, unpacked_limit
from driftway.files.npz_file import NpzFile
from driftway.files.parquet_file import ParquetFile

# The formats by the ending of a file's name.
FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}
# Where pandas puts row numbers in Parquet files.
INDEX = re.compile(r"__index_level_\d+__")
MANY = 8


class Columns(NamedTuple):
    r"""Which columns of a file are wanted.

    Attributes
    ----------
    features : their names; None for all but label and id
    label : its name, if one is wanted
    id : its name, if one is wanted
    needed : which of label and id must be there

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import Columns, read_table
    >>> content = b"x,y,class\n1,2,a\n3,4,b\n"
    >>> table = read_table(Path("source.csv"), Columns(features=("y",), label="class"), content=content)
    >>> table.X.tolist(), table.labels
    ([[2.0], [4.0]], ['a', 'b'])

    """

    features: tuple[str, ...] | None = None
    label: str | None = None
    id: str | None = None
    needed: frozenset[str] = frozenset({"label", "id"})


@dataclass(frozen=True, eq=False)
class Table:
    r"""The content of a file: n rows of finite numbers, and the label and id of each if there are any.

    Attributes
    ----------
    file : its name, for messages
    digest : SHA-256 of the file
    names : of the features
    X : the features, n×d
    labels, ids : one per row, None where one is missing; None if there is no such column
    place : where a row is in the file, in words

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import Columns, read_table
    >>> table = read_table(Path("batch.csv"), Columns(), content=b"x,y\n1,2\n3,4\n")
    >>> table.names, table.X.shape, table.labels, table.place(1)
    (('x', 'y'), (2, 2), None, 'line 3')

    """

    file: str
    digest: str
    names: tuple[str, ...]
    X: npt.NDArray[np.float64]
    labels: list[Any] | None
    ids: list[Any] | None
    place: Callable[[int], str]


def format_of(path: Path) -> str:
    """The format that the ending of a file's name says: "csv", "parquet" or "npz".

    Parameters
    ----------
    path : Path

    Raises
    ------
    TableError
        If the ending is not one of `FORMATS`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import format_of
    >>> format_of(Path("batch.TSV")), format_of(Path("batch.parquet"))
    ('csv', 'parquet')

    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        what = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
        raise TableError(str(path), f"{what} says no format that is known here ({', '.join(FORMATS)})")
    return kind


def read_content(path: Path) -> bytes:
    """The bytes of a file, unless they are more than fit into memory.

    A hole in a sparse file takes no space on the disk, but it would in memory.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TableError
        If it is not there, cannot be read, or is too large.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import read_content
    >>> read_content(Path("nowhere.csv"))
    Traceback (most recent call last):
    driftway.files.errors.TableError: nowhere.csv: there is no such file

    """
    try:
        size, limit = path.stat().st_size, size_limit()
        if size > limit:
            raise TableError(str(path), f"its {size} bytes are more than the {limit:.0f} that fit into memory")
        return path.read_bytes()
    except FileNotFoundError:
        raise TableError(str(path), "there is no such file") from None
    except OSError as error:
        raise TableError(str(path), f"cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise TableError(str(path), "cannot be read (out of memory)") from None


def read_table(path: Path, columns: Columns, *, separator: str | None = None, content: bytes | None = None) -> Table:
    r"""Reads and checks a CSV, Parquet or NPZ file.

    Parameters
    ----------
    path : Path
        The file; its ending says its format. Parquet needs PyArrow.
    columns : Columns
        Which ones are wanted.
    separator : str, optional
        Of the fields of a CSV file: a comma, or a tab if the name ends in .tsv.
    content : bytes, optional
        What the file holds, if it has been read already.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be read, a column is missing, or a feature is not a finite number; the message says where.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import Columns, read_table
    >>> content = b"id,height,weight,class\n7,1.7,70,a\n8,1.9,90,b\n"
    >>> table = read_table(Path("source.csv"), Columns(label="class", id="id"), content=content)
    >>> table.names, table.X.tolist(), table.labels
    (('height', 'weight'), [[1.7, 70.0], [1.9, 90.0]], ['a', 'b'])
    >>> read_table(Path("batch.csv"), Columns(), content=b"height,weight\n1.9,\n")
    Traceback (most recent call last):
    driftway.files.errors.TableError: batch.csv: line 2, column 'weight': a number is missing

    """
    kind = format_of(path)
    content = read_content(path) if content is None else content
    try:
        return _read(path, kind, columns, separator, content)
    except (TableError, ImportError):
        raise
    except Exception as error:  # whatever a file holds, it is the file that is wrong
        raise TableError(str(path), f"cannot be read ({type(error).__name__}: {in_short(error)})") from error


def _read(path: Path, kind: str, columns: Columns, separator: str | None, content: bytes) -> Table:
    name = str(path)
    file: CsvFile | ParquetFile | NpzFile
    if kind == "csv":
        file = CsvFile(name, content, separator or ("\t" if path.suffix.lower() == ".tsv" else ","))
    else:
        file = ParquetFile(name, content) if kind == "parquet" else NpzFile(name, content)
    features, others = _chosen(name, file.names, columns)
    X, texts = file.load(features, others)
    _check_rows(name, X, features, file.place)
    _check_texts(name, texts, len(content))
    digest = hashlib.sha256(content).hexdigest()
    labels, ids = (None if key is None else _with_gaps(texts.get(key)) for key in (columns.label, columns.id))
    if kind == "csv" and labels is not None:
        labels = _with_gaps(typed(labels))
    return Table(name, digest, features, X, labels, ids, file.place)


def _with_gaps(values: list[Any] | None) -> list[Any] | None:
    """None in the place of NaN, which is how some programs write that there is no label."""
    return None if values is None else [None if value != value else value for value in values]


def _chosen(file: str, names: list[str], columns: Columns) -> tuple[tuple[str, ...], list[str]]:
    """The features, and which of label and id are there."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise TableError(file, "there are several columns of this name", column=twice[0])
    others, there = [], set(names)
    for role, name in (("label", columns.label), ("id", columns.id)):
        if name in there and name is not None:
            others.append(name)
        elif name is not None and role in columns.needed:
            raise _missing(file, names, name)
    if columns.features is not None:
        for name in columns.features:
            if name not in there:
                raise _missing(file, names, name)
        return columns.features, others
    left = [name for name in names if name not in (columns.label, columns.id) and not INDEX.fullmatch(name)]
    if "" in left:
        raise TableError(file, f"column {names.index('') + 1} has no name, so the features must be named")
    if not left:
        raise TableError(file, "there is no column left for features")
    return tuple(left), others


def _missing(file: str, names: list[str], name: str) -> TableError:
    close = get_close_matches(name, names, 1)
    shown = ", ".join(map(repr, names[:MANY])) + (f" and {len(names) - MANY} more" if len(names) > MANY else "")
    hint = f"did you mean {close[0]!r}?" if close else f"it has {shown}"
    if len(names) == 1 and re.search("[;\t|]", names[0]):
        hint = f"its only column is {names[0]!r}: is the separator another one?"
    return TableError(file, f"there is no column {name!r}; {hint}", column=None)


def _check_rows(file: str, X: npt.NDArray[np.float64], names: tuple[str, ...], place: Callable[[int], str]) -> None:
    if not len(X):
        raise TableError(file, "there are no rows")
    finite = np.isfinite(X)
    if not finite.all():
        row, j = np.unravel_index(int(np.argmin(finite)), X.shape)
        problem = f"{X[row, j]:g} is not a finite number"
        raise TableError(file, problem, place=place(int(row)), column=names[j])
    if not (X[0] != X).any():
        raise TableError(file, f"at least two different points are needed, there {_counted(len(X))}")


def _check_texts(file: str, texts: dict[str, list[Any]], size: int) -> None:
    """Repeated texts are packed well and written out in full: they have the limit of all that is unpacked."""
    limit = unpacked_limit(size)
    for name, values in texts.items():
        length = sum(len(value) for value in values if isinstance(value, str))
        if length > limit:
            told = f"{length} characters of text, more than the {limit} that are allowed for a file of {size} bytes"
            raise TableError(file, told, column=name)


def _counted(rows: int) -> str:
    return "is one row" if rows == 1 else f"are {rows} rows, all alike"
