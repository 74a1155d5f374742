"""The source transported to the batch by optimal transport: the paper's method, with models of map and motion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from driftway.adaptation.alignment import carried_through
from driftway.adaptation.carried import Carried
from driftway.adaptation.heaps import heaps_of
from driftway.adaptation.hypotheses.hypothesis import Expectation, Moved
from driftway.adaptation.labels import ByClassifier, Labels, Sample, received_by
from driftway.adaptation.marginals import shares
from driftway.adaptation.renewal import Renewal
from driftway.adaptation.scaling import Scaling
from driftway.adaptation.source.answers import probabilities
from driftway.adaptation.tracking import Settings, Step, advance

Double = npt.NDArray[np.float64]


class Train(Protocol):
    """Trains an estimator on a labelled sample; raises ValueError where that cannot be done."""

    def __call__(self, sample: Sample) -> Any: ...


@dataclass(frozen=True, eq=False)
class Answering:
    """The carried source, and the estimator trained on it."""

    state: Carried
    sample: Sample
    estimator: Any
    scaling: Scaling
    classes: int | None
    misfit: float = np.nan
    energy: float = np.nan

    @property
    def displacement(self) -> float:
        moved = ((self.state.images - self.state.source) ** 2).sum(axis=1)
        return float(np.sqrt(self.state.weights @ moved / self.state.weights.sum()))

    def heard(self) -> Carried:
        return self.state

    def posteriors(self, X: Double) -> Double:
        if self.classes is None:
            return np.asarray(self.estimator.predict(self.scaling(X)), dtype=np.float64)
        return probabilities(self.estimator, self.scaling(X), self.classes)

    def of_batch(self) -> Double:
        """Shares of the classes that the points of the batch had in the plan, if there was one."""
        raise NotImplementedError

    def images(self) -> Double:
        return self.scaling.inverse(self.state.images)

    def without(self, group: int) -> float:
        """It has no likelihood to say it by."""
        return np.inf

    def otherwise(self) -> Double | None:
        """It has no likelihood to say it by."""
        return None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing: what is carried and the sample are saved by themselves."""
        return {}

    def explain(self) -> Moved:
        carried = self.state
        a, b = carried.weights / carried.weights.sum(), carried.masses[carried.chosen]
        b = b / b.sum()
        was, now = a @ carried.source, b @ carried.images
        before = np.maximum(np.sqrt(a @ (carried.source - was) ** 2), 1e-12)
        after = np.sqrt(b @ (carried.images - now) ** 2)
        mix, usual = shares(b, carried.groups), shares(a, carried.groups)
        return Moved((now - was) / before, after / before, mix, usual, np.zeros(len(was), dtype=np.bool_))


@dataclass(frozen=True, eq=False, kw_only=True)
class Transported(Answering):
    """The source transported to a batch: the step, and what every point of the batch received."""

    step: Step
    received: Double

    def of_batch(self) -> Double:
        return self.received


@dataclass(frozen=True, eq=False)
class TransportedSource:
    """Tracks that carry the source from batch to batch, each with a model of the map and one of the motion.

    The batches judge the tracks (`driftway.adaptation.tracking`); this is one hypothesis of the tracker, or the only
    one where the user has asked for a map and a motion.
    """

    first: Carried
    settings: Settings
    labels: Labels
    renewal: Renewal
    scaling: Scaling
    classes: int | None
    train: Train
    name: str = "transport"
    moves: bool = True
    price: float = 0.0

    @cached_property
    def freedom(self) -> int:
        return self.first.source.shape[1] ** 2

    def start(self) -> Carried:
        return self.first

    def restarted(self, seen: Expectation) -> Carried:
        """A new start from where another hypothesis sees the source."""
        first, places = self.first, self.scaling(seen.points)
        heaps, members = None, first.groups
        if first.heaps is not None:
            numbers = np.bincount(first.heaps.owners, minlength=first.heaps.classes)
            heaps = heaps_of(places, first.groups, seen.masses, numbers)
            members = heaps.members(places, first.groups)
        everywhere, masses = np.broadcast_to(places, first.now.shape), np.broadcast_to(seen.masses, first.masses.shape)
        # A loaded estimator knows the last state, not the first: what steps have left in it is undone here.
        unmoved = replace(first, scores=np.zeros_like(first.scores), still=0.0, drifting=False, chosen=0, steps=0)
        return replace(unmoved, now=everywhere, expected=everywhere, masses=masses, heaps=heaps, members=members)

    def jumped(self, batch: Double, b: Double) -> Carried | None:
        """A new start after a jump that kept distances between points, as a turned image does; None if it did not."""
        first = self.first
        if self.classes is None:
            return None
        images = carried_through(first.source, first.groups, first.weights, self.scaling(batch), b)
        return None if images is None else self.restarted(Expectation(self.scaling.inverse(images), first.weights))

    def expect(self, state: Carried) -> Expectation:
        return Expectation(self.scaling.inverse(state.expected[state.chosen]), state.masses[state.chosen])

    def fit(self, state: Carried, batch: Double, b: Double | None = None) -> Transported:
        points = self.scaling(batch)
        b = np.full(len(points), 1.0 / len(points)) if b is None else b
        step = advance(state, points, b, self.settings)
        received = received_by(step, b, self.classes)
        renewed = self.renewal.carry(step, points, b, received) if step.believed else step.carried
        if len(renewed.source) < len(state.source) and not self._learns_from(renewed):
            renewed = step.carried
        sample = self.labels.sample(step, points, b, received)
        if not step.moves:
            sample = Sample(state.source, state.targets, state.weights)
        try:
            trained = self.train(sample)
        except ValueError:
            if sample.points is not points:
                raise
            # The batch may be too small to learn from, the source is not.
            sample = ByClassifier().sample(step, points, b, received)
            trained = self.train(sample)
        return Transported(renewed, sample, trained, self.scaling, self.classes, step=step, received=received)

    def restored(self, state: Carried, sample: Sample) -> Answering:
        """What was saved, to go on answering."""
        return Answering(state, sample, self.train(sample), self.scaling, self.classes)

    def _learns_from(self, carried: Carried) -> bool:
        """Whether the points that would be carried on are enough to learn from, as later steps have to."""
        try:
            self.train(Sample(carried.source, carried.targets, carried.weights))
        except ValueError:
            return False
        return True
