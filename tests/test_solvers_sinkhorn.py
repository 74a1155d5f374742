"""Entropic transport: right at any ε, in both forms of the iteration, from any start."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from driftway import PointCloudCost, sinkhorn
from driftway.engines import Threads
from driftway.geometry.dense import Dense
from driftway.plan.sinkhorn import Relaxation, balance

SWEEP = Threads(memory=0)


def moons(n: int, m: int) -> PointCloudCost:
    return PointCloudCost(make_moons(n, noise=0.05, random_state=0)[0], make_moons(m, noise=0.05, random_state=1)[0])


@pytest.mark.parametrize("epsilon", [10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize(("n", "m"), [(60, 40), (40, 60)])
def test_every_strength_is_solved_to_a_certificate(n: int, m: int, epsilon: float) -> None:
    cost = moons(n, m)
    s = sinkhorn(cost, epsilon=epsilon, tol=1e-8)
    assert s.converged
    gamma, (f, g) = s.plan.dense(), s.potentials
    assert np.abs(gamma.sum(axis=1) - 1 / n).sum() + np.abs(gamma.sum(axis=0) - 1 / m).sum() <= 1e-8
    # The plan is the one its potentials define: C + ε log γ = f ⊕ g wherever γ did not underflow.
    C = cost.rows(slice(None))
    residual = (C + epsilon * np.log(np.maximum(gamma, 1e-300)) - np.add.outer(f, g))[gamma > 1e-290]
    assert np.abs(residual).max() <= 1e-9


@pytest.mark.parametrize("epsilon", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("engine", [Threads(), SWEEP], ids=["held", "swept"])
def test_strengths_far_below_the_cost_never_give_nan_or_a_false_certificate(epsilon: float, engine: Threads) -> None:
    import ot

    cost = moons(30, 30)
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = sinkhorn(cost, epsilon=epsilon, max_iter=2000, engine=engine)
    exact = ot.emd2(np.full(30, 1 / 30), np.full(30, 1 / 30), cost.rows(slice(None)))
    # The entropy of a coupling of 30 points each lies between those of a permutation and of independence.
    most, least = exact - epsilon * (1 + np.log(30)), exact - epsilon * (1 + np.log(900))
    assert s.lower_bound <= most * (1 + 1e-12)
    assert s.value >= least * (1 - 1e-12)
    assert np.isfinite(s.plan.dense()).all()
    if s.converged:
        assert s.value <= most * (1 + 1e-6)
    else:
        assert s.gap > 1e-6 or s.marginal_error > 1e-6


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    m=st.integers(1, 12),
    decade=st.floats(-3, 1),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_held_and_swept_agree_on_random_problems(seed: int, n: int, m: int, decade: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    cost = scale * rng.normal(size=(n, m))
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    epsilon = scale * 10**decade
    held = sinkhorn(cost, a, b, epsilon=epsilon, tol=1e-9)
    with warnings.catch_warnings():  # without Newton's method it may need more iterations, and says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        swept = sinkhorn(cost, a, b, epsilon=epsilon, tol=1e-6, engine=SWEEP, max_iter=5000)
    for s in (held, swept):
        assert s.lower_bound <= held.value + 1e-9 * scale
        assert s.value >= held.lower_bound - 1e-9 * scale
    assert np.abs(held.plan.round().dense().sum(axis=0) - b).sum() <= 1e-12


def test_masses_may_be_zero_tiny_or_of_any_total() -> None:
    rng = np.random.default_rng(0)
    a, b = 7.0 * rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(5))
    a[2], b[0], b[1] = 0.0, 0.0, 1e-12
    b *= a.sum() / b.sum()
    s = sinkhorn(rng.random((6, 5)), a, b, epsilon=0.05, tol=1e-10)
    gamma = s.plan.dense()
    assert s.converged
    assert not gamma[2].any()
    assert not gamma[:, 0].any()
    assert gamma.sum() == pytest.approx(a.sum())
    assert s.potentials[0][2] == s.potentials[1][0] == -np.inf
    assert np.isfinite(np.delete(s.potentials[0], 2)).all()


def test_a_warm_start_from_potentials_is_immediate() -> None:
    cost = moons(50, 40)
    first = sinkhorn(cost, epsilon=0.01, tol=1e-9)
    again = sinkhorn(cost, epsilon=0.01, tol=1e-8, init=first.potentials)
    assert again.trace.inner.sum() <= 4
    assert again.value == pytest.approx(first.value, rel=1e-8)


@pytest.mark.parametrize("scaling", [0.5, 0.1, None, "auto"])
def test_every_schedule_ends_at_the_strength_asked_for(scaling: float | str | None) -> None:
    reference = sinkhorn(moons(40, 30), epsilon=2e-3, tol=1e-9)
    s = sinkhorn(moons(40, 30), epsilon=2e-3, tol=1e-9, scaling=scaling, max_iter=20_000)
    assert s.converged
    assert s.value == pytest.approx(reference.value, rel=1e-7)


def test_relaxation_changes_the_way_and_not_the_answer() -> None:
    log = Dense(moons(80, 70).rows(slice(None)) / -0.1)
    a, b = np.full(80, 1 / 80), np.full(70, 1 / 70)
    start = np.zeros(80), np.zeros(70)
    plain = balance(log, a, b, *start, tol=1e-9, max_iter=20_000, engine=SWEEP, relaxation=None)
    relaxed = balance(log, a, b, *start, tol=1e-9, max_iter=20_000, engine=SWEEP)
    assert plain.error <= 1e-9
    assert relaxed.error <= 1e-9
    np.testing.assert_allclose(plain.f + plain.g[0], relaxed.f + relaxed.g[0], atol=1e-6)


def test_relaxation_withdraws_when_the_dual_falls() -> None:
    bold = Relaxation(omega=1.9, dual=1.0)
    careful = bold.update(error=0.1, dual=0.9)
    assert careful.omega == 1.0
    assert careful.limit == bold.limit / 2
    assert bold.update(error=0.1, dual=1.1).omega == 1.9


def test_float32_in_float32_out() -> None:
    cost = moons(40, 30).rows(slice(None))
    single = sinkhorn(cost.astype(np.float32), epsilon=0.05)
    double = sinkhorn(cost, epsilon=0.05)
    assert single.converged
    assert single.plan.dense().dtype == single.potentials[0].dtype == np.float32
    assert single.value == pytest.approx(double.value, rel=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "cosine", "seuclidean"])
@pytest.mark.parametrize("features", [1, 3, 20])
def test_a_point_cloud_is_its_cost_matrix(metric: str, features: int) -> None:
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, features)) + 3, rng.normal(size=(25, features)) + 3
    Y[0] = X[0]
    extra = {"V": np.vstack([X, Y]).var(axis=0, ddof=1)} if metric == "seuclidean" else {}
    cost, matrix = PointCloudCost(X, Y, metric), cdist(X, Y, metric, **extra)
    np.testing.assert_allclose(cost.rows(slice(3, 9)), matrix[3:9], atol=1e-13)
    np.testing.assert_allclose(cost.rows(slice(None)), matrix, atol=1e-13)
    ours, theirs = sinkhorn(cost, epsilon=0.3, engine=SWEEP), sinkhorn(matrix, epsilon=0.3)
    assert ours.value == pytest.approx(theirs.value, rel=1e-6)


def test_squared_distances_of_far_clusters_do_not_cancel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    X[10:] += 1e3
    Y = X + 0.3 * rng.normal(size=(20, 2))
    exact = ((X[:, None] - Y) ** 2).sum(axis=2)
    ours, theirs = sinkhorn(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.1), sinkhorn(exact, epsilon=0.1)
    assert ours.value == pytest.approx(theirs.value, rel=1e-6)


def test_rounds_go_on_improving_marginals_that_hide_behind_the_objective() -> None:
    """Here the unrounded plan's objective is above the rounded one's, so the gap alone asks for no accuracy."""
    rng = np.random.default_rng(9)
    cost, a, b = rng.normal(size=(12, 2)), rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(2))
    s = sinkhorn(cost, a, b, epsilon=0.01, tol=1e-9, max_iter=2000)
    assert s.converged
    assert s.marginal_error <= 1e-9
