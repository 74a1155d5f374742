"""What is wrong with a file, in one line."""

from __future__ import annotations

# Characters of a message's part: a cell or a name may be as long as a book.
LONGEST = 300


class TableError(ValueError):
    """A file that cannot be used; the message says which file, where in it, which column, and what is wrong.

    Parameters
    ----------
    file : str
        The name of the file.
    problem : str
        What is wrong.
    place : str, optional
        Where in the file.
    column : str, optional
        The column that is not as it should be.

    Attributes
    ----------
    column : the column that is not as it should be, if it is one

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
    """A text on one line, without its middle if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"


def in_short(error: BaseException) -> str:
    """What an error says, or what it is if it says nothing."""
    return shortened(str(error)) or type(error).__name__
