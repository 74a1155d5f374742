"""The 10 streams, and what is recorded of each step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from benchmarks import streams
from benchmarks.drift.entrants import PAPER
from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor, adapt_stream
from driftway.adaptation import DomainTransportClassifier

Double = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Result = dict[str, Array]


@dataclass(frozen=True)
class HalfWay:
    """A map of a user's own: images are half way between where a point was and its barycentric image."""

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        return 0.25 * points + 0.75 * barycentric


@dataclass(frozen=True)
class Inertia:
    """A motion of a user's own: every point goes on as it went."""

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Array, weights: Double, size: int
    ) -> Double:
        return now + 0.5 * (now - before) + 0.2 * velocity


@dataclass
class Recorder:
    """What a stream leaves behind, step by step."""

    found: Result = field(default_factory=dict)

    def step(self, number: int, model: Any, batch: Double) -> None:
        """Predictions and places after a step."""
        self.keep(f"step {number}: predict", model.predict(batch))
        self.keep(f"step {number}: images_", model.images_)
        for name in ("batch_proba_", "batch_values_"):
            if hasattr(model, name):
                self.keep(f"step {number}: {name}", getattr(model, name))
        if hasattr(model, "predict_proba"):
            self.keep(f"step {number}: predict_proba", model.predict_proba(batch))

    def end(self, model: Any) -> Result:
        """All of it, with the history but for its times."""
        columns = model.history_.to_dict()
        for name in sorted(set(columns) - {"seconds"}):
            self.keep(f"history_: {name}", columns[name])
        self.keep("image_targets_", model.image_targets_)
        return self.found

    def keep(self, name: str, value: Any) -> None:
        """Keeps a copy."""
        self.found[name] = np.array(value)


def follow(model: Any, stream: streams.Stream, *, weighted: bool = False) -> Result:
    """The results of a classifier that is fitted to the source and then adapted to every batch."""
    recorder, rng = Recorder(), np.random.default_rng(2)

    def weights(size: int) -> Double | None:
        return rng.uniform(0.5, 1.5, size) if weighted else None

    model.fit(stream.X, stream.y, sample_weight=weights(len(stream.X)))
    for number, (batch, _) in enumerate(stream.batches, 1):
        model.partial_fit(batch, sample_weight=weights(len(batch)))
        recorder.step(number, model, batch)
    if model.source == "kept":
        recorder.keep("transform", model.transform(stream.X[:20]))
        recorder.keep("inverse_transform", model.inverse_transform(stream.batches[-1][0]))
    return recorder.end(model)


def moons(steps: int = 8) -> streams.Stream:
    """Two moons that turn by 18° per step."""
    return streams.rotating_moons(0, steps=steps, n=200, m=50)


def moons_by_default() -> Result:
    """All tracks compete."""
    return follow(ContinuousTransportClassifier(), moons(12))


def moons_as_in_the_paper() -> Result:
    """Raw images, no motion."""
    return follow(ContinuousTransportClassifier(**PAPER), moons())


def gaussians_without_clusters() -> Result:
    """Five classes, features in other units, weights, and a classifier of the user's choice."""
    model = ContinuousTransportClassifier(LogisticRegression(), clusters=False, scale="features", tol=1e-6)
    return follow(model, streams.five_vertical(1, steps=10, m=150), weighted=True)


def gaussians_as_clusters() -> Result:
    """Five classes, one of which walks around the others, followed as Gaussians."""
    return follow(ContinuousTransportClassifier(), streams.one_passing_around(2, steps=15, m=200))


def shifting_labels() -> Result:
    """Classes whose shares drift."""
    return follow(ContinuousTransportClassifier(marginals="estimated"), streams.label_shift(3, steps=8, m=200))


def kernel_map_and_classes() -> Result:
    """A map and a motion by name, with both regularisers of the paper."""
    model = ContinuousTransportClassifier(
        map="kernel", motion="classes", time_weight=0.2, label_weight=0.05, cost="static", labels="plan"
    )
    return follow(model, streams.two_crossing(4, steps=12, m=120))


def own_map_and_renewed_source() -> Result:
    """A map and a motion of the user's own; batches take the place of the source."""
    model = ContinuousTransportClassifier(map=HalfWay(), motion=Inertia(), labels="plan", source="renewed")
    return follow(model, moons())


def regression() -> Result:
    """A regression on points that turn and move away, with one bad batch."""
    rng = np.random.default_rng(5)
    forest = RandomForestRegressor(20, random_state=0)
    model = ContinuousTransportRegressor(forest, map="affine", motion="affine", time_weight=0.1, on_bad_batch="skip")
    X = rng.normal(size=(150, 3))
    model.fit(X, X @ [1.0, -2.0, 0.5])
    recorder = Recorder()
    for number in range(1, 7):
        batch = rng.normal(size=(80, 3)) * [1.0, 1.0 + 0.1 * number, 1.0] + 0.3 * number
        if number == 4:
            batch[0, 0] = np.nan
        model.partial_fit(batch)
        recorder.step(number, model, np.nan_to_num(batch))
    return recorder.end(model)


def domains_in_one_array() -> Result:
    """A source and four targets in one array."""
    stream = streams.crossing_gaussians(6, dimensions=3, steps=8, m=100)
    batches = stream.batches[:4]
    X = np.vstack([stream.X, *(batch for batch, _ in batches)])
    sample_domain = np.repeat([1, -1, -2, -3, -4], 100)
    y = np.where(sample_domain > 0, np.tile(stream.y, 5), -1)
    model = DomainTransportClassifier().fit(X, y, sample_domain=sample_domain)
    recorder = Recorder()
    recorder.keep("predict by domain", model.predict(X, sample_domain=sample_domain))
    recorder.keep("predict_proba by domain", model.predict_proba(X, sample_domain=sample_domain))
    for number, (label, (batch, _)) in enumerate(zip(model.domains_, batches, strict=True), 1):
        recorder.step(number, model.transports_[label], batch)
    return recorder.end(model.transport_)


def stopped_and_resumed() -> Result:
    """`adapt_stream`, stopped after four of eight batches and resumed by another process's estimator."""
    stream, recorder = moons(), Recorder()
    batches = [batch for batch, _ in stream.batches]
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "model.npz"
        first = ContinuousTransportClassifier(map="affine", motion="affine").fit(stream.X, stream.y)
        for key, predicted, _ in adapt_stream(first, batches[:4], state=state):
            recorder.keep(f"batch {key}: first run", predicted)
        again = ContinuousTransportClassifier.load(state)
        for key, predicted, _ in adapt_stream(again, batches, state=state):
            recorder.keep(f"batch {key}: second run", predicted)
        loaded = ContinuousTransportClassifier.load(state)
    recorder.step(len(batches), loaded, batches[-1])
    return recorder.end(loaded)


STREAMS: dict[str, Callable[[], Result]] = {
    "stream/moons/default": moons_by_default,
    "stream/moons/paper": moons_as_in_the_paper,
    "stream/gaussians/five_classes/no_clusters": gaussians_without_clusters,
    "stream/gaussians/one_passing_around/clusters": gaussians_as_clusters,
    "stream/label_shift/estimated_marginals": shifting_labels,
    "stream/gaussians/kernel_map/motion_by_class": kernel_map_and_classes,
    "stream/moons/own_map_and_motion/renewed_source": own_map_and_renewed_source,
    "stream/regression/affine": regression,
    "stream/gaussians/domain_transport_classifier": domains_in_one_array,
    "stream/moons/adapt_stream/saved_and_loaded": stopped_and_resumed,
}
