"""Scales: units of mass and cost, single tiny masses, strong regularisers, one coupling, float32."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from driftway import (
    ConditionalGradient,
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    Regularizer,
    TimeSmoothness,
    solve,
)
from driftway.regularizers.evaluation import checked_gradient, checked_value
from driftway.solvers import DualAscent, DualNewton, FrankWolfe, Solver

RNG = np.random.default_rng(0)
N, M = 8, 6
X, Y, PREVIOUS = RNG.normal(size=(N, 2)), RNG.normal(size=(M, 2)), RNG.normal(size=(N, 2))
COST = ((X[:, None] - Y) ** 2).sum(axis=2)
LABELS = np.arange(N) % 3
SIMILARITY = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))


def regularizers(cost: float, mass: float) -> dict[str, Regularizer | None]:
    """The same regularisers in units of cost and mass."""
    square = Custom(lambda g: cost / mass * (g**2).sum(), lambda g: 2.0 * cost / mass * g, convex=True)
    lasso = GroupLasso(LABELS, 0.3 * cost)
    return {
        "none": None,
        "lasso": lasso,
        "time": TimeSmoothness(Y, PREVIOUS, 0.2 * cost),
        "laplacian": Laplacian(SIMILARITY, Y, 0.2 * cost * mass),
        "square": square,
        "sum": lasso + 0.5 * TimeSmoothness(Y, PREVIOUS, 0.05 * cost * mass, "sum"),
    }


@pytest.mark.parametrize("name", regularizers(1.0, 1.0))
@pytest.mark.parametrize(("cost", "mass"), [(2.0**330, 1.0), (2.0**-330, 2.0**-40), (1.0, 2.0**40)])
def test_a_problem_in_other_units_has_the_same_solution(name: str, cost: float, mass: float) -> None:
    """objective(mass·γ, cost·C) = cost·mass (objective(γ, C) + ε log mass), for solution, trace and callback alike."""

    def solved(cost: float, mass: float) -> tuple[list[float], np.ndarray]:
        seen = []
        problem = Problem(
            cost * COST,
            np.full(N, mass / N),
            np.full(M, mass / M),
            epsilon=0.2 * cost,
            regularizer=regularizers(cost, mass)[name],
        )
        s = solve(problem, tol=1e-9, callback=lambda i, plan: seen.append((i.objective, plan.dense())))
        assert s.converged
        assert s.trace[-1].objective == seen[-1][0]
        assert np.array_equal(seen[-1][1], s.plan.dense())
        again = solve(problem, tol=1e-9, init=s)
        assert again.n_iter <= s.n_iter
        shift = 0.2 * np.log(mass)
        values = s.value, s.lower_bound, s.trace[-1].objective, again.value
        return [value / cost / mass - shift for value in values], s.plan.dense() / mass

    (ours, plan), (plain, reference) = solved(cost, mass), solved(1.0, 1.0)
    assert ours == pytest.approx(plain, abs=1e-7)
    assert plan == pytest.approx(reference, abs=1e-4)


def test_a_given_step_and_its_trace_are_in_the_units_of_the_user() -> None:
    cost = 2.0**100
    problem = Problem(cost * COST, epsilon=0.2 * cost, regularizer=regularizers(cost, 1.0)["lasso"])
    plain = solve(Problem(COST, epsilon=0.2, regularizer=regularizers(1.0, 1.0)["lasso"]), ForwardBackward(step=1.0))
    ours = solve(problem, ForwardBackward(step=1.0 / cost))
    assert ours.trace.step[1:] == pytest.approx(plain.trace.step[1:] / cost)
    assert ours.trace.objective == pytest.approx(cost * plain.trace.objective)


def test_a_metric_that_is_a_function_has_units_too() -> None:
    def metric(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 1e80 * np.abs(x[:, None] - y).sum(axis=2)

    ours = solve(Problem(PointCloudCost(X, Y, metric), epsilon=1e79))
    plain = solve(Problem(PointCloudCost(X, Y, "cityblock"), epsilon=0.1))
    assert ours.converged
    assert ours.value == pytest.approx(1e80 * plain.value, rel=1e-5)


def test_a_value_beyond_float64_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"optimal value cannot be represented in float64.*rescale"):
        solve(Problem(1e300 * COST, np.full(N, 1e12 / N), np.full(M, 1e12 / M), epsilon=1e299))


@pytest.mark.parametrize("solver", [None, ForwardBackward(), ConditionalGradient(), FrankWolfe(), DualNewton()])
@pytest.mark.parametrize("weight", [1e11, 1e13, 1e16])
def test_one_row_has_one_coupling_however_strong_the_regulariser(solver: Solver | None, weight: float) -> None:
    """Earlier the value was up to 4e-4 below the optimum, or the certificate 1e176 away from it."""
    J = GroupLasso([0], weight) + TimeSmoothness(Y, PREVIOUS[:1], weight)
    s = solve(Problem(COST[:1], epsilon=0.1, regularizer=J), solver)
    plan = np.full((1, M), 1.0 / M)
    objective = (plan * COST[:1]).sum() + 0.1 * (plan * (np.log(plan) - 1.0)).sum() + J.value(plan)
    assert s.converged
    assert s.value == pytest.approx(objective, rel=1e-12)
    assert s.gap < 1e-11


def test_one_column_has_one_coupling_and_its_potentials() -> None:
    a = np.array([0.2, 0.0, 0.8])
    s = solve(Problem(np.array([[1.0], [2.0], [3.0]]), a, epsilon=0.5))
    f, g = s.potentials
    assert s.plan.dense() == pytest.approx(a[:, None])
    assert np.exp((f[[0, 2]] + g[0] - [1.0, 3.0]) / 0.5) == pytest.approx(a[[0, 2]])
    assert f[1] == -np.inf


@pytest.mark.parametrize("solver", [None, DualNewton()])
@pytest.mark.parametrize("tiny", [1e-30, 1e-80])
def test_a_tiny_mass_beside_a_norm_of_images_is_told_as_what_it_is(solver: Solver | None, tiny: float) -> None:
    """With "sum" its image counts as much as the others', so J is up to 1/mass times as strong as the entropy."""
    a = np.full(N, 1.0 / N)
    a[2] = tiny
    J = GroupLasso(LABELS) + TimeSmoothness(Y, PREVIOUS, 1.0, "sum")
    problem = Problem(COST, a, np.full(M, a.sum() / M), epsilon=0.1, regularizer=J)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            s = solve(problem, solver, max_iter=20)
        except ValueError as error:
            s, told = None, str(error)
    if s is None:
        assert "cannot be represented in float64" in told
        assert "times as strong as the entropy" in told
    else:
        assert s.converged or "times as strong as the entropy" in s.message
        assert s.lower_bound <= s.value < 100.0


def test_our_own_regularisers_are_never_blamed() -> None:
    """A total mass of 1e-8 with "sum" is a J of 1e10 times the entropy's strength: hard, and no fault of J."""
    a, b = np.full(N, 1e-8 / N), np.full(M, 1e-8 / M)
    J = GroupLasso(LABELS) + TimeSmoothness(Y, PREVIOUS, 1.0, "sum")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(Problem(COST, a, b, epsilon=0.1, regularizer=J), max_iter=10)
    assert s.lower_bound <= s.value
    assert s.value == pytest.approx(2.2723, rel=0.05)
    assert s.converged or "times as strong as the entropy" in s.message


@pytest.mark.parametrize("mass", [1e40, 1e-44, 1e-50])
def test_masses_beyond_float32_give_results_in_float64(mass: float) -> None:
    """Earlier plans were infinite or zero, and said to have converged."""
    cost = RNG.random((6, 5)).astype(np.float32)
    s = solve(Problem(cost, np.full(6, mass / 6), np.full(5, mass / 5), epsilon=0.1))
    rows, columns = s.plan.marginals
    assert s.converged
    assert s.plan.dense().dtype == np.float64
    assert rows == pytest.approx(np.full(6, mass / 6), rel=1e-5)
    assert columns == pytest.approx(np.full(5, mass / 5), rel=1e-5)


def test_a_single_mass_beyond_float32_keeps_its_row() -> None:
    a = np.array([0.5, 0.5, 1e-50])
    s = solve(Problem(np.ones((3, 2), np.float32), a, epsilon=0.1))
    assert s.plan.marginals[0] == pytest.approx(a, rel=1e-6)


def test_masses_within_float32_stay_in_it() -> None:
    s = solve(Problem(COST.astype(np.float32), np.full(N, 1e20 / N), np.full(M, 1e20 / M), epsilon=0.1))
    assert s.plan.dense().dtype == np.float32
    assert np.isfinite(s.plan.dense()).all()


@pytest.mark.parametrize("solver", [None, DualNewton(), DualAscent()])
@pytest.mark.parametrize("tiny", [1e-40, 1e-80, 1e-120])
def test_tiny_masses_warn_of_nothing(solver: Solver | None, tiny: float) -> None:
    """Warnings are errors here: 1/a overflowed in float32."""
    a = np.full(N, 1.0 / N)
    a[2] = tiny
    J = TimeSmoothness(Y, PREVIOUS) if isinstance(solver, DualAscent) else GroupLasso(LABELS)
    assert solve(Problem(COST, a, np.full(M, a.sum() / M), epsilon=0.1, regularizer=J), solver).converged


def test_a_conditional_gradient_without_descent_stops() -> None:
    """Where even the finest oracle offers none, the next would be the same: earlier it was asked 1000 times."""
    problem = Problem(COST, epsilon=0.1, regularizer=GroupLasso(LABELS, 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(problem, ConditionalGradient(), tol=1e-15, max_iter=10_000)
    assert s.n_iter < 5_000
    assert s.trace.step[-1] == 0.0
    assert "rounding allows no further progress" in s.message


def test_rounding_of_large_potentials_is_no_contradiction() -> None:
    """Potentials of 1e6 make entries of ten digits: the bound is above the value by more than its sum's rounding."""
    X = np.array([[-0.21, 0.89], [0.17, -0.20], [-1.30, 0.06]])
    Z = np.array([[7.01, 5.33], [5.46, 5.19], [4.93, 6.17], [7.37, 7.00]])
    previous = np.array([[0.11, 0.99], [0.45, -0.29], [-1.53, -0.47]])
    a = np.array([0.55, 0.07, 0.39])
    problem = Problem(PointCloudCost(X, Z), a / a.sum(), epsilon=0.036, regularizer=TimeSmoothness(Z, previous, 3000.0))
    solution = solve(problem, DualAscent())
    assert solution.converged, solution.message
    assert solution.lower_bound <= solution.value


def test_a_plan_that_overflowed_is_not_the_fault_of_a_regulariser_of_ones_own() -> None:
    """A Laplacian on a column of 1e-92 of the mass sent a step there; the user's square was said to be wrong."""
    b = np.array([1e-92, 0.4, 0.6])
    square = Custom(lambda g: (g**2).sum(), lambda g: 2.0 * g, convex=True)
    assert checked_value(square, np.full((2, 2), 0.25)) == 0.25
    for gamma in (np.array([[np.inf, 0.1]]), np.array([[1e200, 0.1]]), np.array([[np.nan, 0.1]])):
        for checked in (checked_value, checked_gradient):
            wrong = Custom(lambda g: np.nan * g.sum(), lambda g: np.nan * g)
            with pytest.raises(FloatingPointError, match="the plan came out beyond"):
                checked(wrong, gamma)
            with pytest.raises(ValueError, match="must be finite"):
                checked(wrong, b[None])
