"""Alignment: jumps that keep distances, found from the distances, and refused where there is no telling."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from benchmarks.streams import digits_at_once
from driftway.adaptation import alignment
from driftway.adaptation.alignment import Sample, alternated, carried_through, matched, procrustes


def even(points):
    return Sample(points, np.full(len(points), 1.0 / len(points)))


def clusters(count, seed, *, classes=4, d=8):
    """Classes around places of their own, the same for every seed, in which every direction counts."""
    centres = 3.0 * np.random.default_rng(7).normal(size=(classes, d))
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=count)
    return centres[y] + rng.normal(size=(count, d)), y


def carried(X, y, batch):
    return carried_through(X, y, np.ones(len(X)), batch, np.ones(len(batch)))


def right(images, y, batch, truth):
    return np.mean(y[cdist(images, batch).argmin(axis=0)] == truth)


def test_procrustes_returns_the_map_that_made_the_points():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(30, 5)), ortho_group.rvs(5, random_state=0)
    np.testing.assert_allclose(procrustes(X, X @ Q, np.eye(30) / 30), Q, atol=1e-12)


def test_no_orthogonal_map_near_the_answer_of_procrustes_costs_less():
    rng = np.random.default_rng(1)
    X, Y, gamma = rng.normal(size=(20, 4)), rng.normal(size=(25, 4)), rng.uniform(size=(20, 25))

    def cost(Q):
        return float((gamma * cdist(X @ Q, Y, "sqeuclidean")).sum())

    found = procrustes(X, Y, gamma)
    np.testing.assert_allclose(found @ found.T, np.eye(4), atol=1e-12)
    for seed in range(20):
        skew = 0.05 * np.random.default_rng(seed).normal(size=(4, 4))
        nearby = np.linalg.qr(np.eye(4) + skew - skew.T)[0]
        nearby *= np.sign(np.diag(nearby))
        assert cost(found @ nearby) >= cost(found)


def test_distances_alone_couple_every_point_with_its_turned_self():
    X, _ = clusters(120, 0)
    order = np.random.default_rng(0).permutation(120)
    gamma = matched(even(X), even((X @ ortho_group.rvs(8, random_state=1))[order]))
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0 / 120, rtol=1e-9)
    assert np.mean(order[gamma.argmax(axis=1)] == np.arange(120)) > 0.9


def test_the_map_between_a_sample_and_itself_turned_is_found():
    X, _ = clusters(150, 0)
    X, Q = X - X.mean(axis=0), ortho_group.rvs(8, random_state=2)
    Y = even(X @ Q)
    turn = alternated(even(X), Y, matched(even(X), Y))
    np.testing.assert_allclose(turn.Q, Q, atol=0.02)


@pytest.mark.parametrize("degrees", [45.0, 60.0])
def test_digits_turned_at_once_are_recognised(degrees):
    stream = digits_at_once(0, degrees=degrees)
    batch, truth = stream.batches[0]
    images = carried(stream.X, stream.y, batch)
    assert images is not None
    assert right(images, stream.y, batch, truth) > 0.9 > 0.4 > right(stream.X, stream.y, batch, truth)


def test_a_turn_of_all_features_a_gain_and_a_shift_are_found_together():
    stream = digits_at_once(0, degrees=0.0)
    batch, truth = stream.batches[0]
    Q, shift = ortho_group.rvs(64, random_state=0), np.random.default_rng(0).normal(size=64)
    batch = shift + 2.0 * batch @ Q
    images, target = carried(stream.X, stream.y, batch), shift + 2.0 * stream.X @ Q
    assert images is not None
    assert right(images, stream.y, batch, truth) > 0.95
    # What is beyond the principal components that are looked at is lost, and of the rest nearly nothing.
    assert np.sum((images - target) ** 2) < 0.15 * np.sum((target - target.mean(axis=0)) ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_gains_and_offsets_per_feature_need_no_turn(seed):
    stream, rng = digits_at_once(seed, degrees=0.0), np.random.default_rng(seed)
    gains, offsets = np.exp(0.3 * rng.normal(size=64)), stream.X.std(axis=0) * rng.normal(size=64)
    assert carried(stream.X, stream.y, stream.batches[0][0] * gains + offsets) is None


@pytest.mark.parametrize("degrees", [0.0, 10.0])
def test_small_turns_are_left_to_others(degrees):
    stream = digits_at_once(0, degrees=degrees)
    assert carried(stream.X, stream.y, stream.batches[0][0]) is None


def test_another_mix_of_the_classes_is_not_a_turn():
    stream = digits_at_once(0, degrees=0.0)
    batch, truth = stream.batches[0]
    assert carried(stream.X, stream.y, batch[truth > 4]) is None


def test_a_batch_that_no_turn_explains_is_refused():
    """Every pixel has the values of turned digits, but of another image each."""
    stream = digits_at_once(0, degrees=45.0)
    batch = np.random.default_rng(0).permuted(stream.batches[0][0], axis=0)
    assert carried(stream.X, stream.y, batch) is None


def test_classes_that_may_have_changed_places_are_refused(monkeypatch):
    """Class 1 is the mirror image of class 0 through the origin, so every turn has a twin that exchanges them."""
    places = 4.0 * np.random.default_rng(3).normal(size=(20, 9))

    def sample(seed):
        rng = np.random.default_rng(seed)
        y, part = np.arange(400) // 2 % 2, np.arange(400) // 4 % 20  # every half has as many of each
        return (1.0 - 2.0 * y[:, None]) * (places[part] + 0.5 * rng.normal(size=(400, 9))), y

    (X, y), (Z, _) = sample(0), sample(1)
    batch = Z @ ortho_group.rvs(9, random_state=5)
    assert carried(X, y, batch) is None
    monkeypatch.setattr(alignment, "_others", lambda *_: iter(()))  # the fit alone gives no reason to refuse
    assert carried(X, y, batch) is not None


@pytest.mark.parametrize("case", ["few labelled", "few", "one class", "one place"])
def test_what_cannot_tell_a_turn_is_refused(case):
    """The same digits are carried through where all is there."""
    stream = digits_at_once(0, degrees=45.0)
    X, y, batch = stream.X, stream.y, stream.batches[0][0]
    if case == "few labelled":
        X, y = X[:250], y[:250]
    elif case == "few":
        batch = batch[:140]
    elif case == "one class":
        y = np.zeros_like(y)
    else:
        batch = np.ones_like(batch)
    assert carried(X, y, batch) is None


def test_shapes_in_few_dimensions_are_refused():
    X, y = clusters(400, 0, d=2)
    assert carried(X, y, X @ ortho_group.rvs(2, random_state=0)) is None
