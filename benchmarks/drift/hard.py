"""Hard tables for development: classes that overlap, many classes of few rows, codes, wrong labels, weak features.

The other development tables are easier than most: what goes wrong where classes overlap does not show on them. These
are made, or left out of both splits for other reasons, so that nobody reports them. They belong to the development
split for ever.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.drift.tables import LEFT_OUT, Table, load_table, read_words
from benchmarks.streams import Double, Labels, Sample

ROWS = 1200
WRONG = 0.25  # the part of the labels that are drawn anew


def gaussians(
    seed: int, shares: tuple[float, ...], d: int, apart: float, *, tails: float = np.inf, redundant: int = 0
) -> Sample:
    """Classes with Student-t features around centres `apart` deviations from their middle, each with its own spread.

    Features are correlated, and the last `redundant` ones are noisy sums of the others.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), ROWS, p=shares)
    own = d - redundant
    centres = rng.normal(size=(len(shares), own))
    centres *= apart / np.linalg.norm(centres - centres.mean(axis=0), axis=1, keepdims=True)
    spreads = np.exp(0.2 * rng.normal(size=(len(shares), own)))
    noise = rng.normal(size=(ROWS, own)) if np.isinf(tails) else rng.standard_t(tails, size=(ROWS, own))
    X = centres[y] + spreads[y] * noise @ (np.eye(own) + 0.3 * rng.normal(size=(own, own)) / np.sqrt(own))
    further = X @ rng.normal(size=(own, redundant)) / np.sqrt(own) + 0.3 * rng.normal(size=(ROWS, redundant))
    return np.hstack([X, further]), y


def ordered() -> Sample:
    """Five grades of one hidden number, seen through ten noisy columns of small whole numbers."""
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=ROWS)
    y = np.digitize(hidden + 0.7 * rng.normal(size=ROWS), (-1.0, -0.3, 0.3, 1.0))
    loads = rng.uniform(0.2, 0.9, size=10)
    return np.round(2.0 + hidden[:, None] * loads + 0.8 * rng.normal(size=(ROWS, 10))), y


def nested() -> Sample:
    """One class lies within the other: the same centre, half the spread."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, ROWS)
    return rng.normal(size=(ROWS, 8)) * np.where(y == 1, 0.55, 1.0)[:, None] + 0.2 * y[:, None], y


def rules() -> Sample:
    """Columns of two to four values, and a class that is a rule over three of them, wrong in one row of twenty."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.integers(1, 1 + values, ROWS) for values in (3, 3, 2, 3, 4, 2)]).astype(np.float64)
    y = (X[:, 0] == X[:, 1]) | (X[:, 4] == 1)
    return X, (y ^ (rng.random(ROWS) < 0.05)).astype(np.int64)


def many() -> Sample:
    """Fifteen classes of 24 rows, in 40 columns that are smooth curves."""
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(15), 24)
    curves = np.cumsum(np.cumsum(rng.normal(size=(15, 40)), axis=1), axis=1)
    own = np.cumsum(np.cumsum(rng.normal(size=(len(y), 40)), axis=1), axis=1)
    return curves[y] + 1.2 * own, y


def words(name: str) -> Sample:
    """A table of KEEL's whose words stand for numbers, in their alphabetical order."""
    rows = read_words(name)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return np.column_stack([_numbers(column) for column in columns[:-1]]), np.unique(columns[-1], return_inverse=True)[
        1
    ]


def wrongly_labelled(name: str) -> Sample:
    """A development table in which a part of the labels is drawn anew."""
    table, rng = load_table(name), np.random.default_rng(9)
    anew = rng.random(len(table.y)) < WRONG
    return table.X, np.where(anew, rng.permutation(table.y), table.y)


def weak(name: str, columns: tuple[int, ...], rows: int = ROWS) -> Sample:
    """Some columns and rows of a development table."""
    table = load_table(name)
    return table.X[:rows, columns], table.y[:rows]


def _numbers(column: Labels) -> Double:
    try:
        return column.astype(np.float64)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float64)


MADE: dict[str, Callable[[], Sample]] = {
    "two near": lambda: gaussians(0, (0.5, 0.5), 6, 0.6),
    "two unequal": lambda: gaussians(1, (0.3, 0.7), 8, 0.9, tails=3.0, redundant=3),
    "two nearly the same": lambda: gaussians(2, (0.6, 0.4), 5, 0.35),
    "three unequal": lambda: gaussians(3, (0.6, 0.3, 0.1), 12, 1.4, redundant=4),
    "six near": lambda: gaussians(4, (0.3, 0.2, 0.2, 0.1, 0.1, 0.1), 20, 1.8, tails=5.0, redundant=8),
    "grades": ordered,
    "nested": nested,
    "rules": rules,
    "many small": many,
}
CODED = ("german", "crx", "saheart", "tic-tac-toe", "heart", "sonar")
SPOILT: dict[str, Callable[[], Sample]] = {
    "vehicle with wrong labels": lambda: wrongly_labelled("vehicle"),
    "pima with wrong labels": lambda: wrongly_labelled("pima"),
    "phoneme with two columns": lambda: weak("phoneme", (0, 2)),
    "satimage with two columns": lambda: weak("satimage", (0, 17)),
    "segment with few rows": lambda: weak("segment", (0, 1, 9, 12, 15, 17), 240),
}
HARD: dict[str, Callable[[], Sample]] = {
    **MADE,
    **{f"{name} in numbers": lambda name=name: words(name) for name in CODED},  # type: ignore[misc]
    **SPOILT,
}
assert set(CODED) <= set(LEFT_OUT)


def load_hard(name: str) -> Table:
    """A hard table by its name: columns that vary."""
    X, y = HARD[name]()
    y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return Table(name, X[:, np.ptp(X, axis=0) > 0], y)
