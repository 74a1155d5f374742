"""POT as an outside check: where it is right we agree, and where it is wrong a test says why we differ."""

from __future__ import annotations

import warnings

import numpy as np
import ot
import pytest
from problems import data
from sklearn.datasets import make_moons

from driftway import ConditionalGradient, Custom, FrankWolfe, GroupLasso, PointCloudCost, Problem, sinkhorn, solve


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.03])
def test_entropic_transport_is_pots(epsilon: float) -> None:
    d = data(20, 15, seed=0)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    theirs = ot.sinkhorn(d.a, d.b, C, epsilon, method="sinkhorn_log", stopThr=1e-12, numItermax=100_000)
    ours = sinkhorn(C, d.a, d.b, epsilon=epsilon, tol=1e-12)
    np.testing.assert_allclose(ours.plan.dense(), theirs, atol=1e-6)


def test_exact_transport_is_pots() -> None:
    d = data(20, 15, seed=1)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    ours = solve(Problem(C, d.a, d.b, epsilon=0.0), FrankWolfe(), tol=1e-9)
    assert ours.value == pytest.approx(ot.emd2(d.a, d.b, C), abs=1e-9)


def test_conditional_gradient_on_a_quadratic_is_pots() -> None:
    """`ot.optim.cg` minimises ⟨γ, C⟩ + reg·f(γ); its own documentation's example is f = ½‖γ‖²."""
    d = data(10, 8, seed=2)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    theirs = ot.optim.cg(d.a, d.b, C, 0.5, lambda G: 0.5 * (G**2).sum(), lambda G: G, numItermax=5000, stopThr=1e-12)
    value = (C * theirs).sum() + 0.25 * (theirs**2).sum()
    square = Custom(lambda G: 0.25 * (G**2).sum(), lambda G: 0.5 * G, convex=True)
    ours = solve(Problem(C, d.a, d.b, epsilon=0.0, regularizer=square), FrankWolfe(), tol=1e-4, max_iter=3000)
    assert ours.lower_bound <= value + 1e-10
    assert ours.value == pytest.approx(value, rel=1e-4)


def test_generalised_conditional_gradient_agrees_where_pots_line_search_is_harmless() -> None:
    """With a weak J the unit step is right, and POT's gcg takes it."""
    d = data(12, 10, seed=3)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    weight, epsilon = 1e-2, 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.optim.gcg(
            d.a, d.b, C, epsilon, weight, lambda G: 0.5 * (G**2).sum(), lambda G: G, numItermax=200, stopThr=1e-14
        )
    square = Custom(lambda G: 0.5 * weight * (G**2).sum(), lambda G: weight * G, convex=True)
    problem = Problem(C, d.a, d.b, epsilon=epsilon, regularizer=square)
    for ours in (solve(problem, tol=1e-11), solve(problem, ConditionalGradient(), tol=1e-11)):
        assert np.abs(ours.plan.dense() - theirs).sum() <= 1e-5
    objective = (C * theirs).sum() + epsilon * (theirs * (np.log(theirs) - 1)).sum() + 0.5 * weight * (theirs**2).sum()
    assert ours.value == pytest.approx(objective, rel=1e-6)


def test_group_lasso_beats_what_pot_returns_by_its_own_objective() -> None:
    """POT's `sinkhorn_l1l2_gl` runs gcg, whose line search ignores the entropy, and drops λ-sized accuracy.

    Its answer is feasible only to its inner Sinkhorn and is not optimal; ours is certified, and lower.
    """
    X, labels = make_moons(30, noise=0.05, random_state=0)
    Y = make_moons(20, noise=0.05, random_state=1)[0]
    a, b, epsilon, weight = np.full(30, 1 / 30), np.full(20, 1 / 20), 0.01, 0.1
    C = PointCloudCost(X, Y).rows(slice(None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.da.sinkhorn_l1l2_gl(a, labels, b, C, epsilon, weight)
    lasso = GroupLasso(labels, weight)
    ours = solve(Problem(C, a, b, epsilon=epsilon, regularizer=lasso), max_iter=5000)
    infeasible = np.abs(theirs.sum(axis=1) - a).sum() + np.abs(theirs.sum(axis=0) - b).sum()
    objective = (C * theirs).sum() + epsilon * (theirs * (np.log(theirs + 1e-300) - 1)).sum() + lasso.value(theirs)
    assert ours.converged
    assert infeasible > 1e-6 or objective > ours.value


def test_pots_gcg_ignores_the_entropy_in_its_line_search() -> None:
    """Where J is strong its returned plan is far from optimal by its own documented objective; ours is certified."""
    d = data(12, 10, seed=4)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    weight, epsilon = 50.0, 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.optim.gcg(d.a, d.b, C, epsilon, weight, lambda G: 0.5 * (G**2).sum(), lambda G: G, numItermax=500)
    square = Custom(lambda G: 0.5 * weight * (G**2).sum(), lambda G: weight * G, convex=True)
    ours = solve(Problem(C, d.a, d.b, epsilon=epsilon, regularizer=square), tol=1e-7, max_iter=5000)
    objective = (C * theirs).sum() + epsilon * (theirs * (np.log(theirs) - 1)).sum() + 0.5 * weight * (theirs**2).sum()
    assert ours.converged
    assert ours.value <= objective + 1e-6
