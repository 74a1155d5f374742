"""Errors about files, each in one line."""

from __future__ import annotations

# Longer cells and names are shortened in messages.
MAX_CHARACTERS = 300


class TableError(ValueError):
    """Error for a file that cannot be used; its message names the file, the place in it, the column and the problem.

    Parameters
    ----------
    file : str
        The name of the file.
    problem : str
        What is wrong.
    place : str, optional
        Where in the file, for example "line 3".
    column : str, optional
        The column with the problem.

    Attributes
    ----------
    column : str or None
        The column with the problem, if there is a single one.

    Examples
    --------
    >>> from driftway.files import TableError
    >>> error = TableError("batch.csv", "must be a number, got 'tall'", place="line 3", column="height")
    >>> str(error), error.column
    ("batch.csv: line 3, column 'height': must be a number, got 'tall'", 'height')

    """

    def __init__(self, file: str, problem: str, *, place: str | None = None, column: str | None = None) -> None:
        where = ", ".join(filter(None, (place, None if column is None else shortened(f"column {column!r}"))))
        told = shortened(problem)
        super().__init__(f"{file}: {where}: {told}" if where else f"{file}: {told}")
        self.column = column


def shortened(text: str) -> str:
    """A text on one line; if it is long, its middle is left out."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS // 2]} … {line[-MAX_CHARACTERS // 2 :]}"


def in_short(error: BaseException) -> str:
    """The message of an error on one line, or the name of its class if it has no message."""
    return shortened(str(error)) or type(error).__name__
