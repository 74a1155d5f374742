"""Reading and checking the files that `driftway adapt` is given."""

from __future__ import annotations

import os
from pathlib import Path

from driftway.cli.estimators import label_values
from driftway.cli.failures import UserError, as_error_of_file, as_user_error
from driftway.cli.places import Places
from driftway.files import Columns, Table, TableError, format_of, read_content, read_table


def read_source(
    path: Path, label: str, id_column: str | None, features: str | None, separator: str | None
) -> tuple[Table, Columns]:
    """The labelled source, and its columns by role."""
    chosen = None if features is None else tuple(name.strip() for name in features.split(","))
    for name in chosen or ():
        if name in (label, id_column, ""):
            raise UserError(f"--features must name columns other than label and id, got {name!r}")
    if chosen is not None and len(set(chosen)) < len(chosen):
        raise UserError(f"--features must name each column once, got {features}")
    columns = Columns(chosen, label, id_column, frozenset({"label"}))
    check_name(path)
    try:
        table = read_table(path, columns, separator=separator)
    except TableError as error:
        hint = "; choose other columns by --features" if chosen is None and error.column is not None else ""
        raise UserError(f"{error}{hint}") from error
    except ImportError as error:
        raise UserError(str(error)) from error
    return table, columns._replace(features=table.names, categories=table.categories)


class Reader:
    """Reads batches with the columns of the source. Labels may be missing, but those that are there are checked."""

    def __init__(self, columns: Columns, separator: str | None, *, regression: bool) -> None:
        self._columns, self._separator = columns._replace(needed=frozenset({"id"})), separator
        self._regression = regression

    def read(self, path: Path, content: bytes | None = None) -> Table:
        """Reads and checks a batch."""
        check_name(path)
        with as_user_error():
            table = read_table(path, self._columns, separator=self._separator, content=content)
        if self._regression and table.labels is not None:
            with as_error_of_file(table.file):
                label_values(table, str(self._columns.label), gaps=True)
        return table

    def read_arrived(self, path: Path) -> Table:
        """Reads a file that may still be written: raises if it is CSV and its last line has no end."""
        with as_user_error():
            content = read_content(path)
        if content and format_of(path) == "csv" and not content.endswith((b"\n", b"\r")):
            raise UserError(f"{path}: the last line does not end, so the file may be incomplete; waiting for a change")
        return self.read(path, content)


def check_name(path: Path) -> None:
    """Raises if the name of a file is not UTF-8, since it is written to the history, the report and the state."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{path}: its name {os.fsencode(path.name)!r} is not UTF-8; rename it") from None


def check_predictions(places: Places, files: list[Path]) -> None:
    """Raises if two batches would have the same file of predictions."""
    taken: dict[Path, Path] = {}
    for path in files:
        places.check(path.name)
        other = taken.setdefault(places.predictions(path.name), path)
        if other is not path and other.resolve() == path.resolve():
            raise UserError(f"{path}: this batch is named twice")
        if other is not path:
            raise UserError(f"{path}: its predictions would overwrite those of {other}; rename one of them")
