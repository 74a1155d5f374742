"""The reference methods that follow a drift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benchmarks.drift import labels, mapping, moments, peers
from benchmarks.drift.protocol import error
from benchmarks.drift.voting import make_classifier, same_again
from benchmarks.streams import (
    SYNTHETIC,
    Stream,
    four_expanding_one_fixed,
    one_passing_around,
    rotated_digits,
    rotating_moons,
    two_crossing,
)

MADE: tuple[Callable[[int], Stream], ...] = (rotating_moons, rotated_digits, *SYNTHETIC)


def nearest() -> KNeighborsClassifier:
    return KNeighborsClassifier(1)


# Every peer with 1-NN, which is fast and knows of no units.
static, standardised, oracle, coral, label_shift, told_the_mix, pot_stepwise = (
    partial(peer, make=nearest)
    for peer in (
        moments.static,
        moments.standardised,
        labels.oracle,
        moments.coral,
        labels.label_shift,
        moments.told_the_mix,
        mapping.pot_stepwise,
    )
)
# Who has no confidence cannot drop the least confident.
self_training = partial(labels.self_training, make=lambda: LogisticRegression(max_iter=1000))
scargc = labels.scargc
BLIND = [static, standardised, coral, label_shift, self_training, scargc, pot_stepwise]
PEERS = [*BLIND, told_the_mix, oracle]


def transformed(stream: Stream, change: Callable[[np.ndarray], np.ndarray], *, mixed_units: bool = False) -> Stream:
    batches = [(change(X), y) for X, y in stream.batches]
    tests = None if stream.tests is None else [(change(X), y) for X, y in stream.tests]
    return Stream(stream.name, change(stream.X), stream.y, batches, tests, mixed_units)


def short(name: str) -> Stream:
    """A stream of a few small steps."""
    made = {
        "moons": lambda: rotating_moons(0, steps=4, n=200),
        "crossing": lambda: two_crossing(0, steps=6, m=100),
        "expanding": lambda: four_expanding_one_fixed(0, steps=10, m=150),
    }
    return made[name]()


@pytest.mark.parametrize("make", MADE)
def test_static_beats_chance_in_the_first_step(make: Callable[[int], Stream]) -> None:
    stream = make(0)
    first = replace(stream, batches=stream.batches[:1], tests=None if stream.tests is None else stream.tests[:1])
    classes = len(np.unique(stream.y))
    assert static(first)[0] > 1.0 / classes + 0.5 * (1.0 - 1.0 / classes)


@pytest.mark.parametrize("name", ["moons", "crossing", "expanding"])
@pytest.mark.parametrize("peer", PEERS)
def test_every_step_gets_an_accuracy(peer: Callable[[Stream], list[float]], name: str) -> None:
    accuracies = peer(short(name))
    assert len(accuracies) == len(short(name).batches)
    assert all(0.0 <= accuracy <= 1.0 for accuracy in accuracies)
    assert accuracies[0] > 0.75


@pytest.mark.parametrize("peer", BLIND)
def test_no_method_but_the_oracle_sees_the_labels_of_a_batch(peer: Callable[[Stream], list[float]]) -> None:
    stream = short("crossing")
    lied = replace(stream, batches=[(X, 1 - y) for X, y in stream.batches])
    np.testing.assert_allclose(peer(lied), 1.0 - np.array(peer(stream)))


@pytest.mark.parametrize("peer", PEERS)
def test_the_unit_of_measurement_does_not_matter(peer: Callable[[Stream], list[float]]) -> None:
    stream = short("moons")
    assert peer(transformed(stream, lambda X: 1000.0 * X)) == peer(stream)
    mixed = transformed(stream, lambda X: X, mixed_units=True)
    assert peer(transformed(stream, lambda X: X * [1.0, 1e4], mixed_units=True)) == pytest.approx(peer(mixed), abs=0.01)


@pytest.mark.parametrize("peer", PEERS)
def test_a_feature_that_is_constant_changes_nothing(peer: Callable[[Stream], list[float]]) -> None:
    stream = transformed(short("crossing"), lambda X: X, mixed_units=True)
    wider = transformed(stream, lambda X: np.column_stack([X, np.full(len(X), 0.1)]), mixed_units=True)
    assert peer(wider) == pytest.approx(peer(stream), abs=0.01)


def test_a_feature_that_is_constant_in_the_source_only_does_not_explode() -> None:
    stream = transformed(short("crossing"), lambda X: X, mixed_units=True)
    rng = np.random.default_rng(0)
    batches = [(np.column_stack([X, 0.1 + 0.01 * rng.normal(size=len(X))]), y) for X, y in stream.batches]
    wider = replace(stream, X=np.column_stack([stream.X, np.full(len(stream.X), 0.1)]), batches=batches)
    assert static(wider) == pytest.approx(static(stream), abs=0.02)


def test_the_oracle_is_at_least_as_good_as_no_adaptation_on_moons() -> None:
    stream = rotating_moons(0)
    told, still = np.array(oracle(stream)), np.array(static(stream))
    assert (told >= still - 0.01).all()
    assert told.mean() > still.mean() + 0.3
    assert still.min() < 0.1 < still[-1]  # half a turn is wrong nearly everywhere; the whole turn is home again


def test_the_oracle_learns_from_what_is_not_scored() -> None:
    stream = two_crossing(0, steps=2, m=100)
    rng = np.random.default_rng(0)
    noise = replace(stream, batches=[(X, rng.permutation(y)) for X, y in stream.batches])
    assert max(oracle(noise)) < 0.75  # labels without a reason cannot be known beforehand
    told = replace(stream, told=[(X, 1 - y) for X, y in stream.batches])
    assert oracle(told) == [0.0, 0.0]


@pytest.mark.parametrize("make", [one_passing_around, four_expanding_one_fixed])
def test_clustering_follows_slow_drift_of_classes_that_do_not_cross(make: Callable[..., Stream]) -> None:
    stream = make(0, steps=50)
    followed = np.array(scargc(stream))
    assert (followed > np.array(oracle(stream)) - 0.05).all()
    assert followed.mean() > np.mean(static(stream)) + 0.03


def test_clustering_takes_another_number_of_clusters() -> None:
    stream = rotating_moons(0, steps=10)
    assert np.mean(scargc(stream, clusters=16)) > np.mean(scargc(stream)) + 0.1
    assert scargc(stream, clusters=2) == scargc(stream)


def test_classes_that_cross_are_followed_where_no_adaptation_fails() -> None:
    stream = two_crossing(0, steps=40, m=150)
    assert static(stream)[-1] < 0.1
    for peer in (self_training, scargc):
        assert peer(stream)[-1] > 0.95


def test_stepwise_transport_undoes_translations() -> None:
    # The optimal map between a cloud and the same cloud moved is the move, however far it is.
    still = two_crossing(0, steps=1, m=150)
    moves = [np.array([6.0, 0.0]) * step for step in (1, 2, 3)]
    moved = replace(still, batches=[(still.X + move, still.y) for move in moves])
    assert min(pot_stepwise(moved)) > 0.98
    assert max(static(moved)[1:]) < 0.6


def test_standardising_undoes_a_change_of_scale_and_offset() -> None:
    still = rotating_moons(0, steps=3, degrees=0.0, m=500)
    moved = replace(
        still,
        batches=[(5.0 * X + 7.0, y) for X, y in still.batches],
        tests=[(5.0 * X + 7.0, y) for X, y in still.tests or []],
    )
    assert standardised(moved) == pytest.approx(standardised(still))
    assert min(standardised(moved)) > 0.98
    assert max(static(moved)) < 0.75


def test_self_training_survives_a_batch_of_one_class() -> None:
    stream = two_crossing(0, steps=20, m=200)
    X, y = stream.batches[0]
    lonely = replace(stream, batches=[(X[y == 0], y[y == 0]), *stream.batches])
    assert min(self_training(lonely)[:5]) > 0.9


def test_covariances_are_matched() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 1000, 2))
    y, truth = ((np.abs(points @ [1.0, -1.0]) > 1.0).astype(int) for points in (X, Z))
    mixed = Z @ np.array([[1.0, 0.5], [0.5, 1.0]])  # narrower along (1, −1), where the classes are
    stream = Stream("mixed", X, y, [(mixed, truth)])
    assert standardised(stream)[0] < 0.8
    assert coral(stream)[0] > standardised(stream)[0] + 0.05


def overlapping(shares: tuple[float, float], gain: float = 1.0, offset: float = 0.0) -> Stream:
    """Two Gaussians 2 apart, equally likely in the source."""
    rng = np.random.default_rng(0)

    def sample(p: tuple[float, float], count: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(2, size=count, p=p)
        return 2.0 * y[:, None] + rng.normal(size=(count, 1)), y

    X, y = sample(shares, 1000)
    return Stream("overlapping", *sample((0.5, 0.5), 1000), [(gain * X + offset, y)], mixed_units=True)


def logistic() -> LogisticRegression:
    return LogisticRegression()


def test_another_mix_is_found_and_used() -> None:
    stream = overlapping((0.95, 0.05))
    best = labels.oracle(stream, logistic)[0]
    assert moments.static(stream, logistic)[0] < best - 0.05
    assert moments.standardised(stream, logistic)[0] < best - 0.2
    assert labels.label_shift(stream, logistic)[0] > best - 0.02
    assert moments.told_the_mix(stream, logistic, corrected=True)[0] > best - 0.02


def test_who_is_told_the_mix_undoes_gains_and_offsets_beside_it() -> None:
    stream = overlapping((0.9, 0.1), gain=3.0, offset=-20.0)
    assert moments.told_the_mix(stream, logistic, corrected=True)[0] > labels.oracle(stream, logistic)[0] - 0.02
    assert labels.label_shift(stream, logistic)[0] < 0.92


def test_em_finds_the_shares_from_exact_posteriors() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(2, size=20000, p=[0.8, 0.2])
    x = 2.0 * y + rng.normal(size=len(y))
    one = 1.0 / (1.0 + np.exp(2.0 - 2.0 * x))  # under equal shares
    np.testing.assert_allclose(
        labels.mix_by_em(np.column_stack([1.0 - one, one]), np.array([0.5, 0.5])), [0.8, 0.2], atol=0.02
    )


def test_every_peer_runs_with_the_shared_classifier() -> None:
    stream = overlapping((0.5, 0.5))
    X, y = stream.batches[0]
    small = replace(stream, X=stream.X[:80], y=stream.y[:80], batches=[(X[:50], y[:50])])
    wide = transformed(small, lambda X: np.column_stack([X, X**2]), mixed_units=True)
    for name, peer in peers.PEERS.items():
        if peers.installed(name):
            assert peer(wide, make_classifier)[0] > 0.6, name


def test_regression_peers_undo_gains_and_offsets() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    stream = Stream("line", X, X @ [1.0, 2.0], [(5.0 * Z + 3.0, Z @ [1.0, 2.0])], mixed_units=True)
    found = {name: peer(stream, KNeighborsRegressor)[0] for name, peer in peers.OF_REGRESSION.items()}
    assert found["static"] > 2.0
    assert max(found["standardised"], found["CORAL"], found["oracle"]) < 0.6
    assert error(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == pytest.approx(np.sqrt(2.0))


# The classifier that they share


def test_who_votes_is_chosen_and_can_be_kept() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(300, 2))
    exclusive = ((X > 0.0).sum(axis=1) == 1).astype(int)
    model = make_classifier().fit(X, exclusive)
    assert set(model.shares_) <= {"forest", "neighbours"}  # the other two are linear
    again = same_again(model).fit(X, exclusive)
    assert again.shares_ == model.shares_
    assert np.mean(again.predict(X) == exclusive) > 0.95
    assert same_again(KNeighborsClassifier(3)).n_neighbors == 3
