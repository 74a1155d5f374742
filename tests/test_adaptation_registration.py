"""Registration: large turns that transport takes for a squeeze."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from driftway import ContinuousTransportClassifier
from driftway.adaptation.registration import DOUBT, _doubt, density_of, log_density, registered


def turn(degrees):
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def moons(count, degrees, seed):
    X, _ = make_moons(count, noise=0.05, random_state=seed)
    return (X - [0.5, 0.25]) @ turn(degrees)


def even(count):
    return np.full(count, 1.0 / count)


def test_the_log_density_is_that_of_a_mixture_of_gaussians():
    rng = np.random.default_rng(0)
    X, Y, a = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.dirichlet(np.ones(6))
    found, origins = log_density(cdist(X, Y, "sqeuclidean"), a, 0.3, 3)
    parts = np.array([a[i] * multivariate_normal(X[i], 0.3 * np.eye(3)).pdf(Y) for i in range(6)])
    np.testing.assert_allclose(found, np.log(parts.sum(axis=0)), rtol=1e-12)
    np.testing.assert_allclose(origins, parts / parts.sum(axis=0), rtol=1e-10)


def test_the_width_is_near_the_one_that_leaves_points_most_likely():
    X, a = moons(150, 0.0, 0), even(150)
    found = density_of(X, a)
    squares = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    widths = found.width * np.geomspace(0.1, 10.0, 41)
    best = max(float(a @ log_density(squares, a, w, 2)[0]) for w in widths) - np.log1p(-1.0 / 150)
    assert found.usual > best - 0.01


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("degrees", [-36.0, 36.0])
def test_a_large_turn_is_found_where_transport_alone_squeezes(seed, degrees):
    X, batch, labels = moons(400, 0.0, seed), moons(50, degrees, seed + 100), np.arange(400) % 2
    truth = X @ turn(degrees)

    def error(**given):
        model = ContinuousTransportClassifier(hypotheses="transport", stay=False, **given).fit(X, labels)
        model.partial_fit(batch)
        return np.sqrt(np.mean((model.images_ - truth) ** 2))

    assert error() < 0.7 * error(map="affine", motion="affine")


def test_likely_batches_leave_the_images_alone():
    X = moons(400, 0.0, 0)
    assert registered(X, X, even(400), moons(50, 0.0, 1), even(50)) is X


def test_what_no_affine_map_explains_leaves_the_images_alone():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)) * 0.1 + c for c in ([0, 0], [3, 0], [0, 3])])
    batch = np.concatenate([rng.normal(size=(50, 2)) * 0.1 + c for c in ([0, 0], [3, 0], [0, 3], [4, 4], [2, 6])])
    density = density_of(X, even(300))
    assert _doubt(X, even(300), batch, even(250), density) > DOUBT
    assert registered(X, X, even(300), batch, even(250)) is X
