"""Accelerated forward-backward: the same optimum, true bounds on the way, fewer iterations, no more memory."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from problems import REGULARIZERS, assert_agrees, data, problem, reference
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from driftway import Custom, ForwardBackward, PointCloudCost, Problem, Solution, TimeSmoothness, WassersteinTime, solve
from driftway.engines import Threads
from driftway.geometry.dense import Dense
from driftway.problem.model import Model
from driftway.solvers.solver import Start

ACCELERATED = ForwardBackward(accelerate=True)
# A plan is known to √(gap/ε): these tolerances bring it to 1e-4 in L1 at every ε.
TOLERANCE = {1.0: 1e-9, 0.1: 1e-10, 0.01: 1e-11, 0.001: 1e-12}
# Certificates are drawn up at every tenth iteration, so counts compare no finer.
GRAIN = 10


def full_weight(name: str, epsilon: float) -> Problem:
    """A problem whose regulariser does not shrink with ε, so that L/ε is large."""
    d = data(12, 10, seed=list(REGULARIZERS).index(name))
    return Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=epsilon, regularizer=REGULARIZERS[name][0](d, 1.0))


@pytest.mark.parametrize("epsilon", TOLERANCE)
@pytest.mark.parametrize("name", REGULARIZERS)
def test_it_finds_the_reference(name: str, epsilon: float) -> None:
    d = data(6, 8, seed=list(REGULARIZERS).index(name))
    p, truth, tol = problem(d, name, epsilon), reference(d, name, epsilon), TOLERANCE[epsilon]
    runs = [
        solve(p, ACCELERATED, tol=tol, max_iter=5000),
        solve(p, ACCELERATED, tol=tol, max_iter=5000, init=np.multiply.outer(p.a, p.b)),
    ]
    for solution in runs:
        assert_agrees(solution, truth, epsilon)


@pytest.mark.parametrize("name", ["none", "lasso", "time-mean", "lasso+time", "laplacian-target"])
def test_every_certified_gap_is_a_true_bound_on_the_way(name: str) -> None:
    d, epsilon = data(6, 7, seed=3), 0.05
    p, truth = problem(d, name, epsilon), reference(d, name, epsilon)
    for max_iter in (1, 2, 4, 8, 16):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            s = solve(p, ACCELERATED, tol=1e-12, max_iter=max_iter)
        assert s.lower_bound <= truth.value + 1e-13 <= s.value + 2e-13


@pytest.mark.parametrize("name", ["lasso", "time-mean", "laplacian-source"])
def test_the_energy_contracts_by_one_minus_theta(name: str) -> None:
    """F(x⁺) − F* + A⁺ KL(γ*|z⁺) ≤ (1 − θ)(F(x) − F* + A KL(γ*|z)), whatever steps were taken."""
    d, epsilon = data(7, 6, seed=5), 0.05
    p, truth = problem(d, name, epsilon), reference(d, name, epsilon)
    model = Model(p, Threads(), dense=True)
    state = ACCELERATED.start(model, Start(np.zeros(7), np.zeros(6), Dense(np.zeros((7, 6)))), accuracy=1e-14)
    energies, promised = [], 1.0
    for _ in range(60):
        state = ACCELERATED.advance(model, state, accuracy=1e-14)
        z, x, weight = state.point.plan.array(), state.memory.x, state.memory.weight
        excess = model.evaluate(x.plan).objective - truth.value
        energy = excess + weight * (truth.plan * np.log(truth.plan / z)).sum()
        theta = weight / (1.0 / state.step + epsilon)  # A⁺ = θ(1/s + ε)
        if energies:
            assert 0 < theta < 1
            assert energy <= (1.0 - theta) * energies[-1] + 1e-12
            promised *= 1.0 - theta
        energies.append(energy)
    assert energies[-1] <= promised * energies[0] + 1e-11
    assert promised <= 1e-3


def test_ill_conditioned_problems_take_far_fewer_iterations() -> None:
    counts = {solver: [] for solver in (ForwardBackward(), ACCELERATED)}
    for name in ("lasso", "time-mean", "time-sum", "laplacian-source", "laplacian-target", "lasso+time"):
        p = full_weight(name, 0.01)
        for solver, count in counts.items():
            s = solve(p, solver, max_iter=3000)
            assert s.converged, (name, solver)
            count.append(s.n_iter)
    plain, accelerated = (np.array(count) for count in counts.values())
    assert (accelerated <= plain + GRAIN).all()
    assert accelerated.sum() <= plain.sum() / 3


@pytest.mark.parametrize("epsilon", TOLERANCE)
def test_it_is_not_slower_where_there_is_nothing_to_accelerate(epsilon: float) -> None:
    for k, name in enumerate(REGULARIZERS):
        p = problem(data(12, 10, seed=k), name, epsilon)
        plain, accelerated = solve(p, ForwardBackward()), solve(p, ACCELERATED)
        assert accelerated.converged, name
        assert accelerated.n_iter <= plain.n_iter + GRAIN, name


def test_where_the_condition_number_is_huge_it_converges_and_plain_does_not() -> None:
    p = full_weight("time-sum", 0.001)
    with pytest.warns(ConvergenceWarning):
        plain = solve(p, ForwardBackward())
    accelerated = solve(p, ACCELERATED)
    assert accelerated.converged
    assert plain.lower_bound <= accelerated.value <= plain.value


@pytest.mark.parametrize("name", ["time-mean", "laplacian-target", "time+laplacians"])
def test_dense_and_factored_take_the_same_iterations(name: str) -> None:
    p = problem(data(15, 11, seed=7), name, 0.1)
    model = {held: Model(p, Threads(), dense=held) for held in (False, True)}
    start = Start(np.zeros(15), np.zeros(11))
    states = {held: ACCELERATED.start(model[held], start, accuracy=1e-14) for held in model}
    for _ in range(20):
        states = {held: ACCELERATED.advance(model[held], states[held], accuracy=1e-14) for held in model}
        assert states[False].step == pytest.approx(states[True].step, rel=1e-3)
        assert states[False].bound == pytest.approx(states[True].bound, rel=1e-6)
        np.testing.assert_allclose(states[False].point.plan.array(), states[True].point.plan.array(), atol=1e-6)


def test_a_constant_step_is_kept_and_converges_up_to_one_over_the_smoothness() -> None:
    p = problem(data(12, 10, seed=5), "time-mean", 0.1)
    step = 1.0 / p.regularizer.smoothness
    plain, accelerated = (solve(p, ForwardBackward(step, accelerate), max_iter=5000) for accelerate in (False, True))
    assert plain.converged
    assert accelerated.converged
    assert accelerated.n_iter < plain.n_iter
    assert accelerated.trace.step[1] == step
    assert (accelerated.trace.step[1:] >= step).all()


def test_a_regularizer_that_is_not_convex_is_refused() -> None:
    d = data(8, 7, seed=6)
    concave = Custom(lambda g: -(g**2).sum(), lambda g: -2 * g)
    for J in (WassersteinTime(d.Y, d.X, 2.0), concave):
        p = Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.1, regularizer=J)
        with pytest.raises(ValueError, match=f"convex regularizer, got .*{type(J).__name__}"):
            solve(p, ACCELERATED)
    with pytest.raises(TypeError, match="accelerate must be True or False, got str"):
        ForwardBackward(accelerate="yes")  # type: ignore[arg-type]


def test_a_false_promise_of_convexity_is_noticed() -> None:
    d = data(12, 10, seed=1)
    concave = Custom(lambda g: -50 * (g**2).sum(), lambda g: -100 * g, convex=True)
    with pytest.warns(ConvergenceWarning, match="not convex as declared"):
        s = solve(Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.01, regularizer=concave), ACCELERATED)
    assert s.lower_bound == -np.inf


@pytest.mark.parametrize("name", ["none", "lasso", "time-mean"])
def test_tolerances_beyond_floating_point_end_without_nan(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(problem(data(12, 10, seed=9), name, 0.05), ACCELERATED, tol=0.0, max_iter=1500)
    assert s.gap <= 1e-12
    assert np.isfinite(s.plan.dense()).all()


@pytest.mark.parametrize("name", ["time-mean", "lasso"])
def test_a_solution_is_a_warm_start(name: str) -> None:
    p = problem(data(12, 10, seed=9), name, 0.05)
    first = solve(p, ACCELERATED, tol=1e-9, max_iter=5000)
    again = solve(p, ACCELERATED, tol=1e-8, init=first)
    assert again.converged
    assert again.n_iter <= first.n_iter / 2


def test_no_array_of_the_size_of_the_plan_is_formed() -> None:
    def run(n: int, m: int) -> Solution:
        X, Y = make_moons(n, noise=0.05, random_state=0)[0], make_moons(m, noise=0.05, random_state=1)[0]
        p = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, X, 5.0))
        with pytest.warns(ConvergenceWarning):
            return solve(p, ACCELERATED, tol=1e-9, max_iter=3, engine=Threads(memory=2**10))

    n, m = 5000, 2500
    run(600, 500)  # what compiling takes is not the plan's
    tracemalloc.start()
    s = run(n, m)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(s.value)
    assert peak < 8 * n * m / 4
