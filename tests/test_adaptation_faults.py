"""Faults that look like drift: what took over, or was believed, for one bad batch is given up after it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.drift.scenes import AFTER, FAULTS, scene
from benchmarks.streams import digits_at_once, rotated_digits
from driftway import AdaptationWarning, ContinuousTransportClassifier
from tests.turning_moons import moons

Array = np.ndarray


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        yield


@pytest.mark.parametrize("seed", [6, 10])
def test_a_batch_of_another_stream_leaves_nothing_behind(seed: int) -> None:
    """Transport takes over for it, or a turn that changes hardly any answer."""
    stage = scene(seed)
    model = ContinuousTransportClassifier().fit(stage.X, stage.y)
    for batch in stage.batches[: stage.at]:
        model.partial_fit(batch)
    right = []
    for bad in (stage.batches[stage.at], FAULTS["another stream"](stage.batches[stage.at], stage, None)):
        own = copy.deepcopy(model).partial_fit(bad)
        for batch in stage.batches[-AFTER:]:
            own.partial_fit(batch)
        right.append(own.score(*stage.fresh))
    assert right[1] > right[0] - 0.01


def test_transport_does_not_take_over_where_it_expects_a_batch_badly() -> None:
    """After a batch of another stream all expect the next one badly; who is a little less wrong is so by luck."""
    stage = scene(2)
    model = ContinuousTransportClassifier().fit(stage.X, stage.y)
    for batch in (stage.batches[0], stage.batches[1]):
        model.partial_fit(batch)
    assert not model._state.rivalry.overrules


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fault_in_one_of_many_features_leaves_no_belief_behind(seed: int) -> None:
    """By their distance alone such batches are no surprise."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[Array, Array]:
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 30))
        X[:, 0] += 4.0 * y
        return X, y

    model = ContinuousTransportClassifier(LogisticRegression(max_iter=500)).fit(*draw(200))
    batches = [draw(40)[0] for _ in range(6)]
    bad = batches[3] + np.where(np.arange(30) == 0, 10.0, 0.0)
    found = []
    for fault in (batches[3], bad):
        own = copy.deepcopy(model)
        for batch in (batches[0], fault, batches[4], batches[5]):
            own.partial_fit(batch)
        found.append(own._state.beliefs[0])
    moves = np.array([hypothesis.moves for hypothesis in model._tracker.panels[0].hypotheses])
    assert min(each.shares[~moves].sum() for each in found) > 0.5
    assert found[1].misfits[0] < found[0].misfits[0] + 1.0


def test_what_a_fault_taught_is_given_up_if_the_next_batch_is_explained_without_motion() -> None:
    """In this stream only the mix changes, and what was fitted to the fault expects the next batch better."""
    stage = scene(1026)
    model = ContinuousTransportClassifier().fit(stage.X, stage.y)
    for batch in stage.batches[: stage.at]:
        model.partial_fit(batch)
    model.partial_fit(FAULTS["noise"](stage.batches[stage.at], stage, np.random.default_rng(1026)))
    assert model.history_["track"][-1] == "sensors and mix"
    model.partial_fit(stage.batches[-AFTER])
    assert model.history_["track"][-1] == "still"


@pytest.mark.parametrize("size", [20, 30])
def test_transport_that_takes_over_in_a_turning_stream_keeps_the_answer(size: int) -> None:
    """So few points are explained without motion as well, which is no reason to take the turn for a fault."""
    X, y, batches = moons(6, m=size)
    model = ContinuousTransportClassifier(KNeighborsClassifier(5)).fit(X, y)
    for batch, _ in batches:
        model.partial_fit(batch)
    assert model._state.rivalry.overrules
    assert model.score(*batches[-1]) > 0.9


@pytest.mark.parametrize("degrees", [45.0, 60.0])
def test_images_turned_at_once_are_followed_though_a_mix_and_gains_would_explain_them(degrees: float) -> None:
    stream = digits_at_once(0, degrees=degrees)
    batch, truth = stream.batches[0]
    assert ContinuousTransportClassifier().fit(stream.X, stream.y).partial_fit(batch).score(batch, truth) > 0.9


def test_batches_that_surprise_one_after_another_are_not_gone_back_into() -> None:
    stream = rotated_digits(5, steps=4)
    model = ContinuousTransportClassifier().fit(stream.X, stream.y)
    for batch, _ in stream.batches:
        model.partial_fit(batch)
    assert stream.tests is not None
    assert model.score(*stream.tests[-1]) > 0.85
    assert model.estimator_.n_neighbors == 5
