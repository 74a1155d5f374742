"""The files that `driftway adapt` is given, read and checked."""

from __future__ import annotations

import os
from pathlib import Path

from driftway.cli.estimators import label_values
from driftway.cli.failures import UserError, blamed_on, users_to_mend
from driftway.cli.places import Places
from driftway.files import Columns, Table, TableError, format_of, read_content, read_table


def read_source(
    path: Path, label: str, id_column: str | None, features: str | None, separator: str | None
) -> tuple[Table, Columns]:
    """The source, and the columns by their names."""
    chosen = None if features is None else tuple(name.strip() for name in features.split(","))
    for name in chosen or ():
        if name in (label, id_column, ""):
            raise UserError(f"--features must name columns other than label and id, got {name!r}")
    if chosen is not None and len(set(chosen)) < len(chosen):
        raise UserError(f"--features must name every column once, got {features}")
    columns = Columns(chosen, label, id_column, frozenset({"label"}))
    check_name(path)
    try:
        table = read_table(path, columns, separator=separator)
    except TableError as error:
        hint = "; --features chooses columns" if chosen is None and error.column is not None else ""
        raise UserError(f"{error}{hint}") from error
    except ImportError as error:
        raise UserError(str(error)) from error
    return table, columns._replace(features=table.names)


class Reader:
    """Reads batches with the columns of the source; the label is there or not, but is what it should be if it is."""

    def __init__(self, columns: Columns, separator: str | None, *, regression: bool) -> None:
        self._columns, self._separator = columns._replace(needed=frozenset({"id"})), separator
        self._regression = regression

    def read(self, path: Path, content: bytes | None = None) -> Table:
        """Reads and checks a batch."""
        check_name(path)
        with users_to_mend():
            table = read_table(path, self._columns, separator=self._separator, content=content)
        if self._regression and table.labels is not None:
            with blamed_on(table.file):
                label_values(table, str(self._columns.label), gaps=True)
        return table

    def read_arrived(self, path: Path) -> Table:
        """Reads a file that may not be whole: text without an end of its last line is not."""
        with users_to_mend():
            content = read_content(path)
        if content and format_of(path) == "csv" and not content.endswith((b"\n", b"\r")):
            raise UserError(f"{path}: its last line has no end, so it is left alone as half-written until it changes")
        return self.read(path, content)


def check_name(path: Path) -> None:
    """The name of a file goes into the history, the report and the state, so it must be text."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{path}: its name {os.fsencode(path.name)!r} is not UTF-8; rename it") from None


def check_predictions(places: Places, files: list[Path]) -> None:
    """Every batch must have predictions of its own."""
    taken: dict[Path, Path] = {}
    for path in files:
        places.check(path.name)
        other = taken.setdefault(places.predictions(path.name), path)
        if other is not path:
            raise UserError(f"{path}: its predictions would overwrite those of {other}; rename one of them")
