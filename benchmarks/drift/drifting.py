"""A table under a kind of drift, as a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.drift.kinds import Kind, Now, Rng
from benchmarks.drift.tables import number_of
from benchmarks.streams import Double, Sample, Stream

BROKEN = 15.0  # what a broken sensor reads, in standard deviations of the source
FAR = 20.0  # how far away a batch of garbage is
WIDE = 10.0  # how many times as wide
TILTED = 2.0  # where the logarithm of a tilt ends, so that no outlier is all that is drawn


@dataclass(frozen=True)
class Units:
    """The source's mean and deviation, per feature."""

    mean: Double
    deviation: Double

    def strip(self, X: Double) -> Double:
        """From the table's units to standard deviations of the source."""
        return (X - self.mean) / self.deviation

    def give(self, Z: Double) -> Double:
        """And back."""
        return Z * self.deviation + self.mean


def drifting(
    name: str,
    X: Double,
    y: npt.NDArray[Any],
    kind: Kind,
    seed: int,
    *,
    classes: int = 1,
    steps: int = 16,
    m: int = 100,
    n: int = 300,
) -> Stream:
    """n labelled rows of a table (half of them if it is small), then batches of m of the other rows, drifting.

    The source depends on the seed and on the table's name, which ends at the first comma of `name`, not on the kind.
    Rows are drawn with replacement. `told` has n rows of every step's distribution that are not in its
    batch, or is None where a batch took them all.
    """
    table = name.partition(",")[0]
    order = np.random.default_rng([seed, number_of(table)]).permutation(len(y))
    size = min(n, len(y) // 2)
    source, pool = order[:size], order[size:]
    deviation = X[source].std(axis=0)
    units = Units(X[source].mean(axis=0), np.where(deviation > 0.0, deviation, 1.0))
    rng, aside = (np.random.default_rng([seed, number_of(name), part]) for part in (0, 1))
    Z = units.strip(X)

    def sample(now: Now, rows: npt.NDArray[np.intp], count: int, rng: Rng) -> tuple[Sample, npt.NDArray[np.intp]]:
        weights = _weights(now, Z[rows], y[rows])
        picked = rng.choice(rows, count, p=weights)
        return (seen(now, Z[picked], units, rng), y[picked]), picked

    batches, told = [], []
    for now in kind(rng, X.shape[1], classes, steps):
        batch, picked = sample(now, pool, m, rng)
        batches.append(batch)
        others = np.setdiff1d(pool, picked)
        if len(others):
            told.append(sample(now, others, n, aside)[0])
    complete = len(told) == len(batches)
    return Stream(name, X[source], y[source], batches, told=told if complete else None, mixed_units=True)


def seen(now: Now, Z: Double, units: Units, rng: Rng) -> Double:
    """Rows of the source's distribution, in its units, as they are seen in a step, in the table's units."""
    Z = Z + now.noise * rng.normal(size=Z.shape)
    if now.mixing is not None:
        Z = Z @ now.mixing.T
    Z = Z * now.gain + now.offset
    Z[:, list(now.broken)] = BROKEN
    if now.garbage == "away":
        Z = Z + FAR
    elif now.garbage == "wide":
        Z = WIDE * Z
    elif now.garbage == "noise":
        Z = rng.normal(size=Z.shape)
    return units.give(Z) * now.unit


def _weights(now: Now, Z: Double, y: npt.NDArray[Any]) -> Double:
    """How likely every row is drawn."""
    logarithms = np.zeros(len(y))
    if now.odds is not None:
        logarithms = logarithms + np.log(now.odds)[y]
    if now.tilt is not None:
        logarithms = logarithms + np.clip(Z @ now.tilt, -TILTED, TILTED)
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()
