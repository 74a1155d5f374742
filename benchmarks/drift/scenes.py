"""Small streams of many kinds, for faults to happen in: a labelled source, batches, and a large sample of the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.drift import tables
from benchmarks.drift.drifting import Units, seen
from benchmarks.drift.kinds import KINDS, Now, Rng
from benchmarks.streams import Double, Labels, Sample

SOURCE, BATCH = (60, 301), (20, 101)  # points of the source and of a batch, drawn from these ranges
BEFORE, AFTER = (2, 7), 2  # batches before the fault, and after it
FRESH = 1000  # points of the last step's distribution that are predicted
APART = 3.5  # deviations between the centres of classes in the plane, at the least
DRIFTS = ("still", "ageing", "slow ageing", "mix", "seasons", "affine")  # kinds that are no faults themselves


@dataclass(frozen=True)
class Scene:
    """A stream without labels but the source's; batch `at` is the one to spoil, the last one is `AFTER` later.

    `fresh` is a labelled sample of the last step's distribution, and `stranger` a batch of another stream.
    """

    name: str
    X: Double
    y: Labels
    batches: list[Double]
    at: int
    fresh: Sample
    stranger: Double


def scene(seed: int) -> Scene:
    """The stream of a seed: in the plane if it is even, from one of the development tables if it is odd."""
    rng = np.random.default_rng([seed, tables.number_of("faults")])
    if seed % 2:
        own, other = (tables.load_table(str(name)) for name in rng.choice(tables.DEVELOPMENT, 2, replace=False))
        rows, strange = (own.X, own.y), other.X
        name = own.name
    else:
        rows, (strange, _) = _plane(rng), _plane(rng)
        name = "plane"
    return _drifting(name, rows, strange, rng)


def _plane(rng: Rng) -> Sample:
    """Points of two to four classes in the plane, Gaussians of different shapes."""
    classes, centres = int(rng.integers(2, 5)), np.zeros((0, 2))
    while len(centres) < classes:
        place = rng.uniform(-6.0, 6.0, size=2)
        if all(np.linalg.norm(place - centre) > APART for centre in centres):
            centres = np.vstack([centres, place])
    shapes = np.eye(2) + 0.3 * rng.normal(size=(classes, 2, 2))
    y = rng.permutation(np.arange(2500) % classes)
    return centres[y] + np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(len(y), 2))), y.astype(np.int64)


def _drifting(name: str, rows: Sample, strange: Double, rng: Rng) -> Scene:
    """Rows of a table, drawn under a kind of drift at random; a source has at least five rows of every class."""
    X, y = rows
    kind = str(rng.choice(DRIFTS))
    n, m, at = int(rng.integers(*SOURCE)), int(rng.integers(*BATCH)), int(rng.integers(*BEFORE))
    order = rng.permutation(len(y))
    classes, size = int(y.max()) + 1, min(n, len(y) // 2)
    while np.bincount(y[order[:size]], minlength=classes).min() < 5:
        size += 10
    source, pool = order[:size], order[size:]
    deviation = X[source].std(axis=0)
    units = Units(X[source].mean(axis=0), np.where(deviation > 0.0, deviation, 1.0))
    steps = KINDS[kind](rng, X.shape[1], classes, at + 1 + AFTER)

    def sample(now: Now, count: int) -> Sample:
        weights = np.ones(len(pool)) if now.odds is None else now.odds[y[pool]]
        picked = rng.choice(pool, count, p=weights / weights.sum())
        return seen(now, units.strip(X[picked]), units, rng), y[picked]

    batches = [sample(now, m)[0] for now in steps]
    fresh = sample(steps[-1], FRESH)
    strange = (strange - strange.mean(axis=0)) / np.maximum(strange.std(axis=0), 1e-12)
    columns = np.arange(X.shape[1]) % strange.shape[1]
    stranger = units.give(strange[rng.choice(len(strange), m)][:, columns])
    return Scene(f"{name}, {kind}", X[source], y[source], batches, at, fresh, stranger)


Fault = Callable[[Double, Scene, Rng], Double]


def _away(B: Double, deviations: float) -> Double:
    return B + deviations * B.std(axis=0)


def _half_away(B: Double, scene: Scene, rng: Rng) -> Double:
    return np.where(rng.random(len(B))[:, None] < 0.5, _away(B, 20.0), B)


def _noise(B: Double, scene: Scene, rng: Rng) -> Double:
    return B.mean(axis=0) + B.std(axis=0) * rng.uniform(-10.0, 10.0, size=B.shape)


def _missing(B: Double, scene: Scene, rng: Rng) -> Double:
    """Between a tenth of the rows and all of them lack a value."""
    holes = rng.random(len(B)) < rng.uniform(0.1, 1.2)
    found = B.copy()
    found[holes, rng.integers(B.shape[1], size=holes.sum())] = np.nan
    return found


def _stuck(B: Double, scene: Scene, rng: Rng) -> Double:
    """A quarter of the sensors, at least one, reads the same for all rows."""
    found, d = B.copy(), B.shape[1]
    for feature in rng.choice(d, max(1, d // 4), replace=False):
        found[:, feature] = scene.X[:, feature].mean() + rng.uniform(-15.0, 15.0) * scene.X[:, feature].std()
    return found


def _units(B: Double, scene: Scene, rng: Rng) -> Double:
    """One column in other units."""
    found = B.copy()
    found[:, rng.integers(B.shape[1])] *= rng.choice([0.001, 0.0254, 0.4536, 10.0, 60.0, 1000.0])
    return found


FAULTS: dict[str, Fault] = {
    "20 deviations away": lambda B, scene, rng: _away(B, 20.0),
    "50 deviations away": lambda B, scene, rng: _away(B, 50.0),
    "times 10": lambda B, scene, rng: 10.0 * B,
    "half of it away": _half_away,
    "noise": _noise,
    "missing values": _missing,
    "stuck sensors": _stuck,
    "other units": _units,
    "another stream": lambda B, scene, rng: scene.stranger,
}
