"""Output: results on stdout, everything else on stderr, progress bars on terminals only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


def print_message(line: str) -> None:
    """Writes a line to stderr."""
    _write(sys.stderr, line)


def print_result(line: str) -> None:
    """Writes a line to stdout."""
    _write(sys.stdout, line)


def _write(stream: TextIO, line: str) -> None:
    """Writes a line and flushes.

    Names of files may hold any character. Those that are not printable, such as a line break or a control sequence of
    terminals, are written as escape sequences, and so are those that the stream cannot encode.
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(shown.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def print_json(values: Mapping[str, Any]) -> None:
    """Writes values to stdout as one line of JSON; infinities and NaN, which JSON lacks, are null."""
    print_result(json.dumps({name: _json_value(value) for name, value in values.items()}))


def _json_value(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def on_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr.isatty()


class Bar:
    """A progress bar with a description; it shows nothing if stderr is not a terminal."""

    def __init__(self, progress: Progress | None, total: int | None) -> None:
        self._progress = progress
        self._task = TaskID(0) if progress is None else progress.add_task("", total=total)

    def doing(self, what: str) -> None:
        """Changes the description."""
        if self._progress is not None:
            self._progress.update(self._task, description=escape(what))

    def advance(self) -> None:
        """Counts one more item as done."""
        if self._progress is not None:
            self._progress.advance(self._task)


@contextmanager
def bar(total: int | None) -> Iterator[Bar]:
    """Context manager: a progress bar on stderr if that is a terminal; without a total it is a spinner."""
    if not on_terminal():
        yield Bar(None, total)
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(), MofNCompleteColumn()]
    progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with progress:
        yield Bar(progress, total)
