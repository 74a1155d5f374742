"""One step of adaptation: several tracks expect the source somewhere, are transported to the batch, and are judged.

A track is a map model and a motion model, and carries the source on its own. Each expects a cloud of points where
the next batch comes; the energy distance between the two, averaged over time, says which track is believed. Nothing
here needs a label of the batch.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from driftway.adaptation.energy import energy_distance
from driftway.adaptation.maps import AffineMap, BarycentricMap, MapModel
from driftway.adaptation.marginals import Marginals, class_masses, reweighted, shares
from driftway.adaptation.motion import AffineMotion, MotionModel
from driftway.costs import PointCloudCost
from driftway.engine import Engine
from driftway.matrices import Factored
from driftway.plan import Plan
from driftway.problem import Problem
from driftway.regularizers import GroupLasso, Regularizer, TimeSmoothness
from driftway.solution import Solution
from driftway.solve import solve

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# The weight of the past in the running averages, and the points from which a cost's scale is taken.
MEMORY, SAMPLE = 0.8, 1000
# By this much in log-energy the source where it began must lose to a track for drift to be certain.
LOST = 0.4


class Caution(NamedTuple):
    """The evidence that a track must have over one without caution, in units of the log of the energy distance.

    Freedom buys some by chance, the more the smaller the batch and the more features it has; and raw images, which
    shrink, are further from the batch than they deserve.
    """

    always: float = 0.0
    per_point: float = 0.0
    per_feature: float = 0.0

    def of(self, size: int, features: int) -> float:
        return self.always + (self.per_point + self.per_feature * features) / size


NONE = Caution()


@dataclass(frozen=True)
class Track:
    """A hypothesis of how the source moves.

    Parameters
    ----------
    name : str
    map : MapModel
    motion : MotionModel
    keeps_shape : bool
        Whether its images are fit to train a classifier on; if not, labels are read off the plan.
    caution : Caution

    """

    name: str
    map: MapModel
    motion: MotionModel
    keeps_shape: bool = True
    caution: Caution = NONE


def default_tracks() -> tuple[Track, ...]:
    """Fast and slow affine drift, and classes that go their own ways."""
    return (
        Track("affine", AffineMap(), AffineMotion(1.0)),
        Track("slow affine", AffineMap(), AffineMotion(0.3), caution=Caution(per_point=10.0)),
        Track(
            "free",
            BarycentricMap(),
            AffineMotion(0.1, by_class=True),
            keeps_shape=False,
            caution=Caution(-0.3, 20.0, 1.2),
        ),
    )


@dataclass(frozen=True)
class Settings:
    """How a step is made; units are those of the scaled features."""

    tracks: tuple[Track, ...]
    stay: bool
    marginals: Marginals
    metric: Any
    static: bool
    epsilon: float
    relative: bool
    time_weight: float
    label_weight: float
    tol: float
    max_iter: int
    engine: Engine | None


@dataclass(frozen=True, eq=False)
class Carried:
    """The labelled source and where every track sees it now, and expects it next (tracks × n × d).

    `groups` numbers the classes, all zero for a regression. `scores` are the running averages of the tracks'
    log-energies, `still` that of the source where it began, and `drifting` says that it has lost once.
    """

    source: Double
    targets: npt.NDArray[Any]
    groups: Groups
    weights: Double
    now: Double
    expected: Double
    scores: Double
    still: float
    drifting: bool
    chosen: int
    steps: int

    @classmethod
    def first(cls, source: Double, targets: npt.NDArray[Any], groups: Groups, weights: Double, tracks: int) -> Carried:
        places = np.repeat(source[None], tracks, axis=0)
        return cls(source, targets, groups, weights / weights.sum(), places, places, np.zeros(tracks), 0.0, False, 0, 0)

    @property
    def moves(self) -> bool:
        """Whether adaptation is the better answer: drift is certain, or a track expected the last batch better."""
        return self.drifting or self.steps < 2 or bool(self.still > self.scores.min())

    @property
    def images(self) -> Double:
        """Where the source is now."""
        return self.now[self.chosen]


@dataclass(frozen=True, eq=False)
class Step:
    """What a step found.

    `class_shift` is how much of the mass seems to have changed class, `shift_evidence` the gain in log-likelihood.
    """

    carried: Carried
    solution: Solution
    track: Track
    energy: float
    drift: float
    masses: Double
    class_shift: float
    shift_evidence: float
    transport: float
    displacement: float
    seconds: float

    @property
    def plan(self) -> Plan:
        return self.solution.plan


def advance(carried: Carried, batch: Double, b: Double, settings: Settings) -> Step:
    """The step to a batch; the carried state itself is not changed."""
    began = time.perf_counter()
    tracks, weights, size, (n, d) = settings.tracks, carried.weights, len(batch), carried.source.shape
    b = b / b.sum()
    distances = np.array([energy_distance(places, batch, weights, b)[0] for places in carried.expected])
    # The source where it began is a hypothesis too, with the class masses that suit it: another mix is no drift.
    mixed = reweighted(weights, carried.groups, _class_masses(carried.source, carried, batch, b, settings)[0])
    unmoved, usual = energy_distance(carried.source, batch, mixed, b)
    # At the first step all expect the same, which says nothing.
    memory = MEMORY if carried.steps > 1 else 0.0
    scores = memory * carried.scores + (1.0 - memory) * np.log(np.maximum(distances, 1e-300))
    still = memory * carried.still + (1.0 - memory) * float(np.log(max(unmoved, 1e-300)))
    caution = np.array([track.caution.of(size, d) for track in tracks])
    chosen = int(np.argmin(scores + caution)) if carried.steps else 0
    now, ahead, found = [], [], []
    for k, track in enumerate(tracks):
        start = carried.source if settings.static else carried.expected[k]
        solution, masses = _transport(carried, start, carried.expected[k], batch, b, settings)
        barycentric = np.asarray(solution.plan.barycentric_map(batch), dtype=np.float64)
        images, velocity = track.map.images(start, barycentric, masses, size), carried.expected[k] - carried.now[k]
        now.append(images)
        ahead.append(track.motion.predict(carried.now[k], images, velocity, carried.groups, masses, size))
        found.append((solution, masses, start))
    solution, masses, start = found[chosen]
    moved = now[chosen] - carried.now[chosen]
    mass, gain = _class_masses(start, carried, batch, b, settings)
    cost = Factored.of_cost(PointCloudCost(start, batch, settings.metric), np.empty((size, 0)), np.empty((n, 0)))
    return Step(
        carried=replace(
            carried,
            now=np.stack(now),
            expected=np.stack(ahead),
            scores=scores,
            still=still,
            drifting=carried.drifting or not settings.stay or bool(still > scores.min() + LOST),
            chosen=chosen,
            steps=carried.steps + 1,
        ),
        solution=solution,
        track=tracks[chosen],
        energy=float(distances[chosen]),
        drift=unmoved / max(usual, 1e-300),
        masses=masses,
        class_shift=0.5 * float(np.abs(mass - shares(weights, carried.groups)).sum()),
        shift_evidence=gain * size,
        transport=solution.plan.sweep(inner=cost).inner,
        displacement=float(np.sqrt(masses @ (moved**2).sum(axis=1) / masses.sum())),
        seconds=time.perf_counter() - began,
    )


def _class_masses(
    points: Double, carried: Carried, batch: Double, b: Double, settings: Settings
) -> tuple[Double, float]:
    """The class masses that make the batch most likely if the source is at `points`, and the gain in log-likelihood.

    Of large samples an even part is looked at, unless that would miss a class.
    """
    i, j = _thinned(points), _thinned(batch)
    if np.unique(carried.groups[i]).size < np.unique(carried.groups).size:
        i = slice(None)
    cost, a = PointCloudCost(points[i], batch[j], settings.metric), carried.weights[i]
    return class_masses(cost, a, b[j], carried.groups[i], settings.epsilon * _unit(cost, a, b[j], settings))


def _transport(
    carried: Carried, start: Double, expected: Double, batch: Double, b: Double, settings: Settings
) -> tuple[Solution, Double]:
    """The plan from where the source is expected to the batch, and the masses of its rows.

    As in the paper, the first step has no regulariser but the entropy.
    """
    cost = PointCloudCost(start, batch, settings.metric)
    unit = _unit(cost, carried.weights, b, settings)
    epsilon = settings.epsilon * unit
    a = settings.marginals.masses(cost, carried.weights, b, carried.groups, epsilon)
    terms: list[Regularizer] = []
    if carried.steps and settings.time_weight:
        terms.append(TimeSmoothness(batch, expected, settings.time_weight))
    if carried.steps and settings.label_weight:
        terms.append(GroupLasso(carried.groups, settings.label_weight * unit))
    regularizer = sum(terms[1:], terms[0]) if terms else None
    problem = Problem(cost, a, b, epsilon=epsilon, regularizer=regularizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said in the history, with what it means here
        return solve(problem, tol=settings.tol, max_iter=settings.max_iter, engine=settings.engine), a


def _unit(cost: PointCloudCost, a: Double, b: Double, settings: Settings) -> float:
    """What strengths are relative to: the mean cost over an even part of the points, or 1."""
    if not settings.relative:
        return 1.0
    i, j = _thinned(cost.X), _thinned(cost.Y)
    sample = PointCloudCost(cost.X[i], cost.Y[j], cost.metric).rows(slice(None)).astype(np.float64)
    return float(a[i] @ sample @ b[j] / max(a[i].sum() * b[j].sum(), 1e-300)) or 1.0


def _thinned(points: npt.NDArray[Any]) -> slice:
    """An even part of a large sample."""
    return slice(None, None, -(-len(points) // SAMPLE))
