"""What is wrong with a file, in one line."""

from __future__ import annotations


class TableError(ValueError):
    """A file that cannot be used: which one, where in it, which column, and what it should be.

    Attributes
    ----------
    column : the column that is not as it should be, if it is one

    """

    def __init__(self, file: str, problem: str, *, place: str | None = None, column: str | None = None) -> None:
        where = ", ".join(filter(None, (place, None if column is None else f"column {column!r}")))
        super().__init__(f"{file}: {where}: {problem}" if where else f"{file}: {problem}")
        self.column = column
