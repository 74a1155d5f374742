"""The plan is one operator, however it is held: every way to use it agrees with its dense array."""

import numpy as np
import pytest
from plans import (
    ENGINES,
    EPSILON,
    EXACT,
    FORMS,
    TOL,
    A,
    B,
    M,
    N,
    X,
    Y,
    assert_same_plan,
    every_form,
    every_plan,
    points,
    smooth,
    solution,
    with_and_without_zeros,
)
from scipy.spatial.distance import cdist

from driftway import ForwardBackward, PointCloudCost, Problem, sinkhorn, solve
from driftway.geometry.dense import Dense, LogOf
from driftway.geometry.matrices import Factored


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


@pytest.mark.parametrize("engine", ["held", "swept"])
def test_thousands_of_rows_are_assembled_in_order(engine: str) -> None:
    source, target = np.random.default_rng(4).normal(size=(9000, 1)), np.array([[-1.0], [1.0]])
    plan = sinkhorn(PointCloudCost(source, target), epsilon=EPSILON, engine=ENGINES[engine]).plan
    expected = np.exp(plan.f[:, None] + plan.g - cdist(source, target) / EPSILON)
    np.testing.assert_allclose(plan.dense(), expected, rtol=1e-12)
    np.testing.assert_allclose(plan.rows(slice(4000, 4200)), expected[4000:4200], rtol=1e-12)
    assert np.abs(plan.round().dense().sum(axis=1) - 1 / 9000).sum() <= 1e-13


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
