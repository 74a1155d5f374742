"""Dual ascent: it finds the reference where first-order methods are slow, and what it certifies is true."""

from __future__ import annotations

import math
import tracemalloc
import warnings

import numpy as np
import oracle
import pytest
from problems import REGULARIZERS, Data, assert_agrees, data
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from driftway import (
    ForwardBackward,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    TimeSmoothness,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
from driftway.plan.lbfgs import Ascent
from driftway.problem.model import Model
from driftway.solvers import DualAscent, Sinkhorn
from driftway.solvers.dual_ascent import continuation
from driftway.solvers.dual_ascent import dual as moment_dual
from driftway.solvers.dual_ascent import solver as dual_ascent
from driftway.solvers.dual_ascent.small import CompiledSteps

# At the smallest strength the logarithms of the plan leave no more than that.
TOLERANCE = {1.0: 1e-9, 0.1: 1e-10, 0.01: 1e-11, 0.001: 1e-10}
TIMES = ["time-mean", "time-sum", "time-coupling"]


def problem(d: Data, name: str, epsilon: float, weight: float = 1.0) -> Problem:
    J = REGULARIZERS[name][0](d, weight)
    return Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=epsilon, regularizer=J)


def reference(d: Data, name: str, epsilon: float, weight: float = 1.0) -> oracle.Reference:
    cost = PointCloudCost(d.X, d.Y).rows(slice(None))
    return oracle.solve(cost, d.a, d.b, epsilon, REGULARIZERS[name][1](d, weight))


@pytest.fixture(params=["small", "compiled", "numpy"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Threads:
    """An engine for each of the ways a problem may go: compiled as a whole, by compiled sweeps, by NumPy's."""
    if request.param != "small":
        monkeypatch.setattr(dual_ascent, "SMALL_ENTRIES", 0)
    return Threads(compiled=None if request.param != "numpy" else False)


@pytest.mark.parametrize("weight", [1.0, 20.0])
@pytest.mark.parametrize("epsilon", TOLERANCE)
@pytest.mark.parametrize("shape", [(5, 8), (9, 4)], ids=str)
@pytest.mark.parametrize("name", TIMES)
def test_the_reference_is_found_at_every_strength_and_weight(
    name: str, shape: tuple[int, int], epsilon: float, weight: float, engine: Threads
) -> None:
    d = data(*shape, seed=7)
    s = solve(problem(d, name, epsilon, weight), tol=TOLERANCE[epsilon], engine=engine)
    assert "DualAscent" in s.message
    assert_agrees(s, reference(d, name, epsilon, weight), epsilon, value=1e-8, rounding=1e-12)


def test_sums_and_multiples_of_time_terms_are_solved_as_one(engine: Threads) -> None:
    d = data(8, 6, seed=2)
    first, second = TimeSmoothness(d.Y, d.previous, 2.0), TimeSmoothness(d.Y, d.X, 1.0, "sum")
    p = Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.05, regularizer=0.5 * first + 0.0 * first + second)
    penalties = [
        oracle.time_smoothness(d.Y, d.previous, 1.0, d.a, "mean"),
        oracle.time_smoothness(d.Y, d.X, 1.0, d.a, "sum"),
    ]
    truth = oracle.solve(PointCloudCost(d.X, d.Y).rows(slice(None)), d.a, d.b, 0.05, penalties)
    s = solve(p, DualAscent(), tol=1e-9, engine=engine)
    assert_agrees(s, truth, 0.05, value=1e-8)


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e4])
def test_masses_may_be_zero_and_of_any_total(mass: float, engine: Threads) -> None:
    d = data(12, 9, seed=4)
    a, b = d.a.copy(), d.b.copy()
    a[[0, 5]], b[3] = 0.0, 0.0
    a, b = mass * a / a.sum(), mass * b / b.sum()
    smooth = TimeSmoothness(d.Y, d.previous, 3.0)
    p = Problem(PointCloudCost(d.X, d.Y), a, b, epsilon=0.02, regularizer=smooth)
    s = solve(p, DualAscent(), tol=1e-8, engine=engine)
    other = solve(p, ForwardBackward(accelerate=True), tol=1e-7, max_iter=20_000)
    assert s.converged
    assert other.converged
    assert s.value == pytest.approx(other.value, rel=1e-6)
    gamma = s.plan.dense()
    assert np.isfinite(gamma).all()
    assert not gamma[[0, 5]].any()
    assert not gamma[:, 3].any()


@pytest.mark.parametrize("name", TIMES)
def test_bounds_are_true_on_the_way(name: str, engine: Threads) -> None:
    d, epsilon = data(9, 7, seed=5), 0.005
    p, truth = problem(d, name, epsilon, 10.0), reference(d, name, epsilon, 10.0)
    for max_iter in (1, 2, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            s = solve(p, DualAscent(round_length=3), tol=1e-12, max_iter=max_iter, engine=engine)
        assert s.lower_bound <= truth.value + 1e-12
        assert truth.value <= s.value + 1e-12


def test_the_gradient_is_that_of_the_value_and_newton_inverts_its_change() -> None:
    d = data(7, 5, seed=6)
    p = problem(d, "time-mean", 1.0, 0.3)
    model = Model(p, Threads())
    rng = np.random.default_rng(0)
    space = moment_dual.Space.of(model)
    here = moment_dual.at(model, space, 1.0, 0.1 * rng.normal(size=5), 0.1 * rng.normal(size=(7, 2)), np.zeros(7))
    assert moment_dual.SweptSteps(model).filled(here) is None  # where a column is starved a step is shorter
    evaluate = moment_dual.evaluator(model, here)
    for _ in range(3):
        v = rng.normal(size=here.x.size)
        high, low = evaluate(here.x + 1e-5 * v), evaluate(here.x - 1e-5 * v)
        assert high is not None
        assert low is not None
        assert (high.value - low.value) / 2e-5 == pytest.approx(np.dot(here.gradient, v), rel=1e-6)
    found = moment_dual.newton_direction(model, here)
    assert found is not None
    step, reach = found
    high, low = evaluate(here.x + 1e-6 * step), evaluate(here.x - 1e-6 * step)
    assert high is not None
    assert low is not None
    np.testing.assert_allclose((low.gradient - high.gradient) / 2e-6, here.gradient, atol=1e-6)
    gamma = here.plan(model).dense() / p.a[:, None]
    added = step[:5] - step[5:].reshape(7, 2) @ space.R.T
    variances = (gamma * (added - (gamma * added).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    assert reach == pytest.approx(math.sqrt(variances.max()), rel=1e-9)


@pytest.mark.parametrize("moments", [1, 2, 3, 5])
def test_settled_rows_are_at_their_optimum_for_the_columns_as_they_are(moments: int) -> None:
    rng = np.random.default_rng(moments)
    X, Y = rng.normal(size=(40, moments)), rng.normal(size=(25, moments))
    a = np.where(np.arange(40) == 3, 0.0, rng.random(40))
    smooth = TimeSmoothness(Y, X + 0.3, 2.0)
    model = Model(Problem(PointCloudCost(X, Y), a / a.sum(), epsilon=0.01, regularizer=smooth), Threads())
    space = moment_dual.Space.of(model).with_pairs(every=True)
    here = moment_dual.at(model, space, 1.0, 0.1 * rng.normal(size=25), np.zeros((40, moments)), np.zeros(40))
    for epsilon in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01):
        here = here.under(model, epsilon)
        few, count = moment_dual.settled(model, here, 2)
        assert count <= 3
        assert (few.by_row >= here.by_row - 1e-12).all()
        done, count = moment_dual.settled(model, here, 100)
        assert count < 100
        np.testing.assert_allclose(done.g, here.g, rtol=1e-12, atol=1e-15)
        assert done.value >= few.value >= here.value
        promised = (done.solved(done.residual) * done.residual).sum(axis=1)
        assert (promised <= 1e-2 * epsilon * space.a).all()
        elsewhere = moment_dual.at(model, space, epsilon, done.g, done.P + rng.normal(size=done.P.shape), done.f)
        assert (elsewhere.by_row <= done.by_row + 1e-2 * epsilon * space.a).all()
        here = done


def test_strides_divide_the_way_and_follow_the_reach() -> None:
    assert continuation.ahead(1.0, 1.0, 0.5) == (1.0, 0.0)
    assert continuation.ahead(1.0, 0.8, 0.5) == (0.8, pytest.approx(-math.log(0.8)))
    strength, passed = 1.0, []
    while strength > 0.1:
        strength, stride = continuation.ahead(strength, 0.1, 0.7)
        passed.append(stride)
    assert strength == 0.1
    assert passed == pytest.approx([math.log(10.0) / 4] * 4)
    assert continuation.longer(0.5, continuation.AIMED_REACH) == pytest.approx(0.5)
    assert continuation.longer(0.5, continuation.AIMED_REACH / 2.25) == pytest.approx(0.75)
    assert continuation.longer(0.5, 0.0) == 1.0
    assert continuation.longer(0.5, 100.0) == 0.25
    assert continuation.longer(0.5, math.nan) == continuation.shorter(0.1) == continuation.SHORTEST_STRIDE
    assert continuation.shorter(0.6) == 0.3


@pytest.mark.parametrize("name", TIMES)
def test_compiled_and_swept_steps_differ_by_rounding_and_lead_along_one_path(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strengths that are passed, the evaluations and the end are the same: what is decided is written once."""
    pytest.importorskip("numba")
    d, first, last = data(14, 9, seed=11), 2.0, 0.01
    model = Model(problem(d, name, last, 5.0), Threads())
    space = moment_dual.Space.of(model).with_pairs(every=True)
    cost = PointCloudCost(d.X, d.Y).rows(slice(None))
    arrays = cost.T, space.R, space.a, space.b, space.centre.T, space.curvature.T
    compiled, swept = CompiledSteps(*map(np.ascontiguousarray, arrays)), moment_dual.SweptSteps(model)
    g, P = np.zeros(9), np.zeros((14, space.R.shape[1]))
    small = compiled.at(first, g, np.ascontiguousarray(P.T))
    large = moment_dual.at(model, space, first, g, P, np.zeros(14))
    assert small.value == pytest.approx(large.value, rel=1e-12)
    assert small.distance == pytest.approx(large.distance, rel=1e-9)
    for damping in (0.0, 0.1):
        one, other = compiled.direction(small, damping), swept.direction(large, damping)
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(np.concatenate([one.step[0], one.step[1].T.ravel()]), other.step, atol=1e-6)
        assert (one.slope, one.reach) == pytest.approx((other.slope, other.reach), rel=1e-6)

    monkeypatch.setattr(moment_dual, "SETTLING", 0)  # what sweeps may add between two steps
    passed: dict[object, list[float]] = {compiled: [], swept: []}
    ends = []
    for steps, here in ((compiled, small), (swept, large)):
        path = continuation.Continuation(here, last)
        while path.run(steps, 1e-9, 1):
            passed[steps].append(path.here.epsilon)
        assert path.last
        assert path.near
        assert path.here.distance <= 1e-9
        ends.append(path.here.value)
    assert passed[compiled] == pytest.approx(passed[swept], rel=1e-6)
    assert ends[0] == pytest.approx(ends[1], rel=1e-10)


def test_blocks_whose_inverse_is_lost_in_rounding_are_no_matter() -> None:
    """Heavy weights and many moments: the gap that rounding leaves is reported, where a Cholesky factor once failed."""
    rng = np.random.default_rng(295)
    X, Y = rng.normal(size=(2000, 5)), rng.normal(size=(100, 5)) * rng.uniform(0.5, 1.5, 5) + rng.normal(size=5) * 0.5
    cost = PointCloudCost(X, Y)
    smooth = TimeSmoothness(Y, X + 0.3 * rng.normal(size=X.shape), weight=1000.0, normalization="sum")
    p = Problem(cost, epsilon=0.005 * float(np.mean(cost.rows(slice(None)))), regularizer=smooth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(p, tol=1e-6, max_iter=3)
    assert s.gap < 2e-6
    assert s.lower_bound <= s.value


def test_newton_steps_and_quasi_newton_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    d = data(40, 15, seed=8)
    p = problem(d, "time-sum", 0.003, 5.0)
    values = []
    monkeypatch.setattr(dual_ascent, "SMALL_ENTRIES", 0)
    for cost in (0.0, np.inf):
        monkeypatch.setattr(dual_ascent, "_newton_cost", lambda here, cost=cost: cost)
        s = solve(p, DualAscent(), tol=1e-7, max_iter=200)
        assert s.converged
        values.append(s.value)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_warm_start_saves_evaluations_and_other_starts_are_refused(engine: Threads) -> None:
    X, Y = make_moons(120, noise=0.05, random_state=0)[0], make_moons(60, noise=0.05, random_state=1)[0]
    p = Problem(PointCloudCost(X, Y), epsilon=0.02, regularizer=TimeSmoothness(Y, X, 5.0))
    near = Problem(PointCloudCost(X, Y), epsilon=0.021, regularizer=TimeSmoothness(Y, X, 5.1))
    first = solve(p, DualAscent(), engine=engine)
    again, cold = solve(near, DualAscent(), init=first, engine=engine), solve(near, DualAscent(), engine=engine)
    assert again.converged
    assert again.trace.inner.sum() < cold.trace.inner.sum()
    assert again.value == pytest.approx(cold.value, rel=1e-5)
    with pytest.raises(ValueError, match="init must be a pair"):
        solve(p, DualAscent(), init=np.full((120, 60), 1 / 7200))


@pytest.mark.parametrize("J", [GroupLasso(np.arange(6) % 2), Laplacian(np.ones((6, 6)), np.ones((4, 2)))], ids=repr)
def test_other_regularisers_are_refused_by_name(J: object) -> None:
    rng = np.random.default_rng(0)
    p = Problem(rng.random((6, 4)), epsilon=0.1, regularizer=J)
    with pytest.raises(ValueError, match=type(J).__name__):
        solve(p, DualAscent())


def test_the_compiled_solve_of_a_small_problem_is_the_whole_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of few columns need no round of evaluations after it, with one moment or many."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(30, 5))
    for r in (1, 2, 5):
        smooth = TimeSmoothness(Y[:, :r], X[:, :r], 3.0)
        p = Problem(PointCloudCost(X, Y), epsilon=0.05, regularizer=smooth)
        with monkeypatch.context() as context:
            context.setattr(dual_ascent._Course, "run", lambda *_: 0)
            small = solve(p, tol=1e-8)
        with monkeypatch.context() as context:
            context.setattr(dual_ascent, "SMALL_ENTRIES", 0)
            large = solve(p, tol=1e-8)
        assert small.converged
        assert small.value == pytest.approx(large.value, rel=1e-8)


def test_memory_is_linear_in_the_points() -> None:
    n, m = 5000, 2500
    X, Y = make_moons(n, noise=0.05, random_state=0)[0], make_moons(m, noise=0.05, random_state=1)[0]
    p = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, X, 1.0))
    small = Problem(PointCloudCost(X[:600], Y[:500]), epsilon=0.5, regularizer=TimeSmoothness(Y[:500], X[:600], 1.0))
    solve(small, tol=1e-3, engine=Threads(memory=2**10))  # what compiling takes is not the plan's
    tracemalloc.start()
    s = solve(p, tol=1e-3, engine=Threads(memory=2**10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert s.converged
    assert peak < 8 * n * m / 4, "the plan was formed"


def test_quasi_newton_solves_an_ill_conditioned_quadratic_in_few_evaluations() -> None:
    scale = np.logspace(0, 4, 12)

    class Place:
        def __init__(self, x: np.ndarray) -> None:
            self.x, self.value, self.gradient = x, float(-0.5 * np.dot(scale * x, x)), -scale * x
            self.magnitude = abs(self.value)

        def precondition(self, direction: np.ndarray) -> np.ndarray:
            return direction

    def done(place: Place) -> bool:
        return float(np.abs(place.gradient).max()) < 1e-8

    here, spent, _ = Ascent().run(Place(np.ones(12)), Place, done, 200)
    assert done(here)
    assert spent < 150


def test_the_automatic_choice_is_said() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(8, 2))
    chosen = {
        "DualAscent": TimeSmoothness(Y, X),
        "DualNewton": GroupLasso(np.arange(12) % 2, 0.3),
        "ForwardBackward": Laplacian(np.ones((12, 12)), Y),
    }
    for name, J in chosen.items():
        s = solve(Problem(PointCloudCost(X, Y), epsilon=0.3, regularizer=J))
        assert s.converged
        assert name in s.message
    weak = GroupLasso(np.arange(12) % 2, 0.01)
    assert "DualNewton" in solve(Problem(PointCloudCost(X, Y), epsilon=0.3, regularizer=weak)).message
    assert "ForwardBackward" in solve(Problem(PointCloudCost(X, Y), epsilon=0.3), init=np.full((12, 8), 1 / 96)).message
    assert Sinkhorn().direct


def test_plain_transport_goes_to_newton_where_it_is_small_and_the_strength_is_not() -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    cost = rng.random((40, 30))
    cost[0, 0], cost[1, 1] = 0.0, 1.0

    def message(epsilon: float, cost: np.ndarray = cost, engine: Threads | None = None) -> str:
        return solve(Problem(cost, epsilon=epsilon), engine=engine).message

    assert "DualAscent" in message(0.1)
    assert "DualAscent" in message(1.0001e-4)
    assert "Sinkhorn" in message(0.9999e-4)
    assert "Sinkhorn" in message(0.1, engine=Threads(compiled=False))
    assert "Sinkhorn" in message(0.1, rng.random((20, 129)))


@pytest.mark.parametrize("seed", range(12))
def test_newton_solves_plain_transport_of_any_masses(seed: int) -> None:
    """Masses down to 1e-25 and zero, costs of any magnitude: certified, and equal to what Sinkhorn finds."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 200)), int(rng.integers(2, 100))
    cost = 10.0 ** rng.uniform(-6, 6) * (rng.random((n, m)) if seed % 2 else np.abs(rng.standard_cauchy((n, m))))
    a, b = (rng.dirichlet(np.full(size, 0.1 if seed % 3 else 1.0)) for size in (n, m))
    if seed % 4 == 0:
        a[rng.integers(n)], b[rng.integers(m)] = 0.0, 0.0
    a, b = 10.0 ** (seed % 5) * a / a.sum(), 10.0 ** (seed % 5) * b / b.sum()
    given = Problem(cost, a, b, epsilon=float(np.ptp(cost)) * 10.0 ** rng.uniform(-4, 1))
    found, other = solve(given, tol=1e-9), solve(given, Sinkhorn(), tol=1e-9)
    assert "DualAscent" in found.message
    assert found.converged
    gamma, unit = found.plan.dense(), max(abs(other.value), given.epsilon * given.mass)
    assert np.abs(gamma.sum(axis=0) - b).sum() + np.abs(gamma.sum(axis=1) - a).sum() <= 1.001e-9 * given.mass
    assert abs(found.value - other.value) <= 2e-9 * unit
    assert max(found.lower_bound, other.lower_bound) <= min(found.value, other.value) + 1e-12 * unit


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.01, 0.001])
def test_plain_transport_whose_kernel_is_not_held_is_solved_by_sweeps(epsilon: float) -> None:
    rng = np.random.default_rng(0)
    cost = PointCloudCost(rng.normal(size=(90, 2)), rng.normal(size=(70, 2)) + 0.5)
    swept, held = sinkhorn(cost, epsilon=epsilon, engine=Threads(memory=0)), sinkhorn(cost, epsilon=epsilon)
    assert swept.converged
    assert swept.trace.inner.sum() < 1000
    assert swept.value == pytest.approx(held.value, rel=2e-6, abs=2e-6 * epsilon)


@pytest.mark.parametrize("weight", [0.0, 1e-3])
@pytest.mark.parametrize("normalization", ["coupling", "mean"])
def test_a_start_from_a_problem_that_saw_more_ends_at_the_optimum(
    normalization: str, weight: float, engine: Threads
) -> None:
    d = data(15, 11, seed=7)
    cost = PointCloudCost(d.X, d.Y)
    first, last = (
        Problem(cost, d.a, d.b, epsilon=0.5, regularizer=TimeSmoothness(d.Y, d.previous, each, normalization))
        for each in (1.0, weight)
    )
    warm = solve(last, DualAscent(), tol=1e-9, init=solve(first, DualAscent(), tol=1e-12, engine=engine), engine=engine)
    cold = solve(last, ForwardBackward(), tol=1e-9)
    assert warm.converged
    assert warm.value == pytest.approx(cold.value, rel=1e-8)
    assert warm.lower_bound <= cold.value + 1e-12


def test_a_start_from_a_problem_with_more_rows_ends_at_the_optimum(engine: Threads) -> None:
    d = data(15, 11, seed=7)
    a = np.where(np.arange(15) == 4, 0.0, d.a)
    a /= a.sum()
    first, last = (
        Problem(PointCloudCost(d.X, d.Y), each, d.b, epsilon=0.5, regularizer=TimeSmoothness(d.Y, d.previous, 1.0))
        for each in (d.a, a)
    )
    warm = solve(last, DualAscent(), tol=1e-9, init=solve(first, DualAscent(), tol=1e-12, engine=engine), engine=engine)
    assert warm.converged
    assert warm.value == pytest.approx(solve(last, tol=1e-10).value, rel=1e-8)


def test_many_moments_take_memory_linear_in_them() -> None:
    """Their preconditioner is diagonal, and held as such."""
    rng, n, m, r = np.random.default_rng(0), 400, 300, 120
    X, Y = rng.normal(size=(n, r)), rng.normal(size=(m, r)) + 0.3
    p = Problem(PointCloudCost(X, Y), epsilon=2.0, regularizer=TimeSmoothness(Y, X, 0.1))
    space = moment_dual.Space.of(model := Model(p, Threads()))
    place = moment_dual.at(model, space, 2.0, np.zeros(m), np.zeros((n, r)), np.zeros(n))
    assert place.inverse.shape == (n, r)
    every = moment_dual.at(model, space.with_pairs(every=True), 2.0, np.zeros(m), np.zeros((n, r)), np.zeros(n))
    np.testing.assert_allclose(place.inverse, 1.0 / np.linalg.inv(every.inverse).diagonal(0, 1, 2), rtol=1e-6)
    tracemalloc.start()
    s = solve(p, DualAscent())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert s.converged
    assert peak < 8 * n * r * r, peak  # one array of blocks


@pytest.mark.parametrize("moments", [2, 3])
@pytest.mark.parametrize("tiny", [1e-60, 1e-140, 1e-200])
def test_a_row_of_nearly_no_mass_does_no_harm(tiny: float, moments: int, engine: Threads) -> None:
    d, rng = data(30, 20, seed=4), np.random.default_rng(1)
    Y, previous = rng.normal(size=(20, moments)), rng.normal(size=(30, moments))
    a = np.full(30, 1 / 29)
    a[3] = tiny
    with_it = Problem(PointCloudCost(d.X, d.Y), a, epsilon=0.05, regularizer=TimeSmoothness(Y, previous, 2.0))
    rest = np.delete(np.arange(30), 3)
    without = Problem(PointCloudCost(d.X[rest], d.Y), epsilon=0.05, regularizer=TimeSmoothness(Y, previous[rest], 2.0))
    first, second = (solve(p, DualAscent(), tol=1e-8, engine=engine) for p in (with_it, without))
    assert first.converged
    assert second.converged
    assert first.value == pytest.approx(second.value, abs=1e-7 * abs(second.value))


def test_the_regulariser_is_seen_at_any_total_mass(engine: Threads) -> None:
    d, unit = data(8, 6, seed=2), 1e160
    J = TimeSmoothness(d.Y, d.previous, 5.0)
    small, large = (
        solve(
            Problem(PointCloudCost(d.X, d.Y), s * d.a, s * d.b, epsilon=0.1, regularizer=J), DualAscent(), engine=engine
        )
        for s in (1.0, unit)
    )
    assert large.converged
    np.testing.assert_allclose(large.plan.dense() / unit, small.plan.dense(), atol=1e-3)
