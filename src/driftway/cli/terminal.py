"""What is shown where: results on stdout, everything else on stderr, bars and colours on terminals only."""

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


def tell(line: str) -> None:
    """A line for people who watch."""
    _write(sys.stderr, line)


def result(line: str) -> None:
    """A line of the result."""
    _write(sys.stdout, line)


def _write(stream: TextIO, line: str) -> None:
    """At once, and above a bar if there is one.

    Names of files may hold anything: what is not printable, such as an end of a line or a terminal's control sequence,
    is written as an escape sequence, and so is what the stream cannot encode.
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(shown.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def result_json(values: Mapping[str, Any]) -> None:
    """One line of JSON; what is not a finite number is null."""
    result(json.dumps({name: plain(value) for name, value in values.items()}))


def plain(value: Any) -> Any:
    """A number that JSON has, or None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def on_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stderr.isatty()


class Bar:
    """A progress bar, which may be told how far the work is and what is being done; silent without a terminal."""

    def __init__(self, progress: Progress | None, total: int | None) -> None:
        self._progress = progress
        self._task = TaskID(0) if progress is None else progress.add_task("", total=total)

    def doing(self, what: str) -> None:
        """Shows what is being done."""
        if self._progress is not None:
            self._progress.update(self._task, description=escape(what))

    def advance(self) -> None:
        """Shows that one more is done."""
        if self._progress is not None:
            self._progress.advance(self._task)


@contextmanager
def bar(total: int | None) -> Iterator[Bar]:
    """A bar on stderr if that is a terminal; without a total it only shows that something goes on."""
    if not on_terminal():
        yield Bar(None, total)
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(), MofNCompleteColumn()]
    progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with progress:
        yield Bar(progress, total)
