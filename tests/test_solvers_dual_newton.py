"""Newton's method on the semi-dual: the reference's optimum, true bounds on the way, few evaluations."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import oracle
import pytest
from problems import REGULARIZERS, Data, assert_agrees, data, weight
from scipy.special import wrightomega
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from driftway import (
    ForwardBackward,
    GroupLasso,
    Laplacian,
    Plan,
    PointCloudCost,
    Problem,
    Regularizer,
    Solution,
    TimeSmoothness,
    solve,
)
from driftway.engines import Threads
from driftway.geometry.dense import LogOf
from driftway.problem.model import Model
from driftway.solvers import DualNewton
from driftway.solvers.dual_newton.dual import FINE, ROUGH, USUAL, Penalty, Place, Precision, SemiDual, compiled_kernels
from driftway.solvers.dual_newton.solver import _blocks, _given, _newton_direction, fits
from driftway.solvers.solver import Start

pytest.importorskip("numba")

SHAPES = {"wide": (5, 8), "tall": (9, 4)}
# A plan is known to √(gap/ε): these tolerances bring it to 1e-4 in L1 at every ε.
TOLERANCE = {1.0: 1e-9, 0.1: 1e-10, 0.01: 1e-11, 0.001: 1e-12}
NAMES = ("lasso", "lasso+time")


def posed(d: Data, epsilon: float, J: Regularizer) -> Problem:
    return Problem(PointCloudCost(d.X, d.Y, "euclidean"), d.a, d.b, epsilon=epsilon, regularizer=J)


def truth_of(p: Problem, penalties: list) -> oracle.Reference:
    return oracle.solve(p.cost.rows(slice(None)), p.a, p.b, p.epsilon, penalties)


def pair(d: Data, name: str, epsilon: float, w: float) -> tuple[Problem, oracle.Reference]:
    """A problem of the table with its weights times w, and its reference."""
    ours, theirs = REGULARIZERS[name]
    p = posed(d, epsilon, ours(d, w))
    return p, truth_of(p, theirs(d, w))


def semi_dual(p: Problem) -> SemiDual:
    penalty = Penalty.of(p.regularizer, p.a, p.shape[1])
    assert penalty is not None
    return SemiDual.of(Model(p, Threads()), penalty, rough=True)


def evaluations(s: Solution) -> float:
    return float(s.trace.inner.sum())


@pytest.mark.parametrize("full", [False, True], ids=["shrunk", "full"])
@pytest.mark.parametrize("epsilon", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_reference(name: str, shape: str, epsilon: float, full: bool) -> None:
    d = data(*SHAPES[shape], seed=list(REGULARIZERS).index(name))
    p, truth = pair(d, name, epsilon, 1.0 if full else weight(epsilon))
    assert_agrees(solve(p, DualNewton(), tol=TOLERANCE[epsilon]), truth, epsilon)


@pytest.mark.parametrize("normalization", ["sum", "coupling"])
def test_it_takes_any_sum_of_squares_of_moments(normalization: str) -> None:
    d, epsilon = data(7, 6, seed=4), 0.05
    J = (
        0.5 * (GroupLasso(d.labels, 0.2) + TimeSmoothness(d.Y, d.previous, 0.3, normalization))
        + 2.0 * TimeSmoothness(d.Y[:, :1] ** 2, d.previous[:, :1], 0.1)
        + GroupLasso(d.labels + 5, 0.1)
    )
    p = posed(d, epsilon, J)
    penalties = [
        oracle.group_lasso(d.labels, 0.2),
        oracle.time_smoothness(d.Y, d.previous, 0.15, d.a, normalization),
        oracle.time_smoothness(d.Y[:, :1] ** 2, d.previous[:, :1], 0.2, d.a, "mean"),
    ]
    assert_agrees(solve(p, DualNewton(), tol=1e-10), truth_of(p, penalties), epsilon)


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_columns_without_mass_stay_empty(name: str) -> None:
    d, epsilon = data(9, 7, seed=2), 0.05
    d.a[[0, 3, 6, 4]], d.b[[1, 5]] = 0.0, 0.0  # the whole of one class, and a row of another
    d.a[:], d.b[:] = d.a / d.a.sum(), d.b / d.b.sum()
    p, truth = pair(d, name, epsilon, 1.0)
    s = solve(p, DualNewton(), tol=1e-10)
    assert_agrees(s, truth, epsilon)
    f, g = s.potentials
    np.testing.assert_array_equal(np.isneginf(f), d.a == 0)
    np.testing.assert_array_equal(np.isneginf(g), d.b == 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mass", [1e3, 1e-3])
def test_the_total_mass_is_any(name: str, mass: float) -> None:
    """These J are homogeneous, so that masses times t multiply the optimum by t and add ε t log t."""
    d, epsilon = data(8, 6, seed=1), 0.05
    J = REGULARIZERS[name][0](d, 1.0)
    one, other = (
        solve(
            Problem(PointCloudCost(d.X, d.Y), t * d.a, t * d.b, epsilon=epsilon, regularizer=J), DualNewton(), tol=1e-11
        )
        for t in (1.0, mass)
    )
    assert one.converged
    assert other.converged
    assert other.value == pytest.approx(mass * (one.value + epsilon * np.log(mass)), rel=1e-10)
    np.testing.assert_allclose(other.plan.dense(), mass * one.plan.dense(), rtol=1e-6, atol=1e-9 * mass)


@pytest.mark.parametrize("labels", [np.arange(8), np.zeros(8), list("abcabcab")], ids=["each", "one", "strings"])
def test_classes_are_of_any_size(labels: object) -> None:
    d, epsilon = data(8, 6, seed=3), 0.05
    p = posed(d, epsilon, GroupLasso(labels, 0.4))
    assert_agrees(solve(p, DualNewton(), tol=1e-10), truth_of(p, [oracle.group_lasso(labels, 0.4)]), epsilon)


@pytest.mark.parametrize("ratio", [1e-9, 1e-2, 1.0, 1e2, 1e4])
def test_the_weight_is_any_multiple_of_epsilon(ratio: float) -> None:
    d, epsilon = data(7, 6, seed=6), 0.1
    p = posed(d, epsilon, GroupLasso(d.labels, ratio * epsilon))
    assert_agrees(
        solve(p, DualNewton(), tol=1e-11), truth_of(p, [oracle.group_lasso(d.labels, ratio * epsilon)]), epsilon
    )


def moons(n: int, m: int, epsilon: float, dtype: type = np.float64) -> Problem:
    (X, labels), (Y, _) = make_moons(n, noise=0.05, random_state=0), make_moons(m, noise=0.05, random_state=1)
    J = GroupLasso(labels, 0.1) + TimeSmoothness(Y, X, 0.2)
    return Problem(PointCloudCost(X.astype(dtype), Y.astype(dtype)), epsilon=epsilon, regularizer=J)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forward_backward_agrees_on_two_moons(dtype: type) -> None:
    p = moons(200, 60, 0.02, dtype)
    newton, splitting = solve(p, DualNewton(), tol=1e-8), solve(p, ForwardBackward(accelerate=True), tol=1e-8)
    assert newton.converged
    assert splitting.converged
    assert newton.plan.dense().dtype == dtype
    assert newton.lower_bound <= splitting.value
    assert splitting.lower_bound <= newton.value
    assert newton.value == pytest.approx(splitting.value, rel=1e-7)
    assert np.abs(newton.plan.dense() - splitting.plan.dense()).sum() <= 1e-3
    assert evaluations(newton) < evaluations(splitting) / 5


@pytest.mark.parametrize("tol", [1e-6, 1e-10])
def test_large_problems_are_solved_in_mixed_precision(tol: float) -> None:
    p = moons(700, 100, 0.02)
    mixed, exact = (solve(p, DualNewton(), tol=tol, engine=Threads(mixed=kind)) for kind in (True, False))
    assert mixed.converged
    assert exact.converged
    assert abs(mixed.value - exact.value) <= tol * max(abs(exact.value), p.epsilon)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.5, 0.02])
def test_every_certified_gap_is_a_true_bound_on_the_way(name: str, epsilon: float) -> None:
    p, truth = pair(data(6, 7, seed=3), name, epsilon, 1.0)
    f, g = solve(p, DualNewton()).potentials
    rough, gaps = (f + 1.5 * epsilon * np.random.default_rng(0).normal(size=6), g), []
    for init in (None, rough):
        for max_iter in (1, 2, 4, 8):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                s = solve(p, DualNewton(round_length=1), tol=1e-14, max_iter=max_iter, init=init)
            assert s.lower_bound <= truth.value + 1e-13 <= s.value + 2e-13
            gaps.append(s.trace[0].gap)
    assert max(gaps) > 1e-3  # some were far from the optimum


@pytest.mark.parametrize("precision", [USUAL, FINE], ids=["usual", "fine"])
@pytest.mark.parametrize("name", NAMES)
def test_the_dual_is_below_the_optimum_everywhere(name: str, precision: Precision) -> None:
    p, truth = pair(data(6, 7, seed=3), name, 0.05, 1.0)
    dual, rng = semi_dual(p), np.random.default_rng(1)
    for size in (0.1, 1.0, 10.0, 1000.0):
        for _ in range(10):
            place = dual.at(p.epsilon, size * rng.normal(size=dual.linear.shape), precision=precision)
            assert place.bound <= truth.value + 1e-13
            np.testing.assert_allclose(place.plan(Model(p, Threads())).sum(axis=0), p.b, rtol=1e-12)


def hessian(place: Place, direction: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """−∇²D · direction, and the slide of the roots."""
    product, slide = place.columns_hessian(direction)
    return place.dual.a * product + place.epsilon * place.dual.quadratic * direction, slide


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ratio", [0.1, 1.0, 30.0])
def test_gradient_and_hessian_are_those_of_the_dual(name: str, ratio: float) -> None:
    d, rng, h = data(9, 7, seed=5), np.random.default_rng(2), 1e-5
    p = posed(d, 0.3 / ratio, REGULARIZERS[name][0](d, 1.0))
    dual = semi_dual(p)
    theta, direction = rng.normal(size=(2, *dual.linear.shape))
    theta[0] += dual.lowest / p.epsilon
    here, (ahead, behind) = dual.at(p.epsilon, theta), (dual.at(p.epsilon, theta + t * direction) for t in (h, -h))
    product, slide = hessian(here, direction)
    assert np.vdot(here.gradient, direction) == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-6)
    scale = np.abs(product).max()
    np.testing.assert_allclose(product, (behind.gradient - ahead.gradient) / (2 * h), atol=1e-6 * scale)
    heavy = here.roots + here.g[:, None] > -40  # the others are not followed
    np.testing.assert_allclose(slide[heavy], ((ahead.roots - behind.roots) / (2 * h))[heavy], atol=1e-6)
    usual, rough = (dual.at(p.epsilon, theta, precision=precision) for precision in (USUAL, ROUGH))
    np.testing.assert_allclose(hessian(usual, direction)[0], product, atol=1e-5 * scale)
    np.testing.assert_allclose(hessian(rough, direction)[0], product, atol=1e-4 * scale)
    assert usual.value == pytest.approx(here.value, abs=1e-9 * here.magnitude)
    assert rough.value == pytest.approx(here.value, abs=ROUGH.noise * here.magnitude)
    np.testing.assert_allclose(rough.gradient, here.gradient, atol=1e-5 * np.abs(here.gradient).max())


@pytest.mark.parametrize("precision", [ROUGH, USUAL, FINE], ids=["rough", "usual", "fine"])
def test_groups_of_hardly_any_mass_do_no_harm(precision: Precision) -> None:
    """Their norms underflow in float32, and so the Hessian was not a number."""
    rng, labels = np.random.default_rng(0), np.arange(60) % 6
    cost = rng.random((60, 40)) + 400.0 * (labels[:, None] != np.arange(40) % 6)
    dual = semi_dual(Problem(cost, epsilon=1.0, regularizer=GroupLasso(labels, 0.5)))
    place = dual.at(1.0, rng.normal(size=dual.linear.shape), precision=precision)
    assert (place.roots + place.g[:, None]).min() < -100  # exp of that is nothing in float32
    product, slide = place.columns_hessian(rng.normal(size=dual.linear.shape))
    for array in (place.gradient, place.diagonal, product, slide):
        assert np.isfinite(array).all()
    np.testing.assert_allclose(place.sums.sum(), 1.0, rtol=1e-5)


@pytest.mark.parametrize("classes", [2, 30])
@pytest.mark.parametrize("strength", [1.0, 0.1, 0.01])
def test_it_may_begin_roughly(classes: int, strength: float) -> None:
    rng = np.random.default_rng(classes)
    X, Y, labels = rng.normal(size=(300, 2)), rng.normal(size=(250, 2)) + 0.5, rng.integers(classes, size=300)
    p = Problem(PointCloudCost(X, Y, "sqeuclidean"), epsilon=strength, regularizer=GroupLasso(labels, 2.0 * strength))
    rough, exact = (solve(p, DualNewton(), engine=Threads(mixed=mixed)) for mixed in (True, False))
    assert rough.converged
    assert exact.converged
    assert rough.value == pytest.approx(exact.value, rel=1e-6, abs=1e-6 * strength)
    assert rough.lower_bound <= exact.value
    assert evaluations(rough) <= evaluations(exact) + 4


def test_the_diagonal_of_the_hessian_is_bounded_by_the_rows() -> None:
    """H ≼ diag(γ), which is why Sinkhorn's updates ascend."""
    dual = semi_dual(posed(data(9, 7, seed=5), 0.1, GroupLasso(np.arange(9) % 3, 0.3)))
    place = dual.at(0.1, np.random.default_rng(0).normal(size=dual.linear.shape))
    n = dual.a.size
    matrix = np.column_stack([hessian(place, unit[None])[0][0] for unit in np.eye(n)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() >= -1e-14
    assert np.linalg.eigvalsh(np.diag(place.sums[0]) - matrix).min() >= -1e-14


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_the_newton_direction_solves_its_system(name: str, damping: float) -> None:
    d = data(9, 7, seed=5)
    p = posed(d, 0.2, REGULARIZERS[name][0](d, 1.0))
    dual = semi_dual(p)
    theta = np.random.default_rng(3).normal(size=dual.linear.shape)
    theta[0] += dual.lowest / p.epsilon
    place = dual.at(p.epsilon, theta)
    direction, slide = _newton_direction(place, damping)
    # Far from the optimum it is enough to reduce the residual by ten, in the norm of the preconditioner.
    added, blocks = _blocks(place, damping)
    residual = place.gradient - dual.a * place.columns_hessian(direction)[0] - added * direction
    z = np.empty_like(residual)
    first, last = (compiled_kernels().precondition(blocks, right, z) for right in (place.gradient, residual))
    assert 0.0 <= last <= 0.1001**2 * first
    np.testing.assert_allclose(slide, place.columns_hessian(direction)[1], atol=1e-10)


@pytest.mark.parametrize("moments", [0, 1, 3])
def test_the_preconditioner_inverts_its_blocks(moments: int) -> None:
    rng, n = np.random.default_rng(moments), 5
    head, (mean, tail) = rng.uniform(1, 2, n), (rng.normal(size=(moments, n)), rng.uniform(1, 2, (moments, n)))
    right, out = rng.normal(size=(2, 1 + moments, n))
    product = compiled_kernels().precondition((head, mean, tail), right, out)
    assert product == pytest.approx(np.vdot(right, out), rel=1e-12)
    for i in range(n):
        column = np.concatenate([[1.0], mean[:, i]])
        block = head[i] * np.outer(column, column) + np.diag(np.concatenate([[0.0], tail[:, i]]))
        np.testing.assert_allclose(block @ out[:, i], right[:, i], rtol=1e-10, atol=1e-12)


def test_wrights_function_is_accurate() -> None:
    from driftway.engines.compiled.omega import OMEGA_RESIDUAL
    from driftway.solvers.dual_newton.kernels import fill_omega

    x = np.concatenate([np.linspace(-690, -6, 20_001), np.linspace(-6, 10, 40_001), 10 ** np.linspace(1, 12, 10_001)])
    w = np.empty_like(x)
    fill_omega(np.zeros_like(x), 1.0, x, 0.0, w)
    np.testing.assert_allclose(w, wrightomega(x), rtol=5e-13)
    few = x < 100  # beyond, x itself has larger rounding errors
    residual = w[few].astype(np.longdouble)
    residual += np.log(residual) - x[few]
    assert np.abs(residual).max() <= OMEGA_RESIDUAL


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_a_warm_start(name: str) -> None:
    d = data(12, 10, seed=9)
    p, near = (posed(d, 0.01, REGULARIZERS[name][0](d, w)) for w in (1.0, 1.05))
    cold, other = solve(p, DualNewton()), solve(near, DualNewton(), tol=1e-9)
    again, moved = solve(p, DualNewton(), init=cold), solve(p, DualNewton(), init=other)
    from_potentials = solve(p, DualNewton(), init=cold.potentials)
    for s in (again, moved, from_potentials):
        assert s.converged
        assert s.value == pytest.approx(cold.value, rel=2e-6)
    assert evaluations(again) <= 3
    assert evaluations(moved) <= evaluations(cold) / 2
    if name == "lasso":  # whose potentials are all there is to know
        assert evaluations(from_potentials) <= 3


def test_potentials_solve_the_optimality_conditions() -> None:
    """C + ∇J(γ) + ε log γ = f ⊕ g."""
    p, _ = pair(data(8, 7, seed=1), "lasso+time", 0.1, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = solve(p, DualNewton(), tol=1e-15)  # as far as rounding allows
    gamma = s.plan.dense()
    left = p.cost.rows(slice(None)) + p.regularizer.gradient(gamma) + p.epsilon * np.log(gamma)
    np.testing.assert_allclose(left, np.add.outer(*s.potentials), atol=1e-8)


def test_threads_give_the_same_bits_every_time() -> None:
    p, engine = moons(60, 40, 0.02), Threads(workers=3, block_entries=64)
    first, second = (solve(p, DualNewton(), engine=engine) for _ in range(2))
    np.testing.assert_array_equal(first.plan.dense(), second.plan.dense())
    assert first.value == second.value
    alone = solve(p, DualNewton(), engine=Threads(workers=1))
    assert first.value == pytest.approx(alone.value, rel=1e-6)


def test_a_state_can_be_advanced_twice() -> None:
    p, _ = pair(data(8, 7, seed=1), "lasso+time", 0.01, 1.0)
    model, solver = Model(p, Threads()), DualNewton(round_length=2)
    state = solver.start(model, Start(np.zeros(8), np.zeros(7)), accuracy=1e-10)
    first, second = (solver.advance(model, state, accuracy=1e-12) for _ in range(2))
    assert first.bound == second.bound > state.bound
    np.testing.assert_array_equal(first.point.plan.array(), second.point.plan.array())


def test_tolerances_beyond_floating_point_end_soon_and_without_nan() -> None:
    p, _ = pair(data(12, 10, seed=9), "lasso+time", 0.05, 1.0)
    with pytest.warns(ConvergenceWarning):
        s = solve(p, DualNewton(), tol=0.0)
    assert s.gap <= 1e-11
    assert evaluations(s) <= 200
    assert np.isfinite(s.plan.dense()).all()


def test_which_problems_fit() -> None:
    d = data(6, 5, seed=0)
    lasso, time = GroupLasso(d.labels, 0.3), TimeSmoothness(d.Y, d.previous, 0.5)
    unseen, graph = TimeSmoothness(d.Y, d.previous, 0.0), Laplacian(d.source_similarity, d.Y)
    suited = [lasso, 2.0 * lasso, lasso + time, 3.0 * (lasso + 0.5 * time) + lasso, lasso + unseen, lasso + 0.0 * graph]
    unsuited = [time, graph, lasso + graph, GroupLasso(d.labels, 0.0), 0.0 * lasso + time, lasso + GroupLasso([0] * 6)]
    assert all(fits(posed(d, 0.1, J)) for J in suited)
    assert not any(fits(posed(d, 0.1, J)) for J in unsuited)
    assert not fits(posed(d, 0.0, lasso))
    for J in unsuited:
        with pytest.raises(ValueError, match=r"GroupLasso of positive weight.*got .*; use ForwardBackward"):
            solve(posed(d, 0.1, J), DualNewton())
    with pytest.raises(ValueError, match="needs epsilon > 0, got 0"):
        solve(posed(d, 0.0, lasso), DualNewton())
    with pytest.raises(ValueError, match=r"compiled code.*use driftway\.engines\.Threads\(\)"):
        solve(posed(d, 0.1, lasso), DualNewton(), engine=Threads(compiled=False))
    with pytest.raises(ValueError, match="round_length must be at least 1, got 0"):
        DualNewton(round_length=0)


def test_a_solution_of_another_strength_and_solver_is_a_warm_start() -> None:
    """Its plan is held as a log-plan, to which its inner potentials belong; those of the problem are others."""
    d = data(40, 30, seed=1)
    J = GroupLasso(np.arange(40) % 2, 0.02)
    before = solve(posed(d, 0.2, J), ForwardBackward(), tol=1e-8)
    p = posed(d, 0.1, J)
    cold, warm = solve(p, DualNewton(), tol=1e-8), solve(p, DualNewton(), tol=1e-8, init=before)
    assert warm.converged
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
    assert evaluations(warm) <= evaluations(cold) + 1


def test_a_bad_start_is_left_for_the_path_and_a_plan_is_refused() -> None:
    d = data(30, 20, seed=1)
    p = posed(d, 0.01, GroupLasso(np.arange(30) % 2, 0.5))
    rng = np.random.default_rng(0)
    cold = solve(p, DualNewton(), tol=1e-8)
    warm = solve(p, DualNewton(), tol=1e-8, init=(5.0 * rng.normal(size=30), np.zeros(20)))
    assert warm.converged
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
    assert evaluations(warm) <= evaluations(cold) + 1
    with pytest.raises(ValueError, match="DualNewton starts from potentials"):
        solve(p, DualNewton(), init=np.full((30, 20), 1 / 600))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-6])
def test_plans_have_the_marginals_however_early_the_solve_ends(name: str, tol: float) -> None:
    d, epsilon = data(40, 30, seed=5), 0.02
    d.b[3], d.a[[0, 7]] = 0.0, 0.0
    d.a[:], d.b[:] = d.a / d.a.sum(), d.b / d.b.sum()
    p = posed(d, epsilon, REGULARIZERS[name][0](d, 1.0))
    s, truth = solve(p, DualNewton(), tol=tol), solve(p, DualNewton(), tol=1e-10)
    gamma = s.plan.dense()
    assert s.converged
    assert gamma.min() >= 0
    assert np.abs(gamma.sum(axis=1) - d.a).sum() <= 1e-13
    assert np.abs(gamma.sum(axis=0) - d.b).sum() <= 1e-13
    assert s.lower_bound <= truth.value
    assert truth.lower_bound <= s.value <= truth.value + tol * max(abs(s.value), epsilon)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("round_length", [1, 3])
def test_a_solve_that_goes_on_leaves_earlier_plans_alone(round_length: int, mixed: bool) -> None:
    d = data(40, 30, seed=5)
    p, seen = posed(d, 0.02, GroupLasso(d.labels, 1.0)), []

    def keep(iteration: object, plan: Plan) -> None:
        seen.append((plan, plan.dense().copy()))

    s = solve(p, DualNewton(round_length), tol=1e-8, callback=keep, engine=Threads(mixed=mixed))
    assert s.converged
    assert len(seen) > 1
    for plan, copy in seen:
        np.testing.assert_array_equal(plan.dense(), copy)


@pytest.mark.parametrize("precision", [USUAL, FINE], ids=["usual", "fine"])
@pytest.mark.parametrize("off", [1e-2, 1e-4])
@pytest.mark.parametrize("name", NAMES)
def test_the_gap_of_the_rounded_plan_is_expected_before_it_is_written(
    name: str, off: float, precision: Precision
) -> None:
    d = data(60, 30, seed=3)  # so few columns that the sample is all of them
    p = posed(d, 0.5, REGULARIZERS[name][0](d, 3.0))
    model, dual, penalty = Model(p, Threads()), semi_dual(p), Penalty.of(p.regularizer, p.a, p.shape[1])
    s = solve(p, DualNewton(), tol=1e-12)
    assert penalty is not None
    theta = _given(dual, model, penalty, s.plan, s.potentials[0])
    theta[0] += off * np.random.default_rng(0).normal(size=theta.shape[1])
    place = dual.at(p.epsilon, theta, precision=precision)
    gamma = place.plan(model)
    plan = model.plan(LogOf(gamma), np.zeros_like(p.a), np.zeros_like(p.b), gamma)
    assert p.epsilon * p.mass * place.gap == pytest.approx(model.evaluate(plan).objective - place.bound, rel=0.03)
    assert place.gap >= 0.5 * place.error**2 > 0


def test_a_solve_ends_when_the_rounded_plan_suffices() -> None:
    p = moons(300, 200, 1.0)
    s = solve(p, DualNewton(), tol=1e-6)
    assert s.converged
    assert s.gap > 1e-12  # one step more would square it
    assert s.n_iter == 0


def test_a_gap_that_was_expected_too_small_costs_another_round_and_no_certificate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = moons(60, 40, 0.05)
    truth = solve(p, DualNewton(), tol=1e-10)
    monkeypatch.setattr(Place, "gap", 0.0)
    s = solve(p, DualNewton(), tol=1e-6)
    assert s.n_iter > 0
    assert s.converged
    assert s.lower_bound <= truth.value <= s.value <= truth.value + 1e-6 * max(abs(s.value), p.epsilon)
