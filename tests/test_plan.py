"""The plan is one operator, however it is held: every way to use it agrees with its dense array."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from driftway import (
    ConditionalGradient,
    ForwardBackward,
    GroupLasso,
    Plan,
    PointCloudCost,
    Problem,
    Solution,
    TimeSmoothness,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
from driftway.geometry.matrices import Dense, Factored, LogOf
from driftway.solvers import FrankWolfe

N, M, D = 23, 17, 2
RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(N, D)), RNG.normal(size=(M, D)) + 0.5
PREVIOUS = X + 0.1 * RNG.normal(size=(N, D))
LABELS = RNG.integers(0, 3, N)
A, B = RNG.dirichlet(np.ones(N)), RNG.dirichlet(np.ones(M))
ZEROS_A, ZEROS_B = [3, 22], [0, 5]
A0, B0 = A.copy(), B.copy()
A0[ZEROS_A], B0[ZEROS_B] = 0.0, 0.0
A0, B0 = A0 / A0.sum(), B0 / B0.sum()
EPSILON, TOL = 1.0, 1e-8
EXACT = {"rtol": 1e-12, "atol": 1e-15}

ENGINES = {
    "held": Threads(),
    "swept": Threads(workers=1, memory=0),
    "small-blocks": Threads(workers=1, memory=0, block_entries=100),
    "two-workers": Threads(workers=2, memory=0, block_entries=100),
}


def points(dtype: Any = np.float64, metric: Any = "sqeuclidean") -> PointCloudCost:
    return PointCloudCost(X.astype(dtype), Y.astype(dtype), metric)


def smooth() -> TimeSmoothness:
    return TimeSmoothness(Y, PREVIOUS, weight=1.0)


# How a plan comes to be held → its solve, for masses a and b and a cost.
SOLVES: dict[str, Callable[[Any, Any, Any], Solution]] = {
    "dense": lambda cost, a, b: solve(
        Problem(cost, a, b, epsilon=EPSILON, regularizer=GroupLasso(LABELS)), ForwardBackward(), tol=TOL
    ),
    "given-start": lambda cost, a, b: solve(
        Problem(cost, a, b, epsilon=EPSILON, regularizer=smooth()), tol=TOL, init=np.ones((N, M))
    ),
    "conditional-gradient": lambda cost, a, b: solve(
        Problem(cost, a, b, epsilon=EPSILON, regularizer=smooth()), ConditionalGradient(), tol=TOL
    ),
    "frank-wolfe": lambda cost, a, b: solve(Problem(cost, a, b, epsilon=0.0), FrankWolfe(), tol=TOL),
} | {
    f"{kind}-{name}": run
    for name, engine in ENGINES.items()
    for kind, run in {
        "entropic": lambda cost, a, b, engine=engine: sinkhorn(cost, a, b, epsilon=EPSILON, tol=TOL, engine=engine),
        "factored": lambda cost, a, b, engine=engine: solve(
            Problem(cost, a, b, epsilon=EPSILON, regularizer=smooth()), ForwardBackward(), tol=TOL, engine=engine
        ),
    }.items()
}


@cache
def solution(kind: str, zeros: bool = False, single: bool = False) -> Solution:
    a, b = (A0, B0) if zeros else (A, B)
    return SOLVES[kind](points(np.float32 if single else np.float64), a, b)


def disturbed(plan: Plan) -> Plan:
    """The plan with marginals off by up to a half, held as it was."""
    rng = np.random.default_rng(2)
    df, dg = rng.uniform(-0.5, 0.5, N), rng.uniform(-0.5, 0.5, M)
    values = None if plan.values is None else plan.values * np.exp(df)[:, None] * np.exp(dg)
    return replace(plan, f=plan.f + df, g=plan.g + dg, values=values)


def unheld(plan: Plan) -> Plan:
    return replace(plan, values=None)


FORMS: dict[str, Callable[[Plan], Plan]] = {
    "solved": lambda plan: plan,
    "unheld": unheld,
    "disturbed": disturbed,
    "rounded": Plan.round,
    "disturbed-rounded": lambda plan: disturbed(plan).round(),
    "unheld-rounded": lambda plan: disturbed(unheld(plan)).round(),
}

every_plan = pytest.mark.parametrize("kind", SOLVES)
every_form = pytest.mark.parametrize("form", FORMS)
with_and_without_zeros = pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])


@pytest.mark.parametrize(
    ("kinds", "log", "held"),
    [
        pytest.param(["dense", "given-start"], Dense, True, id="dense"),
        pytest.param(["conditional-gradient", "frank-wolfe"], LogOf, True, id="mixture"),
        pytest.param(["entropic-held", "factored-held"], Factored, True, id="factored-held"),
        pytest.param([f"entropic-{name}" for name in list(ENGINES)[1:]], Factored, False, id="entropic-swept"),
        pytest.param([f"factored-{name}" for name in list(ENGINES)[1:]], Factored, False, id="factored-swept"),
    ],
)
def test_an_array_is_held_only_where_the_engine_or_the_solver_wants_one(
    kinds: list[str], log: type, held: bool
) -> None:
    for kind in kinds:
        plan = solution(kind).plan
        assert isinstance(plan.log, log)
        assert (plan.values is not None) is held


@every_plan
def test_every_plan_is_converged_to_the_marginals(kind: str) -> None:
    found = solution(kind)
    gamma = found.plan.dense()
    assert found.converged
    error = np.abs(gamma.sum(axis=1) - A).sum() + np.abs(gamma.sum(axis=0) - B).sum()
    assert error <= TOL
    assert found.marginal_error == pytest.approx(error, abs=1e-14)


@with_and_without_zeros
@pytest.mark.parametrize("engine", ENGINES)
def test_an_entropic_plan_is_the_gibbs_kernel_of_its_potentials(engine: str, zeros: bool) -> None:
    found = solution(f"entropic-{engine}", zeros)
    f, g = found.plan.f, found.plan.g
    expected = np.exp(f[:, None] + g - cdist(X, Y, "sqeuclidean") / EPSILON)
    np.testing.assert_allclose(found.plan.dense(), expected, **EXACT)


def uncertainty(found: Solution) -> float:
    """How far in L1 the plan can be from the optimal one: by strong convexity (Pinsker), and by rounding."""
    return np.sqrt(2.0 * (found.value - found.lower_bound) / EPSILON) + 2.0 * found.marginal_error + 1e-12


def assert_same_plan(first: Solution, second: Solution) -> None:
    distance = np.abs(first.plan.dense() - second.plan.dense()).sum()
    assert distance <= uncertainty(first) + uncertainty(second)


@with_and_without_zeros
@pytest.mark.parametrize("problem", ["entropic", "factored"])
@pytest.mark.parametrize("engine", list(ENGINES)[1:])
def test_all_engines_reach_the_same_plan(problem: str, engine: str, zeros: bool) -> None:
    assert_same_plan(solution(f"{problem}-{engine}", zeros), solution(f"{problem}-held", zeros))


@with_and_without_zeros
@pytest.mark.parametrize("kind", ["given-start", "conditional-gradient"])
def test_factored_dense_and_mixed_plans_of_one_problem_agree(kind: str, zeros: bool) -> None:
    assert_same_plan(solution(kind, zeros), solution("factored-held", zeros))


@with_and_without_zeros
@every_form
@every_plan
def test_products_are_those_of_the_dense_array(kind: str, form: str, zeros: bool) -> None:
    plan = FORMS[form](solution(kind, zeros).plan)
    gamma = plan.dense()
    rng = np.random.default_rng(3)
    V, U = rng.normal(size=(M, 3)), rng.normal(size=(N, 4))
    np.testing.assert_allclose(plan @ V, gamma @ V, **EXACT)
    np.testing.assert_allclose(plan @ V[:, 0], gamma @ V[:, 0], **EXACT)
    np.testing.assert_allclose(plan @ V[:, :1], gamma @ V[:, :1], **EXACT)
    np.testing.assert_allclose(plan.T @ U, gamma.T @ U, **EXACT)
    np.testing.assert_allclose(plan.T @ U[:, 0], gamma.T @ U[:, 0], **EXACT)
    np.testing.assert_allclose(plan @ V[:, 0].tolist(), gamma @ V[:, 0], **EXACT)
    np.testing.assert_allclose(plan @ np.arange(M), gamma @ np.arange(M), **EXACT)


@with_and_without_zeros
@every_form
@every_plan
def test_marginals_are_the_sums_of_the_dense_array(kind: str, form: str, zeros: bool) -> None:
    plan = FORMS[form](solution(kind, zeros).plan)
    rows, columns = plan.marginals
    np.testing.assert_allclose(rows, plan.dense().sum(axis=1), **EXACT)
    np.testing.assert_allclose(columns, plan.dense().sum(axis=0), **EXACT)


@every_form
@every_plan
def test_rows_are_those_of_the_dense_array(kind: str, form: str) -> None:
    plan = FORMS[form](solution(kind).plan)
    gamma = plan.dense()
    for block in (slice(None), slice(4, 9), slice(-3, None), slice(None, None, 5), slice(20, 99), slice(7, 7)):
        np.testing.assert_allclose(plan.rows(block), gamma[block], **EXACT)


@every_plan
def test_the_transpose_is_the_transpose(kind: str) -> None:
    plan = solution(kind).plan
    assert plan.T.T is plan
    assert plan.T.shape == plan.shape[::-1] == plan.T.dense().shape
    np.testing.assert_array_equal(plan.T.dense(), plan.dense().T)


@every_form
@every_plan
def test_the_barycentric_map_is_the_mean_of_the_targets_under_each_row(kind: str, form: str) -> None:
    plan = FORMS[form](solution(kind).plan)
    gamma = plan.dense()
    expected = gamma @ Y / gamma.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(plan.barycentric_map(Y), expected, rtol=1e-11)
    np.testing.assert_allclose(plan.barycentric_map(Y[:, 0]), expected[:, 0], rtol=1e-11)
    np.testing.assert_allclose(plan.barycentric_map(np.ones(M)), np.ones(N), rtol=1e-13)


@every_plan
def test_what_a_plan_returns_can_be_overwritten_without_harm(kind: str) -> None:
    for plan in (solution(kind).plan, solution(kind).plan.round()):
        before = plan.dense()
        plan.dense()[:] = np.nan
        plan.rows(slice(None))[:] = np.nan
        plan.marginals[0][:] = np.nan
        plan.T.dense()[:] = np.nan
        (plan @ np.ones(M))[:] = np.nan
        np.testing.assert_array_equal(plan.dense(), before)


# Rounding ------------------------------------------------------------------------------------------------------


def altschuler(F: np.ndarray, r: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Algorithm 2 of Altschuler, Weed & Rigollet (2017), on an array."""
    sums = F.sum(axis=1)
    F = F * np.minimum(np.divide(r, sums, out=np.ones_like(r), where=sums > 0), 1.0)[:, None]
    sums = F.sum(axis=0)
    F = F * np.minimum(np.divide(c, sums, out=np.ones_like(c), where=sums > 0), 1.0)
    missing_rows, missing_columns = r - F.sum(axis=1), c - F.sum(axis=0)
    total = np.abs(missing_rows).sum()
    return F + np.outer(missing_rows, missing_columns) / total if total > 0 else F


ROUNDED: dict[str, Callable[[Plan], Plan]] = {name: FORMS[name] for name in ("solved", "unheld", "disturbed")}
ROUNDED["disturbed-unheld"] = lambda plan: disturbed(unheld(plan))


@with_and_without_zeros
@pytest.mark.parametrize("form", ROUNDED)
@every_plan
def test_rounding_gives_exact_marginals_without_negative_mass(kind: str, form: str, zeros: bool) -> None:
    rounded = ROUNDED[form](solution(kind, zeros).plan).round()
    a, b = (A0, B0) if zeros else (A, B)
    gamma = rounded.dense()
    assert gamma.min() >= 0.0
    assert np.abs(gamma.sum(axis=1) - a).sum() <= 1e-14
    assert np.abs(gamma.sum(axis=0) - b).sum() <= 1e-14
    rows, columns = rounded.marginals
    assert np.abs(rows - a).sum() <= 1e-14
    assert np.abs(columns - b).sum() <= 1e-14


@with_and_without_zeros
@pytest.mark.parametrize("form", ROUNDED)
@every_plan
def test_rounding_moves_at_most_twice_the_marginal_error(kind: str, form: str, zeros: bool) -> None:
    plan = ROUNDED[form](solution(kind, zeros).plan)
    a, b = (A0, B0) if zeros else (A, B)
    gamma = plan.dense()
    error = np.abs(gamma.sum(axis=1) - a).sum() + np.abs(gamma.sum(axis=0) - b).sum()
    assert np.abs(plan.round().dense() - gamma).sum() <= 2.0 * error + 1e-14
    if form.startswith("disturbed"):
        assert error > 0.1


@with_and_without_zeros
@pytest.mark.parametrize("form", ROUNDED)
@every_plan
def test_rounding_is_algorithm_2_of_altschuler_weed_and_rigollet(kind: str, form: str, zeros: bool) -> None:
    plan = ROUNDED[form](solution(kind, zeros).plan)
    a, b = (A0, B0) if zeros else (A, B)
    np.testing.assert_allclose(plan.round().dense(), altschuler(plan.dense(), a, b), rtol=1e-7, atol=1e-15)


@with_and_without_zeros
@pytest.mark.parametrize("form", ROUNDED)
@every_plan
def test_rounding_twice_is_rounding_once(kind: str, form: str, zeros: bool) -> None:
    once = ROUNDED[form](solution(kind, zeros).plan).round()
    np.testing.assert_allclose(once.round().dense(), once.dense(), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("factor", [0.5, 2.0], ids=["too-little", "too-much"])
@pytest.mark.parametrize("kind", ["dense", "factored-held", "factored-small-blocks", "conditional-gradient"])
def test_rounding_mends_a_plan_of_the_wrong_mass(kind: str, factor: float) -> None:
    plan = solution(kind).plan
    values = None if plan.values is None else factor * plan.values
    rounded = replace(plan, f=plan.f + np.log(factor), values=values).round()
    assert np.abs(rounded.dense().sum(axis=1) - A).sum() <= 1e-14
    assert np.abs(rounded.dense().sum(axis=0) - B).sum() <= 1e-14
    kept = min(factor, 1.0)
    np.testing.assert_allclose(rounded.dense(), kept * plan.dense() + (1.0 - kept) * np.outer(A, B), atol=1e-5)


@pytest.mark.parametrize("kind", ["entropic-held", "entropic-swept"])
def test_rounding_gives_mass_to_rows_that_have_lost_all_of_theirs(kind: str) -> None:
    plan = solution(kind).plan
    f, values = plan.f.copy(), plan.values
    f[4] = -np.inf
    if values is not None:
        values = values.copy()
        values[4] = 0.0
    rounded = replace(plan, f=f, values=values).round()
    assert np.abs(rounded.dense().sum(axis=1) - A).sum() <= 1e-14
    assert np.abs(rounded.dense().sum(axis=0) - B).sum() <= 1e-14
    np.testing.assert_allclose(rounded.barycentric_map(Y)[4], rounded.dense()[4] @ Y / A[4], rtol=1e-12)


@pytest.mark.parametrize("mass", [1e-200, 1e-6, 1e6, 1e200])
@pytest.mark.parametrize("engine", ["held", "small-blocks"])
def test_rounding_is_exact_relative_to_any_mass(engine: str, mass: float) -> None:
    found = sinkhorn(points(), mass * A, mass * B, epsilon=EPSILON, tol=TOL, engine=ENGINES[engine])
    gamma = found.plan.round().dense() / mass
    assert gamma.min() >= 0.0
    assert np.abs(gamma.sum(axis=1) - A).sum() <= 1e-14
    assert np.abs(gamma.sum(axis=0) - B).sum() <= 1e-14
    np.testing.assert_allclose(gamma, solution(f"entropic-{engine}").plan.dense(), atol=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_rounding_is_exact_however_small_epsilon_is(epsilon: float) -> None:
    plan = sinkhorn(points(), A, B, epsilon=epsilon, tol=1e-4).plan
    for form in ROUNDED.values():
        gamma = form(plan).round().dense()
        assert gamma.min() >= 0.0
        assert np.abs(gamma.sum(axis=1) - A).sum() <= 1e-14
        assert np.abs(gamma.sum(axis=0) - B).sum() <= 1e-14


# Zero masses ---------------------------------------------------------------------------------------------------


@every_form
@every_plan
def test_zero_masses_give_exactly_zero_rows_and_columns(kind: str, form: str) -> None:
    plan = FORMS[form](solution(kind, zeros=True).plan)
    gamma, (rows, columns) = plan.dense(), plan.marginals
    assert not np.isnan(gamma).any()
    assert not gamma[ZEROS_A].any()
    assert not gamma[:, ZEROS_B].any()
    assert not rows[ZEROS_A].any()
    assert not columns[ZEROS_B].any()
    assert not (plan @ Y)[ZEROS_A].any()
    assert not (plan.T @ X)[ZEROS_B].any()
    assert not plan.rows(slice(3, 4)).any()


@every_plan
def test_zero_masses_leave_nothing_undefined(kind: str) -> None:
    found = solution(kind, zeros=True)
    assert found.converged
    assert np.isfinite([found.value, found.lower_bound, found.gap, found.marginal_error]).all()
    for potential in found.potentials:
        assert not np.isnan(potential).any()
    for column in ("objective", "gap", "marginal_error"):
        assert np.isfinite(getattr(found.trace, column)).all()


@every_plan
def test_potentials_are_minus_infinity_exactly_where_there_is_no_mass(kind: str) -> None:
    f, g = solution(kind, zeros=True).potentials
    np.testing.assert_array_equal(np.isneginf(f), A0 == 0)
    np.testing.assert_array_equal(np.isneginf(g), B0 == 0)
    f, g = solution(kind).potentials
    assert np.isfinite(f).all()
    assert np.isfinite(g).all()


@pytest.mark.parametrize("kind", ["frank-wolfe", *(f"entropic-{name}" for name in ENGINES)])
def test_zero_masses_are_as_good_as_absent_points(kind: str) -> None:
    rows, columns = np.flatnonzero(A0), np.flatnonzero(B0)
    reduced = SOLVES[kind](PointCloudCost(X[rows], Y[columns], "sqeuclidean"), A0[rows], B0[columns])
    found = solution(kind, zeros=True)
    assert found.value == pytest.approx(reduced.value, abs=1e-7)
    np.testing.assert_allclose(found.plan.dense()[np.ix_(rows, columns)], reduced.plan.dense(), atol=1e-7)


@every_form
@every_plan
def test_a_row_without_mass_still_has_an_image_among_the_targets_with_mass(kind: str, form: str) -> None:
    away = Y + 10.0  # from zero, which is nobody's image
    images = FORMS[form](solution(kind, zeros=True).plan).barycentric_map(away)
    assert np.isfinite(images).all()
    targets = away[B0 > 0]
    assert (images >= targets.min(axis=0) - 1e-12).all()
    assert (images <= targets.max(axis=0) + 1e-12).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_without_mass_is_sent_where_its_conditional_distribution_sends_it(engine: str) -> None:
    plan = solution(f"entropic-{engine}", zeros=True).plan
    conditional = np.exp(plan.g - cdist(X[ZEROS_A], Y, "sqeuclidean") / EPSILON)
    expected = conditional @ Y / conditional.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(plan.barycentric_map(Y)[ZEROS_A], expected, rtol=1e-11)


# Precision -----------------------------------------------------------------------------------------------------


@with_and_without_zeros
@every_plan
def test_float32_in_is_float32_out_everywhere(kind: str, zeros: bool) -> None:
    single, double = solution(kind, zeros, single=True), solution(kind, zeros)
    assert single.converged
    assert single.value == pytest.approx(double.value, abs=1e-5)
    for f, g in zip(single.potentials, double.potentials, strict=True):
        assert (f.dtype, g.dtype) == (np.float32, np.float64)
    for first, second in ((single.plan, double.plan), (single.plan.round(), double.plan.round())):
        for compute in (
            lambda plan: plan @ Y,
            lambda plan: plan @ np.ones(M),
            lambda plan: plan.T @ X,
            lambda plan: plan.T @ np.ones(N, dtype=np.float32),
            lambda plan: plan.marginals[0],
            lambda plan: plan.marginals[1],
            lambda plan: plan.rows(slice(2, 5)),
            Plan.dense,
            lambda plan: plan.T.dense(),
        ):
            f, g = compute(first), compute(second)
            assert (f.dtype, g.dtype) == (np.float32, np.float64)
            np.testing.assert_allclose(f, g, atol=1e-5)
        assert first.barycentric_map(Y).dtype == np.float32
        assert second.barycentric_map(Y).dtype == np.float64


@pytest.mark.parametrize("engine", ENGINES)
def test_the_maps_and_potentials_of_float32_are_those_of_float64(engine: str) -> None:
    single, double = solution(f"factored-{engine}", single=True), solution(f"factored-{engine}")
    np.testing.assert_allclose(single.plan.barycentric_map(Y), double.plan.barycentric_map(Y), atol=1e-4)
    f, g = (p - q for p, q in zip(single.potentials, double.potentials, strict=True))
    np.testing.assert_allclose(f - f.mean(), 0.0, atol=1e-4)
    np.testing.assert_allclose(g - g.mean(), 0.0, atol=1e-4)


@pytest.mark.parametrize(
    ("cost", "dtype"),
    [
        pytest.param(np.arange(12).reshape(4, 3) % 5, np.float64, id="int64"),
        pytest.param((np.arange(12).reshape(4, 3) % 5).astype(np.uint8), np.float64, id="uint8"),
        pytest.param(np.arange(12).reshape(4, 3) % 2 == 0, np.float64, id="bool"),
        pytest.param((np.arange(12).reshape(4, 3) % 5).astype(np.float16), np.float64, id="float16"),
        pytest.param((np.arange(12).reshape(4, 3) % 5).tolist(), np.float64, id="list"),
        pytest.param((np.arange(12).reshape(4, 3) % 5).astype(np.float32), np.float32, id="float32"),
    ],
)
def test_every_cost_that_is_not_float32_gives_float64(cost: Any, dtype: Any) -> None:
    found = sinkhorn(cost, epsilon=0.5, tol=TOL)
    reference = sinkhorn(np.asarray(cost, dtype=np.float64), epsilon=0.5, tol=TOL)
    assert found.plan.dense().dtype == found.potentials[0].dtype == found.plan.marginals[0].dtype == dtype
    np.testing.assert_allclose(found.plan.dense(), reference.plan.dense(), rtol=1e-12 if dtype == np.float64 else 1e-6)


def test_integer_points_give_float64() -> None:
    integers = np.arange(6).reshape(3, 2)
    found, reference = (
        sinkhorn(PointCloudCost(x, x[::-1]), epsilon=0.5) for x in (integers, integers.astype(np.float64))
    )
    assert found.plan.dense().dtype == np.float64
    np.testing.assert_array_equal(found.plan.dense(), reference.plan.dense())


def test_weights_do_not_decide_the_precision() -> None:
    weights = np.full(N, 1 / N, dtype=np.float32), np.full(M, 1 / M, dtype=np.float32)
    assert sinkhorn(points(), *weights, epsilon=EPSILON).plan.dense().dtype == np.float64
    assert sinkhorn(points(np.float32), A, B, epsilon=EPSILON).plan.dense().dtype == np.float32


# Repetition ----------------------------------------------------------------------------------------------------


@with_and_without_zeros
@every_plan
def test_a_solve_repeated_gives_the_same_bits(kind: str, zeros: bool) -> None:
    a, b = (A0, B0) if zeros else (A, B)
    first, second = solution(kind, zeros), SOLVES[kind](points(), a, b)
    assert (first.value, first.lower_bound, first.gap, first.n_iter) == (
        second.value,
        second.lower_bound,
        second.gap,
        second.n_iter,
    )
    for p, q in zip(first.potentials, second.potentials, strict=True):
        assert p.tobytes() == q.tobytes()
    assert first.plan.dense().tobytes() == second.plan.dense().tobytes()
    assert first.plan.round().dense().tobytes() == second.plan.round().dense().tobytes()


@every_form
@every_plan
def test_an_operation_repeated_gives_the_same_bits(kind: str, form: str) -> None:
    plan = FORMS[form](solution(kind).plan)
    for compute in (
        lambda: plan @ Y,
        lambda: plan.T @ X,
        lambda: plan.marginals[0],
        lambda: plan.marginals[1],
        lambda: plan.barycentric_map(Y),
        lambda: plan.dense(),
        lambda: plan.round().dense(),
    ):
        first = compute().tobytes()
        assert all(compute().tobytes() == first for _ in range(3))


# Many rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["held", "swept"])
def test_thousands_of_rows_are_assembled_in_order(engine: str) -> None:
    source, target = np.random.default_rng(4).normal(size=(9000, 1)), np.array([[-1.0], [1.0]])
    plan = sinkhorn(PointCloudCost(source, target), epsilon=EPSILON, engine=ENGINES[engine]).plan
    expected = np.exp(plan.f[:, None] + plan.g - cdist(source, target) / EPSILON)
    np.testing.assert_allclose(plan.dense(), expected, rtol=1e-12)
    np.testing.assert_allclose(plan.rows(slice(4000, 4200)), expected[4000:4200], rtol=1e-12)
    assert np.abs(plan.round().dense().sum(axis=1) - 1 / 9000).sum() <= 1e-13


# Costs in blocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric",
    ["euclidean", "sqeuclidean", "cityblock", "cosine", "chebyshev", "canberra", "seuclidean", "mahalanobis"],
)
def test_a_plan_does_not_depend_on_how_its_cost_is_cut_into_blocks(metric: str) -> None:
    cost, expected = points(metric=metric), cdist(X, Y, metric)
    blocks = np.vstack([cost.rows(slice(low, low + 5)) for low in range(0, N, 5)])
    np.testing.assert_allclose(blocks, expected, rtol=1e-12, atol=1e-14)
    held, swept = (
        sinkhorn(points(metric=metric), A, B, epsilon=EPSILON, tol=TOL, engine=ENGINES[name]).plan.dense()
        for name in ("held", "two-workers")
    )
    np.testing.assert_allclose(swept, held, atol=1e-7)


def test_the_step_of_the_paper_reaches_the_plan_of_the_automatic_one() -> None:
    problem = Problem(points(), A, B, epsilon=EPSILON, regularizer=smooth())
    assert_same_plan(solve(problem, ForwardBackward(step=0.05), tol=TOL), solution("factored-held"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rounding_a_held_array_is_exact_whatever_its_order(order: Any) -> None:
    rng = np.random.default_rng(0)
    values, f, g = np.asarray(rng.random((7, 5)) / 35.0, order=order), np.zeros(7), np.zeros(5)
    plan = Plan(
        LogOf(values), f, g, np.full(7, 1 / 7), np.full(5, 1 / 5), Threads(), np.dtype(np.float64), None, values
    )
    before = values.copy()
    rounded = plan.round().dense()
    np.testing.assert_allclose(rounded.sum(axis=1), plan.a, rtol=1e-13)
    np.testing.assert_allclose(rounded.sum(axis=0), plan.b, rtol=1e-13)
    np.testing.assert_array_equal(values, before)
