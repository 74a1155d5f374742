"""POT as an outside check: where it is right we agree, and where it is wrong a test says why we differ."""

from __future__ import annotations

import warnings

import numpy as np
import ot
import pytest
from problems import data
from scipy.special import xlogy
from sklearn.datasets import make_moons

from benchmarks.problems import figure2_problem
from driftway import ConditionalGradient, Custom, GroupLasso, PointCloudCost, Problem, sinkhorn, solve
from driftway.solvers import FrankWolfe


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


def objective(C: np.ndarray, gamma: np.ndarray, epsilon: float, penalty: float) -> float:
    return float((C * gamma).sum() + epsilon * (xlogy(gamma, gamma) - gamma).sum() + penalty)


def infeasibility(gamma: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(gamma.sum(axis=1) - a).sum() + np.abs(gamma.sum(axis=0) - b).sum())


@pytest.mark.parametrize(("epsilon", "weight"), [(0.1, 0.1), (0.1, 1.0)])
def test_pots_group_lasso_is_not_optimal_by_its_own_objective(epsilon: float, weight: float) -> None:
    """`sinkhorn_l1l2_gl` runs gcg, whose line search and stopping rule leave the entropy out."""
    X, labels = make_moons(30, noise=0.05, random_state=0)
    Y = make_moons(20, noise=0.05, random_state=1)[0]
    a, b, lasso = np.full(30, 1 / 30), np.full(20, 1 / 20), GroupLasso(labels, weight)
    C = PointCloudCost(X, Y).rows(slice(None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.da.sinkhorn_l1l2_gl(a, labels, b, C, epsilon, weight)
    ours = solve(Problem(C, a, b, epsilon=epsilon, regularizer=lasso), max_iter=5000)
    assert ours.converged
    assert infeasibility(theirs, a, b) <= 1e-3
    assert objective(C, theirs, epsilon, lasso.value(theirs)) > ours.value + 0.01 * abs(ours.value)


def figure_2(epsilon: float) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The paper's Figure 2 in small, its cost, and what POT's gcg returns for it when asked for 1e-12."""
    p = figure2_problem(epsilon, n=150, m=60)
    C, J = p.cost.rows(slice(None)), p.regularizer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.optim.gcg(
            p.a, p.b, C, epsilon, 1.0, J.value, J.gradient, stopThr=1e-12, stopThr2=1e-12, numItermax=200
        )
    return p, C, theirs


def test_pots_gcg_stops_above_the_optimum_on_figure_2() -> None:
    """At λ = 0.5 its plan is feasible, but the line search left the entropy out: 0.6 % above a certified optimum."""
    p, C, theirs = figure_2(0.5)
    ours = solve(p)
    assert ours.converged
    assert infeasibility(theirs, p.a, p.b) <= 1e-6
    assert objective(C, theirs, 0.5, p.regularizer.value(theirs)) > ours.value + 1e-3 * abs(ours.value)


def test_pots_gcg_returns_an_infeasible_plan_at_small_strength_on_figure_2() -> None:
    """At λ = 0.01 its inner Sinkhorn, 200 cold iterations outside the log domain, leaves the marginals off."""
    p, _, theirs = figure_2(0.01)
    ours = solve(p)
    assert ours.converged
    assert ours.marginal_error <= 1e-6
    assert infeasibility(theirs, p.a, p.b) > 1e-2
