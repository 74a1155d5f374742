"""A hypothesis of somebody's own: the tracker asks no more of it than the protocol says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from driftway import ContinuousTransportClassifier
from driftway.adaptation.hypotheses.hypothesis import Expectation, Moved
from driftway.adaptation.source.view import SourceView
from driftway.adaptation.tracker import Panel, mixed
from driftway.adaptation.tracker_arrays import packed, unpacked

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Place:
    offset: Array

    def arrays(self) -> dict[str, Array]:
        return {"offset": self.offset}


@dataclass(frozen=True, eq=False)
class Shifted:
    """A batch that all features went to by offsets alone, in one step."""

    view: SourceView
    state: Place
    misfit: float
    energy: float
    batch: Array

    @property
    def displacement(self) -> float:
        return float(np.linalg.norm(self.state.offset))

    @property
    def estimator(self) -> object:
        return self.view.answers.estimator

    def heard(self) -> Place:
        return self.state

    def posteriors(self, X: Array) -> Array:
        return self.view.answers(self.view(X) - self.state.offset)

    def of_batch(self) -> Array:
        return self.posteriors(self.batch)

    def images(self) -> Array:
        return self.view.inverse(self.view.classes.points + self.state.offset)

    def explain(self) -> Moved:
        d, shares = len(self.state.offset), self.view.classes.shares
        return Moved(self.state.offset, np.ones(d), shares, shares, np.zeros(d, dtype=bool))

    def otherwise(self) -> Array | None:
        return None

    def without(self, group: int) -> float:
        return np.inf

    def arrays(self) -> dict[str, Array]:
        return {"offset": self.state.offset}


@dataclass(frozen=True, eq=False)
class Shift:
    """A hypothesis of somebody's own, which knows nothing of the others."""

    view: SourceView
    name: str = "shift"
    moves: bool = True
    freedom: int = 0
    price: float = 0.0

    def start(self) -> Place:
        return Place(np.zeros(len(self.view.classes.centre)))

    def expect(self, state: Place, going_on: bool = False) -> Expectation:
        return Expectation(self._fitted(state, 0.0).images(), self.view.classes.weights)

    def fit(self, state: Place, batch: Array) -> Shifted:
        source, Z = self.view.classes, self.view(batch)
        offset = Z.mean(axis=0) - source.weights @ source.points
        left = source.near.energy((Z - offset) @ source.directions, source.shares)
        return self._fitted(Place(offset), max(left, 0.0) * 0.5 * len(batch), batch)

    def answering(self) -> Shifted:
        return self._fitted(self.start(), 0.0)

    def state(self, arrays: dict[str, Array]) -> Place:
        return Place(arrays["offset"])

    def restored(self, state: Place, arrays: dict[str, Array]) -> Shifted:
        return self._fitted(Place(arrays["offset"]), 0.0)

    def _fitted(self, state: Place, misfit: float, batch: Array | None = None) -> Shifted:
        return Shifted(self.view, state, misfit, 0.0, np.empty((0, len(state.offset))) if batch is None else batch)


def test_a_hypothesis_needs_no_more_than_the_protocol() -> None:
    y = np.arange(80) % 2
    X = np.random.default_rng(0).normal(size=(80, 2)) + 3.0 * y[:, None] * [1.0, 0.5]
    model = ContinuousTransportClassifier(hypotheses="sensors").fit(X, y)
    (panel,) = model._tracker.panels
    own = Panel((panel.hypotheses[0], Shift(panel.hypotheses[0].view)), 1.0)
    tracker = replace(model._tracker, panels=(own,))
    model._tracker, model._state, model._voices = tracker, tracker.start(), tracker.first_voices()
    for t in (1, 2, 3):
        B = X + np.array([2.0 * t, 0.0])
        assert model.partial_fit(B).score(B, y) > 0.9
    assert model.history_["track"][-1] == "shift"
    assert "feature 0 rose" in model.explain()
    state, voices = unpacked(tracker, packed(tracker, model._state, model._voices), model._sample, classes=2)
    np.testing.assert_array_equal(mixed(voices, X), model.predict_proba(X))
    np.testing.assert_array_equal(state.panels[0][1].offset, model._state.panels[0][1].offset)
