"""What is wrong with a file, in one line."""

from __future__ import annotations


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
        where = ", ".join(filter(None, (place, None if column is None else f"column {column!r}")))
        super().__init__(f"{file}: {where}: {problem}" if where else f"{file}: {problem}")
        self.column = column
