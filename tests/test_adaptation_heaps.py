"""Classes that are heaps: who is such a class, and how heaps are followed."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from driftway import AdaptationWarning, ContinuousTransportClassifier
from driftway.adaptation.gaussians import Gaussians, mixture_of
from driftway.adaptation.heaps import Heaps, heaps_of

Array = np.ndarray
CORNERS = np.array([[0.0, 2.5], [-2.5, -1.5], [2.5, -1.5]])
SQUARE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def triangle(rng: np.random.Generator, size: int, shares: list[float], move: float = 0.0) -> tuple[Array, Array]:
    """Three unit Gaussians, and their labels; `move` takes them apart."""
    y = rng.choice(3, size, p=shares)
    return CORNERS[y] * (1.0 + move) + rng.normal(size=(size, 2)), y


def sample(rng: np.random.Generator, means: Array, size: int) -> tuple[Array, Array]:
    """As many points of unit Gaussians around every mean, and the numbers of the means."""
    y = np.arange(size) % len(means)
    return means[y] + rng.normal(size=(size, means.shape[1])), y


def some_gaussians(seed: int = 0) -> Gaussians:
    rng = np.random.default_rng(seed)
    roots = np.eye(2) + 0.5 * rng.normal(size=(3, 2, 2))
    return Gaussians(CORNERS, roots @ roots.transpose(0, 2, 1), np.array([0.5, 0.3, 0.2]))


def found_in(X: Array, y: Array) -> Heaps:
    heaps = Heaps.of(X, y, np.ones(len(y)), int(y.max()) + 1)
    assert heaps is not None
    return heaps


def right(heaps: Heaps, X: Array, y: Array) -> float:
    return float(np.mean(heaps.posteriors(X).argmax(axis=1) == y))


class TestGaussians:
    def test_their_densities_are_those_of_scipy(self) -> None:
        mixture, points = some_gaussians(), np.random.default_rng(1).normal(size=(7, 2))
        joint = np.exp(mixture.log_joint(points))
        for k in range(3):
            density = multivariate_normal(mixture.means[k], mixture.covariances[k]).pdf(points)
            np.testing.assert_allclose(joint[k], mixture.masses[k] * density, rtol=1e-12)
        shares, density = mixture.shares(points)
        np.testing.assert_allclose(shares, joint / joint.sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(density, np.log(joint.sum(axis=0)), rtol=1e-12)

    @pytest.mark.parametrize("number", [1, 2, 3, 4])
    def test_as_many_are_found_as_there_are(self, number: int) -> None:
        X, _ = sample(np.random.default_rng(number), 4.0 * SQUARE[:number], 100 * number)
        mixture = mixture_of(X, np.full(len(X), 1 / len(X)), 1e-3, 4)
        assert len(mixture.means) == number
        distances = np.linalg.norm(mixture.means[:, None] - 4.0 * SQUARE[:number], axis=2)
        assert distances.min(axis=0).max() < 0.4
        np.testing.assert_allclose(mixture.masses, 1 / number, atol=0.05)

    def test_a_likelihood_is_a_mean_of_log_densities_by_weight(self) -> None:
        rng = np.random.default_rng(5)
        heaps, points = found_in(*sample(rng, CORNERS, 300)), rng.normal(size=(3, 2))
        logs = [np.log(sum(np.exp(heaps.mixture.log_joint(x[None])))[0]) for x in points]
        assert heaps.log_likelihood(points, np.array([2.0, 0.0, 1.0])) == pytest.approx((2 * logs[0] + logs[2]) / 3)


class TestWhoIsHeaps:
    def test_gaussians_are(self) -> None:
        assert found_in(*triangle(np.random.default_rng(0), 300, [1 / 3] * 3)).owners.tolist() == [0, 1, 2]

    def test_a_class_may_be_several(self) -> None:
        X, y = sample(np.random.default_rng(0), 4.0 * SQUARE, 400)
        heaps = found_in(X, np.minimum(y, 1))
        assert heaps.owners.tolist() == [0, 1, 1, 1]
        assert np.linalg.norm(heaps.means[:, None] - 4.0 * SQUARE, axis=2).min(axis=0).max() < 0.4
        assert right(heaps, X, np.minimum(y, 1)) > 0.98
        np.testing.assert_allclose(heaps.posteriors(X).sum(axis=1), 1.0)
        assert (heaps.owners[heaps.members(X, np.minimum(y, 1))] == np.minimum(y, 1)).all()

    def test_classes_inside_each_other_are_not_one_heap_each(self) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.uniform(-1.0, 1.0, size=(400, 2)), np.zeros(400, dtype=int)
        y[(np.floor(4.0 * X[:, 0]) + np.floor(4.0 * X[:, 1])) % 2 == 0] = 1  # a chessboard
        assert Heaps.of(X, y, np.ones(400), 2) is None

    def test_parts_of_a_shape_do_not_outdo_the_whole(self) -> None:
        X, y = make_moons(500, noise=0.05, random_state=0)
        model = ContinuousTransportClassifier().fit(X, y)
        for step in range(1, 6):
            angle = np.deg2rad(30.0 * step)
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            B, z = make_moons(50, noise=0.05, random_state=step)
            model.partial_fit(B @ turn)
        assert model.score(B @ turn, z) > 0.95

    def test_few_points_for_many_features_are_not(self) -> None:
        X = np.random.default_rng(0).normal(size=(60, 30))
        X[30:] += 5.0
        assert Heaps.of(X, np.repeat([0, 1], 30), np.ones(60), 2) is None

    def test_one_class_is_not(self) -> None:
        assert Heaps.of(np.random.default_rng(0).normal(size=(100, 2)), np.zeros(100, int), np.ones(100), 1) is None


class TestFollowingHeaps:
    def test_nothing_given_is_changed_and_a_step_repeats_itself(self) -> None:
        rng = np.random.default_rng(0)
        heaps, (B, _) = found_in(*sample(rng, CORNERS, 300)), sample(rng, CORNERS + 0.3, 300)
        before = [np.copy(getattr(heaps, field.name)) for field in fields(heaps)]
        one, two = heaps.ahead().adapted(B, np.ones(300)), heaps.ahead().adapted(B, np.ones(300))
        for field, value in zip(fields(heaps), before, strict=True):
            np.testing.assert_array_equal(getattr(heaps, field.name), value)
            np.testing.assert_array_equal(getattr(one, field.name), getattr(two, field.name))
        assert one.log_likelihood(B, np.ones(300)) > heaps.log_likelihood(B, np.ones(300)) + 0.02
        assert one.masses.sum() == pytest.approx(1.0)

    def test_weights_are_repetitions(self) -> None:
        rng = np.random.default_rng(1)
        heaps, (B, _) = found_in(*sample(rng, CORNERS, 300)), sample(rng, CORNERS + 0.3, 300)
        weighted = heaps.adapted(B, np.r_[np.full(100, 2.0), np.zeros(100), np.ones(100)])
        repeated = heaps.adapted(np.r_[B[:100], B[:100], B[200:]], np.ones(300))
        for name in ("means", "covariances", "masses", "velocities", "paces"):
            np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9)

    @pytest.mark.parametrize("radius", [3.0, 6.0])
    def test_a_rotation_is_followed_steady_or_in_jerks(self, radius: float) -> None:
        for degrees in (np.arange(0, 720, 6.0), np.repeat(np.arange(0, 720, 25.0), 3)):
            rng = np.random.default_rng(2)
            heaps = found_in(*sample(rng, radius * SQUARE, 300))
            scores = []
            for angle in np.deg2rad(degrees):
                turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                B, z = sample(rng, radius * SQUARE @ turn, 300)
                heaps = heaps.ahead().adapted(B, np.ones(300))
                scores.append(right(heaps, B, z))
            assert np.mean(scores) > (0.94 if radius == 3.0 else 0.99)
            assert min(scores[-5:]) > 0.9

    def test_two_that_trade_places_keep_their_names(self) -> None:
        rng, ends = np.random.default_rng(3), np.array([[-5.0, -1.25], [5.0, 1.25]])
        heaps = found_in(*sample(rng, ends, 300))
        for time in np.linspace(0.0, 1.0, 60):
            B, z = sample(rng, ends * [1.0 - 2.0 * time, 1.0], 300)
            heaps = heaps.ahead().adapted(B, np.ones(300))
        assert right(heaps, B, z) > 0.99

    def test_a_jump_of_all_and_a_sudden_return_are_followed(self) -> None:
        rng, place = np.random.default_rng(4), np.zeros(2)
        ends = np.array([[-1.7, 0.0], [1.7, 0.0]])
        heaps, scores = found_in(*sample(rng, ends, 300)), []
        for step in range(40):
            place = place + (0.5 if step < 20 else -0.5)
            B, z = sample(rng, ends + place, 300)
            heaps = heaps.ahead().adapted(B, np.ones(300))
            scores.append(right(heaps, B, z))
        assert min(scores) > 0.88

    def test_a_heap_that_becomes_two_is_split_and_its_points_go_with_the_halves(self) -> None:
        rng = np.random.default_rng(5)
        X, y = sample(rng, np.array([[0.0, 6.0], [0.0, 0.0]]), 300)
        heaps, images = found_in(X, y), X
        members = heaps.members(X, y)
        for step in range(20):
            apart = np.array([0.25 * step, 0.0])
            B, z = sample(rng, np.array([[0.0, 6.0], -apart, [0.0, 6.0], apart]), 300)
            after = heaps.ahead().adapted(B, np.ones(300))
            images, members = heaps.carry(images, members, after)
            heaps = after
        assert heaps.owners.tolist() == [0, 1, 1]
        assert right(heaps, B, z % 2) > 0.98
        assert (heaps.owners[members] == y).all()
        halves = [images[members == h].mean(axis=0)[0] for h in (1, 2)]
        np.testing.assert_allclose(sorted(halves), [-4.75, 4.75], atol=1.0)

    def test_a_heap_that_is_away_stays_where_it_is(self) -> None:
        rng = np.random.default_rng(6)
        heaps = found_in(*triangle(rng, 300, [1 / 3] * 3))
        for _ in range(20):
            heaps = heaps.ahead().adapted(triangle(rng, 200, [0.5, 0.5, 0.0])[0], np.ones(200))
        assert np.linalg.norm(heaps.means[2] - CORNERS[2]) < 0.5
        assert 0 < heaps.masses[2] < 0.02
        assert np.linalg.eigvalsh(heaps.covariances[2]).min() > 0.5
        B, z = triangle(rng, 200, [1 / 3] * 3)
        assert right(heaps.ahead().adapted(B, np.ones(200)), B, z) > 0.93

    def test_few_points_move_little_and_break_nothing(self) -> None:
        rng = np.random.default_rng(7)
        heaps = found_in(*sample(rng, CORNERS, 300))
        for _ in range(30):
            B, _ = sample(rng, CORNERS, 3)
            heaps = heaps.ahead().adapted(B, np.ones(3))
        B, z = sample(rng, CORNERS, 300)
        assert right(heaps, B, z) > 0.9
        one = heaps.adapted(B[:1], np.ones(1))
        assert all(np.isfinite(getattr(one, field.name)).all() for field in fields(one))

    def test_flat_heaps_have_a_floor(self) -> None:
        rng = np.random.default_rng(8)
        X, y = sample(rng, CORNERS, 300)
        X = np.column_stack([X, X[:, 0], np.zeros(300)])
        heaps = found_in(X, y)
        for _ in range(50):
            heaps = heaps.ahead().adapted(X, np.ones(300))
        assert np.linalg.eigvalsh(heaps.covariances).min() > 1e-6
        assert right(heaps, X, y) > 0.95

    @pytest.mark.parametrize("garbage", [1e3, 1e8])
    def test_garbage_leaves_numbers(self, garbage: float) -> None:
        rng = np.random.default_rng(9)
        heaps = found_in(*sample(rng, CORNERS, 300))
        after = heaps.ahead().adapted(garbage * rng.normal(size=(300, 2)), np.ones(300))
        assert all(np.isfinite(getattr(after, field.name)).all() for field in fields(after))
        assert np.isfinite(after.ahead().adapted(sample(rng, CORNERS, 300)[0], np.ones(300)).means).all()

    def test_many_features_with_few_points_a_heap(self) -> None:
        rng = np.random.default_rng(10)
        means = 2.0 * rng.normal(size=(4, 20))
        heaps = found_in(*sample(rng, means, 300))
        for step in range(1, 21):
            B, z = sample(rng, means + 0.2 * step, 300)
            heaps = heaps.ahead().adapted(B, np.ones(300))
        assert right(heaps, B, z) > 0.98

    def test_the_map_between_heaps_carries_one_onto_the_other(self) -> None:
        rng = np.random.default_rng(11)
        X, y = sample(rng, CORNERS, 600)
        here = heaps_of(X, y, np.ones(600), [1, 1, 1])
        there = replace(here, means=here.means + 1.0, covariances=some_gaussians(4).covariances)
        images, members = here.carry(X, y, there)
        np.testing.assert_array_equal(members, y)
        for k in range(3):
            centred = X[y == k] - here.means[k]
            # The linear part A is symmetric positive with A Σ A = Σ': then it is the optimal one (Brenier).
            linear = np.linalg.lstsq(centred, images[y == k] - there.means[k], rcond=None)[0]
            np.testing.assert_allclose(linear, linear.T, atol=1e-10)
            assert np.linalg.eigvalsh(linear).min() > 0
            np.testing.assert_allclose(linear @ here.covariances[k] @ linear, there.covariances[k], atol=1e-9)


class TestFollowing:
    @pytest.mark.parametrize("hypotheses", ["auto", "transport"])
    def test_without_drift_nothing_is_lost(self, hypotheses: str) -> None:
        rng = np.random.default_rng(1)
        X, y = triangle(rng, 300, [1 / 3] * 3)
        model = ContinuousTransportClassifier(hypotheses=hypotheses).fit(X, y)
        still, found = clone_score(X, y), []
        for _ in range(10):
            B, z = triangle(rng, 200, [1 / 3] * 3)
            found.append(model.partial_fit(B).score(B, z) - still(B, z))
        assert np.mean(found) > -0.01
        # A turn by nearly nothing is as good.
        expected = {"auto": ["still"], "transport": ["clusters", "turn"]}[hypotheses]
        assert np.isin(model.history_["track"][2:], expected).all()

    @pytest.mark.parametrize("hypotheses", ["auto", "transport"])
    def test_a_class_may_be_away_and_come_back(self, hypotheses: str) -> None:
        rng = np.random.default_rng(2)
        model = ContinuousTransportClassifier(hypotheses=hypotheses).fit(*triangle(rng, 300, [1 / 3] * 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            for step in range(15):
                model.partial_fit(triangle(rng, 200, [0.5, 0.5, 0.0], move=0.02 * step)[0])
            B, z = triangle(rng, 200, [1 / 3] * 3, move=0.3)
            assert model.partial_fit(B).score(B, z) > 0.95
        np.testing.assert_allclose(model.batch_proba_.sum(axis=1), 1.0)

    @pytest.mark.parametrize("hypotheses", ["auto", "transport"])
    def test_a_saved_stream_goes_on_as_it_would_have(self, hypotheses: str, tmp_path: Path) -> None:
        rng = np.random.default_rng(4)
        model = ContinuousTransportClassifier(hypotheses=hypotheses).fit(*triangle(rng, 300, [1 / 3] * 3))
        model.partial_fit(triangle(rng, 200, [1 / 3] * 3)[0]).save(tmp_path / "state.npz")
        again = ContinuousTransportClassifier.load(tmp_path / "state.npz")
        for _ in range(2):
            B = triangle(rng, 200, [1 / 3] * 3)[0]
            np.testing.assert_array_equal(model.partial_fit(B).images_, again.partial_fit(B).images_)
            np.testing.assert_array_equal(model.batch_proba_, again.batch_proba_)

    def test_it_can_be_switched_off(self) -> None:
        rng = np.random.default_rng(3)
        kinds = {"hypotheses": "transport", "clusters": False}
        model = ContinuousTransportClassifier(**kinds).fit(*triangle(rng, 300, [1 / 3] * 3))
        for _ in range(3):
            model.partial_fit(triangle(rng, 100, [1 / 3] * 3)[0])
        assert "clusters" not in model.history_["track"]


def clone_score(X: Array, y: Array):
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(X, y).score


def test_a_heap_of_equal_points_has_no_halves() -> None:
    """Codes: all points of a heap may be one, which has no axis to divide it along."""
    X, y = np.array([[0.0], [1.0]] * 20), np.arange(40) // 2 % 3
    heaps = heaps_of(X, y, np.ones(40), [1, 1, 1])
    batch = np.array([[0.0], [1.0], [1.0]] * 10)
    taken = np.stack([batch[:, 0] == 0.0, batch[:, 0] == 1.0, np.zeros(30)]).astype(float)
    split = heaps._split(batch, taken)
    assert len(split.means) == 3
    assert np.isfinite(split.evidence).all()
