"""Trials of the estimators: a source, batches that drift, and batches that are broken."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor

from .outcome import Outcome
from .stream_data import Batch, Spec, Stream, draw_stream, stream_of, usable

Model = ContinuousTransportClassifier | ContinuousTransportRegressor
Arrays = dict[str, NDArray[Any]]

# What a batch that was put aside may change: that it was, what is remembered for a return, and what is answered to it.
# The sample is a part of that: the transported source draws it anew at every batch that it answers, from its own state.
ASIDE = (
    "aside",
    "usual",
    "surprised",
    "remembered",
    "before.",
    "voice",
    "weights",
    "header",
    "_received",
    "memory",
    "sample.",
)
PUT_ASIDE = "has changed nothing"
# By how much the labels of the batches after one of garbage may be worse than without it, if the classes are far apart.
APART, LOSS = 5.0, 0.15


def draw(rng: np.random.Generator) -> Spec:
    return draw_stream(rng)


def close() -> None:
    """Nothing is held between trials."""


def simpler(spec: Spec) -> Iterator[Spec]:
    """Streams that are a little simpler than this one."""
    for number in spec["faults"]:
        yield {**spec, "faults": {key: fault for key, fault in spec["faults"].items() if key != number}}
    last = max([spec["saved after"] + 1, *map(int, spec["faults"])])
    if last < spec["steps"]:
        yield {**spec, "steps": spec["steps"] - 1}
    if spec["saved after"] > 0:
        yield {**spec, "saved after": 0}
    plain = {"regression": False, "unit": 0.0, "code": False, "labels": "numbers", "drift": "none", "rate": 0.0}
    for name, value in ({**plain, "weighted": False, "classes": 2, "d": 2, "n": 24, "m": 12}).items():
        if spec[name] != value:
            yield {**spec, name: value}
    for name in spec["model"]:
        if name not in ("estimator", "hypotheses", "on_bad_batch"):
            yield {**spec, "model": {key: value for key, value in spec["model"].items() if key != name}}
    if spec["model"]["estimator"] != "logistic":
        yield {**spec, "model": {**spec["model"], "estimator": "logistic"}}


def model_of(spec: Spec) -> Model:
    """The estimator, not yet fitted."""
    parameters = dict(spec["model"])
    learners = (
        {"logistic": Ridge(), "nearest": KNeighborsRegressor(1), "tree": DecisionTreeRegressor(random_state=0)}
        if spec["regression"]
        else {
            "logistic": LogisticRegression(),
            "nearest": KNeighborsClassifier(1),
            "tree": DecisionTreeClassifier(random_state=0),
        }
    )
    name = parameters.pop("estimator")
    parameters["estimator"] = "auto" if name == "auto" else learners.get(name)
    if spec["regression"]:
        parameters.pop("label_weight", None)
        return ContinuousTransportRegressor(**parameters)
    return ContinuousTransportClassifier(**parameters)


def run(spec: Spec) -> Outcome:
    """Goes through a stream; every step, answer and saved state is judged."""
    outcome, stream = Outcome(), stream_of(spec)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            trial = _Trial(spec, stream, Path(folder), outcome)
            trial.run()
        except Exception as error:
            outcome.fail("exception", "the stream", f"{type(error).__name__}: {error}")
    for warning in told:
        if not issubclass(warning.category, AdaptationWarning) and "/sklearn/" not in warning.filename:
            where = f"({warning.filename}:{warning.lineno})"
            outcome.fail("warning", "the stream", f"{warning.category.__name__}: {warning.message} {where}")
            break
    outcome.count("streams")
    return outcome


class _Trial:
    """A stream under way: the model, and its twin that was saved and loaded."""

    def __init__(self, spec: Spec, stream: Stream, folder: Path, outcome: Outcome) -> None:
        self.spec, self.stream, self.folder, self.outcome = spec, stream, folder, outcome
        weights = np.random.default_rng(1).random(len(stream.X)) if spec["weighted"] else None
        self.model = model_of(spec).fit(stream.X, stream.y, weights)
        self.twin: Model | None = None
        self.good = self.seen = 0
        self.earlier: list[Arrays] = []

    def run(self) -> None:
        self._judge_answers("after fit")
        for number, batch in enumerate(self.stream.batches):
            if number == self.spec["saved after"]:
                self.twin = self._loaded()
                self._judge_twin(f"loaded before batch {number + 1}")
            self._step(f"batch {number + 1} ({batch.fault or 'ordinary'})", batch)
        if self.twin is not None:
            self._judge_twin("at the end")
        self._judge_labels()

    def _step(self, where: str, batch: Batch) -> None:
        before, given = self._state(), np.array(batch.X, copy=True)
        wanted = usable(batch.X, self.spec["d"])
        taken = self._taken(self.model, batch)
        if self.twin is not None and self._taken(self.twin, batch) != taken:
            self.outcome.fail("resumed", where, "taken by one of a model and its copy, and refused by the other")
        if wanted is not None and taken != wanted:
            self.outcome.fail("usable", where, f"{'taken' if taken else 'refused'}, against the documentation")
        if not np.array_equal(given, batch.X, equal_nan=given.dtype.kind == "f"):
            self.outcome.fail("input", where, "the batch was changed")
        skips = self.spec["model"]["on_bad_batch"] == "skip"
        self.seen += taken or skips
        self.good += taken
        self.outcome.count("batches taken" if taken else "batches refused")
        if (self.model.n_steps_, len(self.model.history_), self.model.n_seen_) != (self.good, self.good, self.seen):
            self.outcome.fail("history", where, f"{self.model.n_steps_} steps, {self.good} batches were taken")
        after = self._state()
        if not taken and (changed := _changed(before, after, ("header",) if skips else ())):
            self.outcome.fail("refused", where, f"a batch that was refused changed {changed}")
        if taken:
            self._judge_record(where, batch, before, after)
        self.earlier.append(before)
        self._judge_answers(where)

    def _taken(self, model: Model, batch: Batch) -> bool:
        steps = model.n_steps_
        try:
            model.partial_fit(batch.X)
        except (ValueError, TypeError) as error:
            if self.spec["model"]["on_bad_batch"] == "skip":
                raise
            if len(str(error)) < 10:
                self.outcome.fail("message", batch.fault, repr(error))
            return False
        return model.n_steps_ > steps

    def _judge_record(self, where: str, batch: Batch, before: Arrays, after: Arrays) -> None:
        record = self.model.history_[-1]
        whole = int((~np.isnan(np.asarray(batch.X, dtype=float)).any(axis=1)).sum())
        numbers = (record.belief, record.transport, record.displacement, record.energy, record.drift, record.seconds)
        if record.step != self.good or (record.size != len(batch.X) and record.size != whole):
            self.outcome.fail("record", where, f"step {record.step}, size {record.size}; {self.good}, {whole} of them")
        if not np.isfinite(numbers).all() or not 0.0 <= record.belief <= 1.0 + 1e-9:
            self.outcome.fail("record", where, f"not finite: {record}")
        if PUT_ASIDE in record.warning:
            self.outcome.count("batches put aside")
            # It may have been found that the stream had returned to where it was earlier; then that is what is kept.
            changed = min((_changed(each, after, ASIDE) for each in (before, *self.earlier)), key=len)
            if changed:
                self.outcome.fail("put aside", where, f"a batch that was put aside changed {changed}")

    def _judge_answers(self, where: str) -> None:
        for X in (self.stream.probes, np.vstack([self.stream.X[:3], np.full((1, self.spec["d"]), np.nan)])):
            answers = self.model.predict(X)
            if isinstance(self.model, ContinuousTransportRegressor):
                if not np.isfinite(answers).all() or answers.shape != (len(X),):
                    self.outcome.fail("answers", where, "a prediction is not finite")
                continue
            proba = self.model.predict_proba(X)
            sums = np.abs(proba.sum(axis=1) - 1.0).max()
            if not np.isfinite(proba).all() or proba.min() < 0.0 or sums > 1e-9:
                self.outcome.fail("probabilities", where, f"least {proba.min()}, sums off by {sums}")
            elif not np.isin(answers, np.unique(self.stream.y)).all():
                self.outcome.fail("answers", where, "a class that the source does not have")
            elif (
                proba[np.arange(len(X)), np.searchsorted(np.unique(self.stream.y), answers)] < proba.max(axis=1)
            ).any():
                self.outcome.fail("answers", where, "not the most probable class")

    def _state(self) -> Arrays:
        path = self.folder / "state.npz"
        self.model.save(path)
        return _arrays(path)

    def _loaded(self) -> Model:
        self._state()
        return type(self.model).load(self.folder / "state.npz")

    def _judge_twin(self, where: str) -> None:
        """A model that was loaded answers with the same bits, and its state has the same."""
        assert self.twin is not None
        found = [_answers(model, self.stream.probes) for model in (self.model, self.twin)]
        if not np.array_equal(*found):
            self.outcome.fail("resumed", where, f"answers differ by {np.abs(found[0] - found[1]).max():.1e}")
        one = self._state()
        self.twin.save(self.folder / "twin.npz")
        if changed := _changed(one, _arrays(self.folder / "twin.npz"), ()):
            self.outcome.fail("resumed", where, f"the states differ in {changed}")

    def _judge_labels(self) -> None:
        """After one batch of garbage the labels are as good as without it."""
        spec, batches = self.spec, self.stream.batches
        garbage = [number for number, batch in enumerate(batches) if batch.fault == "garbage"]
        rest = [batch for batch in batches[garbage[0] + 1 :] if batch.y is not None] if garbage else []
        calm = spec["drift"] in ("none", "shift") and spec["rate"] < 0.2 and spec["apart"] > APART and spec["m"] >= 20
        usual = set(spec["model"]) <= {"estimator", "hypotheses", "on_bad_batch"}
        if not rest or spec["regression"] or not calm or not usual or spec["model"]["hypotheses"] == "transport":
            return
        other = model_of(spec).fit(self.stream.X, self.stream.y)
        for batch in batches:
            if batch.fault != "garbage":
                other.partial_fit(batch.X)
        last = rest[-1]
        with_it, without = (float(np.mean(model.predict(last.X) == last.y)) for model in (self.model, other))
        self.outcome.count("garbage survived")
        if with_it < without - LOSS:
            self.outcome.fail("labels", "after garbage", f"accuracy {with_it:.2f}, without it {without:.2f}")


def _answers(model: Model, X: NDArray[np.float64]) -> NDArray[np.float64]:
    return model.predict(X) if isinstance(model, ContinuousTransportRegressor) else model.predict_proba(X)


def _arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    header = json.loads(found["header"].tobytes())
    header["history"].pop("seconds", None)
    return {**found, "header": np.frombuffer(json.dumps(header).encode(), np.uint8)}


def _changed(before: Arrays, after: Arrays, but: tuple[str, ...]) -> list[str]:
    """The names of arrays that are not the same."""
    return [
        name
        for name in sorted({*before, *after})
        if not name.startswith(but or ("\0",))
        and not (
            name in before
            and name in after
            and before[name].dtype == after[name].dtype
            and before[name].shape == after[name].shape
            and before[name].tobytes() == after[name].tobytes()
        )
    ]
