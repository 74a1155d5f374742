"""Solvers × problems: they agree with an independent reference, and what they certify is true."""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import REGULARIZERS, assert_agrees, data, problem, reference
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problems import figure2_problem
from driftway import (
    ConditionalGradient,
    Custom,
    ForwardBackward,
    PointCloudCost,
    Problem,
    TimeSmoothness,
    WassersteinTime,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
from driftway.problem.model import Model
from driftway.solvers import FrankWolfe, Sinkhorn
from driftway.solvers.conditional_gradient.exact import exact_transport
from driftway.solvers.silence import quietly
from driftway.solvers.solver import Start

SHAPES = {"wide": (5, 8), "tall": (9, 4)}
# A plan is known to √(gap/ε): these tolerances bring it to 1e-4 in L1 at every ε.
TOLERANCE = {1.0: 1e-9, 0.1: 1e-10, 0.01: 1e-11, 0.001: 1e-12}


def dense_start(p: Problem) -> np.ndarray:
    """A positive plan to start from, which makes forward-backward hold everything dense."""
    return np.multiply.outer(p.a, p.b)


# Conditional gradients take seconds where they converge slowly.
LONG = {(name, epsilon) for name in ("laplacian-source", "time+laplacians") for epsilon in (0.01, 0.001)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        pytest.param(name, epsilon, marks=[pytest.mark.slow] if (name, epsilon) in LONG else [])
        for name in REGULARIZERS
        for epsilon in TOLERANCE
    ],
)
def test_forward_backward_and_conditional_gradient_find_the_reference(name: str, shape: str, epsilon: float) -> None:
    d = data(*SHAPES[shape], seed=list(REGULARIZERS).index(name))
    p, truth, tol = problem(d, name, epsilon), reference(d, name, epsilon), TOLERANCE[epsilon]
    runs = [
        solve(p, ForwardBackward(), tol=tol, max_iter=20_000),
        solve(p, ForwardBackward(), tol=tol, max_iter=20_000, init=dense_start(p)),
        solve(p, ConditionalGradient(), tol=max(tol, 1e-11), max_iter=20_000),
    ]
    for solution in runs:
        assert_agrees(solution, truth, epsilon)


@pytest.mark.parametrize("name", ["none", "lasso", "time-mean", "lasso+time", "laplacian-target"])
@pytest.mark.parametrize("solver", [ForwardBackward(), ConditionalGradient(), FrankWolfe()], ids=repr)
def test_every_certified_gap_is_a_true_bound_on_the_way(name: str, solver: object) -> None:
    d, epsilon = data(6, 7, seed=3), 0.05
    p, truth = problem(d, name, epsilon), reference(d, name, epsilon)
    for max_iter in (1, 2, 4, 8, 16):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            s = solve(p, solver, tol=1e-12, max_iter=max_iter)
        assert s.lower_bound <= truth.value + 1e-13 <= s.value + 2e-13
        assert s.gap == pytest.approx((s.value - s.lower_bound) / max(abs(s.value), epsilon), abs=1e-15)


@pytest.mark.parametrize("name", ["lasso", "time-mean", "time-sum", "laplacian-source", "lasso+time"])
def test_plain_conditional_gradient_solves_problems_without_entropy(name: str) -> None:
    d = data(6, 5, seed=1)
    p, truth = problem(d, name, 0.0), reference(d, name, 0.0)
    s = solve(p, FrankWolfe(), tol=3e-3, max_iter=3000)
    assert s.converged
    assert abs(s.value - truth.value) <= 3e-3 * abs(truth.value)
    assert s.lower_bound <= truth.value + 1e-8


def test_exact_transport_is_found_in_one_vertex() -> None:
    d = data(7, 7, seed=0)
    s = solve(problem(d, "none", 0.0), FrankWolfe(), tol=1e-9)
    assert s.converged
    assert s.value == pytest.approx(reference(d, "none", 0.0).value, abs=1e-8)


@pytest.mark.parametrize("name", ["lasso", "time-mean", "laplacian-source", "lasso+time"])
@pytest.mark.parametrize("fraction", [0.3, 1.0])
def test_algorithm_1_descends_for_steps_up_to_one_over_the_smoothness(name: str, fraction: float) -> None:
    p = problem(data(12, 10, seed=5), name, 0.05)
    step = fraction / p.regularizer.smoothness
    model, solver = Model(p, Threads()), ForwardBackward(step=step)
    state = solver.start(model, Start(np.zeros(12), np.zeros(10)), accuracy=1e-14)
    objectives = [state.point.objective]
    for _ in range(60):
        state = solver.advance(model, state, accuracy=1e-14)
        objectives.append(state.point.objective)
        assert state.step == step
    assert np.diff(objectives).max() <= 1e-12
    assert objectives[-1] < objectives[0] - 1e-4


def test_a_constant_step_is_algorithm_1_to_the_letter() -> None:
    """γ₁ from the paper's two lines, computed here by themselves."""
    d, epsilon, alpha = data(5, 4, seed=2), 0.2, 0.7
    p = problem(d, "lasso", epsilon)
    gamma = dense_start(p)
    cost = alpha * p.cost.rows(slice(None)) + alpha * p.regularizer.gradient(gamma) - np.log(gamma)
    kernel, v = np.exp(-cost / (1 + alpha * epsilon)), np.ones(4)
    for _ in range(2000):
        u = d.a / (kernel @ v)
        v = d.b / (kernel.T @ u)
    plans = []
    with pytest.warns(ConvergenceWarning):
        solve(
            p,
            ForwardBackward(step=alpha),
            tol=1e-14,
            max_iter=1,
            init=gamma,
            callback=lambda iteration, plan: plans.append(plan.dense()),
        )
    np.testing.assert_allclose(plans[0], gamma, rtol=1e-6)
    np.testing.assert_allclose(plans[1], u[:, None] * kernel * v, rtol=2e-3)


@pytest.mark.parametrize("name", [name for name in REGULARIZERS if "lasso" not in name])
def test_dense_and_factored_agree_in_every_form_of_the_sweep(name: str) -> None:
    p = problem(data(15, 11, seed=7), name, 0.5)
    engines = {
        "held": Threads(),
        "swept": Threads(memory=0, workers=1),
        "swept in blocks by two workers": Threads(memory=0, block_entries=40, workers=2),
    }
    runs = {who: solve(p, ForwardBackward(), tol=1e-10, engine=engine) for who, engine in engines.items()}
    runs["dense"] = solve(p, ForwardBackward(), tol=1e-10, init=dense_start(p))
    for who, s in runs.items():
        assert s.converged, who
        assert abs(s.value - runs["held"].value) <= 1e-9 * max(abs(s.value), 0.5), who
        assert np.abs(s.plan.dense() - runs["held"].plan.dense()).sum() <= 1e-4, who


def test_potentials_satisfy_the_optimality_conditions() -> None:
    for name in ("none", "lasso", "time-mean", "laplacian-target"):
        p = problem(data(8, 9, seed=4), name, 0.1)
        s = solve(p, tol=1e-12, max_iter=5000)
        gamma = s.plan.dense()
        residual = p.cost.rows(slice(None)) + p.regularizer.gradient(gamma) + 0.1 * np.log(gamma)
        residual -= np.add.outer(*s.potentials)
        assert np.abs(residual).max() <= 1e-4, name


def test_a_non_convex_regularizer_ends_stationary_without_a_lower_bound() -> None:
    d = data(10, 9, seed=6)
    for debias in (True, False):
        p = Problem(
            PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.1, regularizer=WassersteinTime(d.Y, d.X, 2.0, debias=debias)
        )
        s = solve(p, tol=1e-9, max_iter=5000)
        assert s.converged
        assert "stationarity" in s.message
        assert s.lower_bound == -np.inf
        gamma = s.plan.dense()
        residual = p.cost.rows(slice(None)) + p.regularizer.gradient(gamma) + 0.1 * np.log(gamma)
        residual -= np.add.outer(*s.potentials)
        assert np.abs(residual[gamma > 1e-6]).max() <= 2e-3


def test_custom_equals_the_built_in_it_imitates() -> None:
    d = data(8, 7, seed=8)
    lasso = problem(d, "lasso", 0.1).regularizer
    custom = Custom(lasso.value, lasso.gradient, convex=True)
    p = Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.1, regularizer=custom)
    ours, theirs = solve(problem(d, "lasso", 0.1), tol=1e-9), solve(p, tol=1e-9)
    assert theirs.converged
    assert ours.value == pytest.approx(theirs.value, rel=1e-8)
    assert theirs.lower_bound <= ours.value


class TestTheLoop:
    d = data(12, 10, seed=9)

    def test_not_converging_warns_once_with_what_was_not_reached(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            s = solve(problem(self.d, "time-sum", 0.01), ForwardBackward(), max_iter=2)
        assert not s.converged
        assert [w.category for w in caught] == [ConvergenceWarning]
        assert f"gap {s.gap:.1e}" in str(caught[0].message)
        assert "max_iter=2" in s.message

    def test_a_callback_sees_every_line_and_may_stop(self) -> None:
        seen = []

        def stop_at_three(iteration: object, plan: object) -> bool:
            seen.append((iteration, plan))
            return len(seen) == 3

        with pytest.warns(ConvergenceWarning, match="stopped by the callback"):
            s = solve(problem(self.d, "time-sum", 0.01), ForwardBackward(), callback=stop_at_three)
        assert s.n_iter == 2
        assert [iteration for iteration, _ in seen] == list(s.trace)
        assert seen[-1][1] is s.plan

    def test_the_trace_tells_the_whole_story(self) -> None:
        s = solve(problem(self.d, "time-mean", 0.05))
        assert len(s.trace) == s.n_iter + 1
        assert (np.diff(s.trace.seconds) >= 0).all()
        assert s.trace.gap[-1] == s.gap <= 1e-6
        assert s.trace.marginal_error[-1] == s.marginal_error <= 1e-6
        assert s.trace.inner.sum() > s.n_iter
        assert str(s.trace).count("\n") == len(s.trace)
        assert len(s.trace[1:]) == s.n_iter
        with pytest.raises(AttributeError, match="columns"):
            s.trace.nonsense  # noqa: B018

    def test_progress_shows_the_gap_falling(self, capsys: pytest.CaptureFixture[str]) -> None:
        solve(problem(self.d, "time-mean", 0.05), progress=True)
        shown = capsys.readouterr().err
        assert "gap" in shown
        assert "100%" in shown

    @pytest.mark.parametrize("name", ["none", "time-mean", "lasso"])
    def test_a_solution_is_a_warm_start(self, name: str) -> None:
        p = problem(self.d, name, 0.05)
        first = solve(p, tol=1e-9, max_iter=5000)
        again = solve(p, tol=1e-8, init=first)
        assert again.converged
        assert again.trace.inner.sum() <= first.trace.inner.sum() / 2
        assert again.value == pytest.approx(first.value, rel=1e-7)

    def test_a_warm_start_from_a_similar_problem_keeps_its_bounds_true(self) -> None:
        nearby = problem(data(12, 10, seed=10), "time-mean", 0.05)
        truth = reference(self.d, "time-mean", 0.05)
        s = solve(problem(self.d, "time-mean", 0.05), init=solve(nearby))
        assert s.converged
        assert s.lower_bound <= truth.value <= s.value

    def test_tolerances_beyond_floating_point_end_without_convergence_or_nan(self) -> None:
        with pytest.warns(ConvergenceWarning):
            s = solve(problem(self.d, "time-mean", 0.05), tol=0.0, max_iter=300)
        assert s.gap <= 1e-12
        assert np.isfinite(s.plan.dense()).all()


def test_auto_steps_descend_steadily_where_the_condition_number_is_huge() -> None:
    """The paper's literal normalisation, ‖nγX − Z‖², at its own η_t = 50 and λ = 0.01."""
    X, Y = make_moons(100, noise=0.05, random_state=0)[0], make_moons(40, noise=0.05, random_state=1)[0]
    p = Problem(PointCloudCost(X, Y), epsilon=0.01, regularizer=TimeSmoothness(Y, X + 0.1, 50.0, "sum"))
    values, gaps = [], []
    for max_iter in (10, 50, 100, 200):
        with pytest.warns(ConvergenceWarning, match="gap"):
            s = solve(p, ForwardBackward(), max_iter=max_iter)
        assert s.lower_bound <= s.value
        assert s.marginal_error <= 1e-3
        values.append(s.value)
        gaps.append(s.gap)
    assert all(np.diff(values) < 0)
    assert all(np.diff(gaps) < 0)


def test_the_default_solver_follows_from_the_problem() -> None:
    d = data(6, 5, seed=0)
    assert "Sinkhorn" in solve(problem(d, "none", 0.1), engine=Threads(compiled=False)).message
    assert "DualAscent, factored" in solve(problem(d, "time-mean", 0.1)).message
    assert "ForwardBackward, factored" in solve(problem(d, "laplacian-source", 0.1)).message
    dense = solve(problem(d, "lasso", 0.1)).message, solve(problem(d, "lasso+time", 0.1)).message
    assert all("DualNewton, dense" in message or "ForwardBackward, dense" in message for message in dense)
    assert (
        solve(problem(d, "none", 0.1), Sinkhorn()).value
        == sinkhorn(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.1).value
    )


def test_a_false_promise_of_convexity_is_noticed() -> None:
    d = data(12, 10, seed=1)
    concave = Custom(lambda g: -50 * (g**2).sum(), lambda g: -100 * g, convex=True)
    p = Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.01, regularizer=concave)
    with pytest.warns(ConvergenceWarning, match="not convex as declared"):
        s = solve(p)
    assert not s.converged
    assert s.lower_bound == -np.inf


def test_the_problem_of_figure_2_is_solved_and_descended() -> None:
    s = solve(figure2_problem(0.5, n=200, m=80))
    assert s.converged
    assert s.trace.objective[-1] <= s.trace.objective[0] + s.trace.marginal_error[0]


def test_a_regularizer_not_declared_convex_is_never_contradicted() -> None:
    """A concave J has its tangents above it, at the rounded plan as everywhere, and that is no error."""
    d = data(12, 10, seed=1)
    concave = Custom(lambda g: -5 * (g**2).sum(), lambda g: -10 * g)
    s = solve(Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.05, regularizer=concave), max_iter=5000)
    assert s.converged
    assert s.lower_bound == -np.inf


def test_a_linear_regularizer_is_part_of_the_cost() -> None:
    """Its tangents touch it everywhere, so only their rounding keeps them from lying above it."""
    d, rng = data(12, 10, seed=2), np.random.default_rng(0)
    C, M = PointCloudCost(d.X, d.Y).rows(slice(None)), 1e6 * rng.random((12, 10)) ** 8
    linear = Custom(lambda g: (M * g).sum(), lambda g: M, convex=True)
    ours = solve(Problem(C, d.a, d.b, epsilon=0.5, regularizer=linear), tol=1e-8)
    assert ours.converged
    assert ours.value == pytest.approx(sinkhorn(C + M, d.a, d.b, epsilon=0.5, tol=1e-8).value, rel=1e-7)


@pytest.mark.parametrize("name", ["time-mean", "lasso"])
def test_a_solution_starts_the_problem_without_entropy(name: str) -> None:
    d = data(9, 8, seed=2)
    a = np.where(np.arange(9) == 3, 0.0, d.a)
    a /= a.sum()
    J = REGULARIZERS[name][0](d, 1.0)
    smooth, sharp = (Problem(PointCloudCost(d.X, d.Y), a, d.b, epsilon=each, regularizer=J) for each in (0.1, 0.0))
    first = solve(smooth, ForwardBackward(), tol=1e-6)
    cold, warm = (solve(sharp, tol=1e-2, max_iter=3000, init=init) for init in (None, first))
    assert warm.converged
    assert warm.value == pytest.approx(cold.value, rel=2e-2)


def test_exact_transport_does_not_depend_on_units(monkeypatch: pytest.MonkeyPatch) -> None:
    d = data(7, 6, seed=2)
    C = PointCloudCost(d.X, d.Y).rows(slice(None))
    expected, *_ = exact_transport(C, d.a, d.b)
    monkeypatch.setitem(sys.modules, "ot", None)  # HiGHS in its place
    for unit, mass in ((1.0, 1.0), (1e9, 1e-9), (1e-9, 1e9)):
        plan, f, g = exact_transport(unit * C, mass * d.a, mass * d.b)
        np.testing.assert_allclose(plan, mass * expected, atol=1e-7 * mass)
        assert f @ d.a + g @ d.b == pytest.approx(unit * np.vdot(expected, C), rel=1e-6)


def test_a_quiet_solve_keeps_only_its_own_thread_quiet() -> None:
    d = data(9, 8, seed=2)
    p = Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.01)
    with quietly():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not solve(p, Sinkhorn(round_length=1), tol=1e-12, max_iter=1).converged
        with ThreadPoolExecutor(1) as pool, pytest.warns(ConvergenceWarning):
            pool.submit(solve, p, Sinkhorn(round_length=1), tol=1e-12, max_iter=1).result()
    with pytest.warns(ConvergenceWarning):
        solve(p, Sinkhorn(round_length=1), tol=1e-12, max_iter=1)
