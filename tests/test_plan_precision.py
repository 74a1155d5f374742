"""float32 in is float32 out, and what is repeated gives the same bits."""

from typing import Any

import numpy as np
import pytest
from plans import (
    A0,
    B0,
    ENGINES,
    EPSILON,
    FORMS,
    SOLVES,
    TOL,
    A,
    B,
    M,
    N,
    X,
    Y,
    every_form,
    every_plan,
    points,
    solution,
    with_and_without_zeros,
)

from driftway import Plan, PointCloudCost, sinkhorn


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
