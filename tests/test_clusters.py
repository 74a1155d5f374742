"""Classes that are clusters: who is one, and how they are followed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from driftway import AdaptationWarning, ContinuousTransportClassifier
from driftway.adaptation.clusters import are_clusters
from driftway.adaptation.gaussians import Gaussians, gaussians_of

Array = np.ndarray
CORNERS = np.array([[0.0, 2.5], [-2.5, -1.5], [2.5, -1.5]])


def triangle(rng: np.random.Generator, size: int, shares: list[float], move: float = 0.0) -> tuple[Array, Array]:
    """Three unit Gaussians, and their labels; `move` takes them apart."""
    y = rng.choice(3, size, p=shares)
    return CORNERS[y] * (1.0 + move) + rng.normal(size=(size, 2)), y


def some_gaussians(seed: int = 0) -> Gaussians:
    rng = np.random.default_rng(seed)
    roots = np.eye(2) + 0.5 * rng.normal(size=(3, 2, 2))
    return Gaussians(CORNERS, roots @ roots.transpose(0, 2, 1), np.array([0.5, 0.3, 0.2]))


class TestGaussians:
    def test_their_densities_are_those_of_scipy(self) -> None:
        mixture, points = some_gaussians(), np.random.default_rng(1).normal(size=(7, 2))
        joint = np.exp(mixture.log_joint(points))
        for k in range(3):
            density = multivariate_normal(mixture.means[k], mixture.covariances[k]).pdf(points)
            np.testing.assert_allclose(joint[k], mixture.masses[k] * density, rtol=1e-12)
        np.testing.assert_allclose(mixture.responsibilities(points), joint / joint.sum(axis=0), rtol=1e-12)

    def test_moments_of_many_points_are_recovered(self) -> None:
        rng, truth = np.random.default_rng(2), some_gaussians()
        groups = rng.choice(3, 20_000, p=truth.masses)
        roots = np.linalg.cholesky(truth.covariances)
        points = truth.means[groups] + np.einsum("nij,nj->ni", roots[groups], rng.normal(size=(20_000, 2)))
        found = gaussians_of(points, np.ones(20_000), groups)
        np.testing.assert_allclose(found.means, truth.means, atol=0.05)
        np.testing.assert_allclose(found.covariances, truth.covariances, atol=0.1)
        np.testing.assert_allclose(found.masses, truth.masses, atol=0.02)

    def test_the_map_between_them_carries_one_onto_the_other(self) -> None:
        rng = np.random.default_rng(3)
        groups = np.repeat([0, 1, 2], 200)
        points = CORNERS[groups] + rng.normal(size=(600, 2))
        here, there = gaussians_of(points, np.ones(600), groups), some_gaussians(4)
        images = here.carry(points, groups, there)
        for k in range(3):
            member = groups == k
            centred = points[member] - here.means[k]
            # The linear part A is symmetric positive with A Σ A = Σ': then it is the optimal one (Brenier).
            linear = np.linalg.lstsq(centred, images[member] - there.means[k], rcond=None)[0]
            np.testing.assert_allclose(linear, linear.T, atol=1e-10)
            assert np.linalg.eigvalsh(linear).min() > 0
            np.testing.assert_allclose(linear @ here.covariances[k] @ linear, there.covariances[k], atol=1e-9)

    def test_adapting_raises_the_likelihood_and_weights_are_repetitions(self) -> None:
        rng, expected = np.random.default_rng(5), some_gaussians()
        points = triangle(rng, 300, [0.2, 0.2, 0.6])[0] + [0.5, 0.0]
        adapted = expected.adapted(points, np.ones(300))

        def likelihood(mixture: Gaussians) -> float:
            return float(np.logaddexp.reduce(mixture.log_joint(points), axis=0).mean())

        assert likelihood(adapted) > likelihood(expected) + 0.1
        np.testing.assert_allclose(adapted.masses.sum(), 1.0)
        np.testing.assert_allclose(adapted.masses, [0.2, 0.2, 0.6], atol=0.07)
        weights = np.r_[np.full(100, 2.0), np.zeros(100), np.ones(100)]
        repeated = np.r_[points[:100], points[:100], points[200:]]
        for one, other in zip(expected.adapted(points, weights), expected.adapted(repeated, np.ones(300)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)

    def test_a_cluster_that_is_away_stays_where_it_is(self) -> None:
        rng = np.random.default_rng(6)
        mixture = Gaussians(CORNERS, np.stack([np.eye(2)] * 3), np.full(3, 1 / 3))
        for _ in range(20):
            mixture = mixture.adapted(triangle(rng, 200, [0.5, 0.5, 0.0])[0], np.ones(200))
        assert np.linalg.norm(mixture.means[2] - CORNERS[2]) < 0.5
        assert 0 < mixture.masses[2] < 0.02


class TestWhoIsACluster:
    def test_gaussians_are(self) -> None:
        X, y = triangle(np.random.default_rng(0), 300, [1 / 3] * 3)
        assert are_clusters(X, y, np.ones(300))

    @pytest.mark.parametrize("noise", [0.05, 0.15])
    def test_moons_are_not(self, noise: float) -> None:
        X, y = make_moons(500, noise=noise, random_state=0)
        assert not are_clusters(X, y.astype(np.intp), np.ones(500))

    def test_a_class_of_two_heaps_is_not(self) -> None:
        X, y = triangle(np.random.default_rng(0), 400, [0.25, 0.25, 0.5])
        assert not are_clusters(X, np.minimum(y, 1), np.ones(400))

    def test_few_points_for_many_features_are_not(self) -> None:
        X = np.random.default_rng(0).normal(size=(60, 30))
        X[30:] += 5.0
        assert not are_clusters(X, np.repeat([0, 1], 30), np.ones(60))

    def test_one_class_is_not(self) -> None:
        assert not are_clusters(np.random.default_rng(0).normal(size=(100, 2)), np.zeros(100, int), np.ones(100))


class TestFollowing:
    def test_without_drift_nothing_is_lost(self) -> None:
        rng = np.random.default_rng(1)
        X, y = triangle(rng, 300, [1 / 3] * 3)
        model = ContinuousTransportClassifier().fit(X, y)
        still, found = clone_score(X, y), []
        for _ in range(10):
            B, z = triangle(rng, 200, [1 / 3] * 3)
            found.append(model.partial_fit(B).score(B, z) - still(B, z))
        assert np.mean(found) > -0.01
        assert (model.history_["track"][2:] == "clusters").all()

    def test_a_class_may_be_away_and_come_back(self) -> None:
        rng = np.random.default_rng(2)
        model = ContinuousTransportClassifier().fit(*triangle(rng, 300, [1 / 3] * 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            for step in range(15):
                model.partial_fit(triangle(rng, 200, [0.5, 0.5, 0.0], move=0.02 * step)[0])
            B, z = triangle(rng, 200, [1 / 3] * 3, move=0.3)
            assert model.partial_fit(B).score(B, z) > 0.95
        np.testing.assert_allclose(model.batch_proba_.sum(axis=1), 1.0)

    def test_it_can_be_switched_off(self) -> None:
        rng = np.random.default_rng(3)
        model = ContinuousTransportClassifier(clusters=False).fit(*triangle(rng, 300, [1 / 3] * 3))
        for _ in range(3):
            model.partial_fit(triangle(rng, 100, [1 / 3] * 3)[0])
        assert "clusters" not in model.history_["track"]


def clone_score(X: Array, y: Array):
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(X, y).score
