"""Columns of tables as numbers: every category becomes a column of 0 and 1, and gaps are filled by what is usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from driftway.adaptation.source.cells import Cells, categories_in, holds_categories, missing_in, numbers_in

Double = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The most frequent categories of a column have a column of their own, all rarer ones share one.
MOST_CATEGORIES = 30
# A text that is another one in more than this share of at least so many rows is a name of the row, not a category.
OF_ITS_OWN, ENOUGH_ROWS = 0.5, 20
# How the columns of rarer categories, and of what is missing, are called.
RARER, MISSING = "(rarer)", "(missing)"

Categories = Mapping[str, tuple[str | None, ...]]


class Rows(NamedTuple):
    """Rows as numbers (m×D), NaN where one is missing, and what had no number.

    `gaps` says which cells of the table are missing (m×d), `unseen` has the categories that are new by column and row.
    """

    points: Double
    gaps: Flags
    unseen: dict[str, dict[int, str]]

    @property
    def empty(self) -> Flags:
        """Which rows have nothing in them."""
        return np.asarray(self.gaps.all(axis=1))


@dataclass(frozen=True, eq=False)
class TableColumns:
    """What the columns of the labelled source are: numbers, or categories, which are encoded as columns of 0 and 1.

    Attributes
    ----------
    names : tuple of str
        The names of the columns.
    categories : dict
        By name of a column of categories, those that have a column of their own: None stands for what is missing.
    rarer : dict
        By name, the categories that share a column, since there are too many.
    missing : dict
        By name, how many cells of the source are missing, where some are.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> X = np.array([[1.0, "red"], [2.0, "blue"], [None, "red"], [4.0, "blue"]], dtype=object)
    >>> columns = ContinuousTransportClassifier(estimator=None).fit(X, [0, 1, 0, 1]).columns_
    >>> columns.names, columns.categories, columns.missing
    (('feature 0', 'feature 1'), {'feature 1': ('blue', 'red')}, {'feature 0': 1})
    >>> columns.encoded_names
    ('feature 0', 'feature 1=blue', 'feature 1=red')

    """

    names: tuple[str, ...]
    categories: Categories = field(default_factory=dict)
    rarer: Categories = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def learned(cls, names: Sequence[str], cells: Cells, declared: Sequence[bool]) -> Self:
        """From the cells of the source; a column that is `declared` holds categories whatever they look like."""
        if len(set(names)) < len(names):
            raise ValueError(f"columns must have names of their own, got {list(names)}")
        categories, rarer = {}, {}
        for name, column, said in zip(names, cells.T, declared, strict=True):
            if holds_categories(name, column, said):
                categories[name], rarer[name] = _by_frequency(name, categories_in(column))
        return cls(tuple(names), categories, rarer)

    def counted(self, gaps: Flags) -> Self:
        """The same, with the number of cells that are missing on the source; a column without any is refused."""
        for name, column in zip(self.names, gaps.T, strict=True):
            if column.all():
                raise ValueError(f"X must have a value in every column, but {name!r} has none on the source")
        numbers = gaps.sum(axis=0).tolist()
        return replace(self, missing={name: n for name, n in zip(self.names, numbers, strict=True) if n})

    def named(self, names: Sequence[str]) -> Self:
        """The same under other names, one for each column."""
        new = dict(zip(self.names, names, strict=True))
        return type(self)(
            tuple(names),
            {new[name]: found for name, found in self.categories.items()},
            {new[name]: found for name, found in self.rarer.items()},
            {new[name]: count for name, count in self.missing.items()},
        )

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """The names of the columns of numbers; those of categories are where their column was."""
        return tuple(each for name in self.names for each in self._encoded_as(name))

    def encoded(self, cells: Cells) -> Rows:
        """Rows as numbers.

        A category that the source does not have is 0 in all its columns. So is a missing one, unless some are missing
        on the source: then that is a category, too.
        """
        gaps, parts = missing_in(cells), []
        unseen: dict[str, dict[int, str]] = {}
        for name, column in zip(self.names, cells.T, strict=True):
            if name not in self.categories:
                parts.append(numbers_in(name, column)[:, None])
                continue
            texts, known = categories_in(column), {*self.categories[name], *self.rarer[name]}
            if new := {row: text for row, text in enumerate(texts) if text is not None and text not in known}:
                unseen[name] = new
            parts.append(self._one_hot(name, texts))
        return Rows(np.hstack(parts), gaps, unseen)

    def described(self) -> dict[str, Any]:
        """In values that JSON has; `columns_in` reads them."""
        return {
            "names": list(self.names),
            "categories": {name: list(found) for name, found in self.categories.items()},
            "rarer": {name: list(found) for name, found in self.rarer.items()},
            "missing": dict(self.missing),
        }

    def _encoded_as(self, name: str) -> list[str]:
        if name not in self.categories:
            return [name]
        kept = [f"{name}={MISSING if each is None else each}" for each in self.categories[name]]
        found = [*kept, f"{name}={RARER}"] if self.rarer[name] else kept
        return found if len(found) > 1 else []  # a single one tells nothing

    def _one_hot(self, name: str, texts: Sequence[str | None]) -> Double:
        width = len(self._encoded_as(name))
        places = {text: place for place, text in enumerate(self.categories[name])}
        places |= dict.fromkeys(self.rarer[name], len(places))
        return np.equal.outer([places.get(text, -1) for text in texts], np.arange(width)).astype(np.float64)


def columns_in(described: Any, encoded: int) -> TableColumns:
    """What `described` wrote, for so many columns of numbers; a ValueError for what it cannot have written."""
    if not isinstance(described, dict) or set(described) != {"names", "categories", "rarer", "missing"}:
        raise ValueError("the columns of its table are not described")
    names, categories, rarer, missing = (described[key] for key in ("names", "categories", "rarer", "missing"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("the columns of its table have no names of their own")
    for found in (categories, rarer):
        if not isinstance(found, dict) or set(found) != set(categories) or not set(found) <= set(names):
            raise ValueError("the categories of its table belong to no columns")
        if not all(isinstance(each, list) and all(_is_text(text) for text in each) for each in found.values()):
            raise ValueError("the categories of its table are no texts")
    for name in categories:
        together = [*categories[name], *rarer[name]]
        if len(set(together)) < len(together) or len(categories[name]) > MOST_CATEGORIES + 1:
            raise ValueError(f"the categories of its column {name!r} are too many, or there twice")
    counts = missing.values() if isinstance(missing, dict) and set(missing) <= set(names) else [-1]
    if not all(type(count) is int and count > 0 for count in counts):
        raise ValueError("the missing cells of its table are no numbers by column")
    kept, shared = ({name: tuple(each) for name, each in found.items()} for found in (categories, rarer))
    columns = TableColumns(tuple(names), kept, shared, missing)
    if len(columns.encoded_names) != encoded:
        raise ValueError(f"its table has {len(columns.encoded_names)} columns of numbers, {encoded} are wanted")
    return columns


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _by_frequency(name: str, texts: list[str | None]) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    """The categories that have a column each, in order, and the rarer ones that share one."""
    counts = Counter(text for text in texts if text is not None)
    there = counts.total()
    if there >= ENOUGH_ROWS and len(counts) > OF_ITS_OWN * there:
        raise ValueError(
            f"column {name!r} has {len(counts)} different texts in {there} rows: these are names of rows, no "
            "categories; leave the column out"
        )
    gone: list[str | None] = [None] * (there < len(texts))
    frequent = sorted(counts, key=lambda text: (-counts[text], text))
    if len(frequent) > MOST_CATEGORIES:
        return (*sorted(frequent[:MOST_CATEGORIES]), *gone), tuple(sorted(frequent[MOST_CATEGORIES:]))
    return (*sorted(frequent), *gone), ()
