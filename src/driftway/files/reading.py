"""Reading a table: its features, labels and ids, checked."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.files.csv_file import CsvFile
from driftway.files.errors import TableError, in_short
from driftway.files.kinds import holds_categories, known, numbers
from driftway.files.limits import size_limit, unpacked_limit
from driftway.files.npz_file import NpzFile
from driftway.files.parquet_file import ParquetFile

# Formats by the extension of the file's name.
FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}
# The columns in which pandas keeps its index in Parquet files.
PANDAS_INDEX = re.compile(r"__index_level_\d+__")
# A message about a missing column lists at most this many of those that are there.
LISTED_COLUMNS = 8


class Columns(NamedTuple):
    r"""The columns to read from a file, by role.

    Attributes
    ----------
    features : tuple of str or None
        Names of the features; None for all columns except label and id.
    label : str or None
        Name of the column of labels, if it is wanted.
    id : str or None
        Name of the column of ids, if it is wanted.
    needed : set of str
        Which of "label" and "id" must be in the file.
    categories : set of str or None
        Names of the features that hold categories, not numbers; None for those in which no value is a number.

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
    categories: frozenset[str] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    r"""The content of a file: n rows of features, with their labels and ids if the file has them.

    Attributes
    ----------
    file : str
        The name of the file, for messages.
    digest : str
        The SHA-256 digest of the file.
    names : tuple of str
        The names of the features.
    X : array of shape (n, d)
        The features: finite numbers, NaN where one is missing. If some are categories it holds objects: these as
        texts, and None where one is missing.
    categories : set of str
        The names of the features that are categories.
    labels, ids : list or None
        One entry per row, None where it is missing; None if there is no such column.
    place : callable
        From the index of a row to its place in the file, for example "line 3".

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
    X: npt.NDArray[Any]
    categories: frozenset[str]
    labels: list[Any] | None
    ids: list[Any] | None
    place: Callable[[int], str]


def format_of(path: Path) -> str:
    """The format of a file by the extension of its name: "csv", "parquet" or "npz".

    Parameters
    ----------
    path : Path

    Returns
    -------
    str

    Raises
    ------
    TableError
        If the extension is not one of `FORMATS`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import format_of
    >>> format_of(Path("batch.TSV")), format_of(Path("batch.parquet"))
    ('csv', 'parquet')

    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        got = f"unknown extension {path.suffix!r}" if path.suffix else "the name has no extension"
        raise TableError(str(path), f"{got}; it must be one of {', '.join(FORMATS)}")
    return kind


def read_content(path: Path) -> bytes:
    """The bytes of a file, if they fit into memory.

    The size is checked first, since a sparse file may be far larger than the space it takes on the disk, and no more is
    read, since a file may grow faster than it is read.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bytes

    Raises
    ------
    TableError
        If the file does not exist, cannot be read, is too large, is a pipe or a device, or changes while it is read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import read_content
    >>> read_content(Path("nowhere.csv"))
    Traceback (most recent call last):
    driftway.files.errors.TableError: nowhere.csv: there is no such file

    """
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            found, limit = os.fstat(file.fileno()), size_limit()
            if not S_ISREG(found.st_mode):
                raise TableError(str(path), "it is no regular file; pipes and devices are not read")
            if found.st_size > limit:
                told = f"the file is too large: {found.st_size} bytes, at most {limit:.0f} fit into memory"
                raise TableError(str(path), told)
            content = file.read(found.st_size) if found.st_size else b""
            if len(content) != found.st_size or os.fstat(file.fileno()).st_size != found.st_size:
                raise TableError(str(path), "it changed while it was read")
        return content
    except FileNotFoundError:
        raise TableError(str(path), "there is no such file") from None
    except OSError as error:
        raise TableError(str(path), f"cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise TableError(str(path), "cannot be read (out of memory)") from None


def _opened_at_once(path: str, flags: int) -> int:
    """Opens a file without waiting, as the opening of a pipe would do, for somebody who writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_table(path: Path, columns: Columns, *, separator: str | None = None, content: bytes | None = None) -> Table:
    r"""Reads a CSV, Parquet or NPZ file and checks its content.

    Parameters
    ----------
    path : Path
        The file; the extension of its name says its format. Parquet needs PyArrow.
    columns : Columns
        The columns to read.
    separator : str, optional
        The separator of fields in a CSV file. By default a comma (a tab if the name ends in .tsv), or if the header has
        none, the most frequent of semicolons, tabs and bars. Where it is no comma, numbers may have decimal commas.
    content : bytes, optional
        The bytes of the file, if they have been read already.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be read, a column is missing, a number is infinite, or a column has both numbers and other
        texts. The message says where.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.files import Columns, read_table
    >>> content = b"id,height,weight,class\n7,1.7,70,a\n8,1.9,90,b\n"
    >>> table = read_table(Path("source.csv"), Columns(label="class", id="id"), content=content)
    >>> table.names, table.X.tolist(), table.labels
    (('height', 'weight'), [[1.7, 70.0], [1.9, 90.0]], ['a', 'b'])
    >>> read_table(Path("batch.csv"), Columns(), content=b"height,weight\n1.7,70\n1.9,heavy\n")
    Traceback (most recent call last):
    driftway.files.errors.TableError: batch.csv: line 3, column 'weight': 'heavy' is not a number
    >>> table = read_table(Path("batch.csv"), Columns(), content=b"height,colour\n1.7,red\nNA,blue\n")
    >>> table.X.tolist(), set(table.categories)
    ([[1.7, 'red'], [nan, 'blue']], {'colour'})

    """
    kind = format_of(path)
    content = read_content(path) if content is None else content
    try:
        return _read(path, kind, columns, separator, content)
    except (TableError, ImportError):
        raise
    except Exception as error:  # readers may raise anything for a damaged file
        raise TableError(str(path), f"cannot be read ({type(error).__name__}: {in_short(error)})") from error


def _read(path: Path, kind: str, columns: Columns, separator: str | None, content: bytes) -> Table:
    name = str(path)
    file: CsvFile | ParquetFile | NpzFile
    if kind == "csv":
        file = CsvFile(name, content, separator, usual="\t" if path.suffix.lower() == ".tsv" else ",")
    else:
        file = ParquetFile(name, content) if kind == "parquet" else NpzFile(name, content)
    features, others = _chosen(name, file.names, columns)
    wordy = file.text_columns(features)
    if columns.categories is not None and kind == "csv":
        wordy = [each for each in features if each in columns.categories]
    other = set(wordy)  # of thousands of columns a list would be searched for each
    found, texts = file.load([each for each in features if each not in other], [*wordy, *others])
    _check_texts(name, texts, len(content))
    X, categories = _features(file, name, features, found, {each: texts[each] for each in wordy}, columns.categories)
    _check_rows(name, X, features, file.place)
    digest = hashlib.sha256(content).hexdigest()
    labels, ids = (None if key is None else _with_gaps(texts.get(key)) for key in (columns.label, columns.id))
    if isinstance(file, CsvFile) and labels is not None:
        labels = _with_gaps(file.typed(labels))
    return Table(name, digest, features, X, categories, labels, ids, file.place)


def _features(
    file: CsvFile | ParquetFile | NpzFile,
    name: str,
    features: tuple[str, ...],
    found: npt.NDArray[np.float64],
    texts: dict[str, list[Any]],
    declared: frozenset[str] | None,
) -> tuple[npt.NDArray[Any], frozenset[str]]:
    """The features in their order, from columns of numbers and of texts, and which are categories."""
    columns: dict[str, Any] = dict(zip((each for each in features if each not in texts), found.T, strict=True))
    categories = []
    for each, values in texts.items():
        column = [known(value) for value in values]
        if each in declared if declared is not None else holds_categories(name, each, column, file.number, file.place):
            categories.append(each)
            columns[each] = column
        else:
            columns[each] = numbers(name, each, column, file.number, file.place)
    if not texts:
        return found, frozenset()
    X = np.empty((len(found), len(features)), dtype=object if categories else np.float64)
    for j, each in enumerate(features):
        X[:, j] = columns[each]
    return X, frozenset(categories)


def _with_gaps(values: list[Any] | None) -> list[Any] | None:
    """The values with None instead of NaN, which some programs write for a missing label."""
    return None if values is None else [None if value != value else value for value in values]


def _chosen(file: str, names: list[str], columns: Columns) -> tuple[tuple[str, ...], list[str]]:
    """The names of the features, and those of label and id that are in the file."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise TableError(file, "several columns have this name", column=twice[0])
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
    left = [name for name in names if name not in (columns.label, columns.id) and not PANDAS_INDEX.fullmatch(name)]
    if "" in left:
        hint = " (pandas writes its index so, unless to_csv has index=False)" if names[0] == "" else ""
        problem = f"column {names.index('') + 1} has no name{hint}; give it one, or choose the features by name"
        raise TableError(file, problem)
    if not left:
        raise TableError(file, "there are no features: all columns are label or id")
    return tuple(left), others


def _missing(file: str, names: list[str], name: str) -> TableError:
    close = get_close_matches(name, names, 1)
    more = len(names) - LISTED_COLUMNS
    shown = ", ".join(map(repr, names[:LISTED_COLUMNS])) + (f" and {more} more" if more > 0 else "")
    hint = f"the most similar one is {close[0]!r}" if close else f"its columns are {shown}"
    if len(names) == 1 and re.search("[;\t|]", names[0]):
        hint = f"its only column is {names[0]!r}, so the separator is another one"
    return TableError(file, f"there is no column {name!r}; {hint}", column=None)


def _check_rows(file: str, X: npt.NDArray[Any], names: tuple[str, ...], place: Callable[[int], str]) -> None:
    if not len(X):
        raise TableError(file, "there are no rows")
    infinite = np.isinf(X) if X.dtype != object else np.isin(X, [np.inf, -np.inf])
    if infinite.any():
        row, j = np.unravel_index(int(np.argmax(infinite)), X.shape)
        problem = f"{X[row, j]:g} is not a finite number"
        raise TableError(file, problem, place=place(int(row)), column=names[j])
    if not (X[0] != X).any():
        raise TableError(file, f"at least two different rows are needed, but there {_counted(len(X))}")


def _check_texts(file: str, texts: dict[str, list[Any]], size: int) -> None:
    """Raises if the texts are longer than the file may unpack to: repeated texts compress to almost nothing."""
    limit = unpacked_limit(size)
    for name, values in texts.items():
        length = sum(len(value) for value in values if isinstance(value, str))
        if length > limit:
            told = f"{length} characters of text are more than the {limit} that are allowed for a file of {size} bytes"
            raise TableError(file, told, column=name)


def _counted(rows: int) -> str:
    return "is one" if rows == 1 else f"are {rows} equal ones"
