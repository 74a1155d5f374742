"""Rounding a plan onto its marginals is Algorithm 2 of Altschuler, Weed and Rigollet, however the plan is held."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plans import (
    A0,
    B0,
    ENGINES,
    EPSILON,
    FORMS,
    TOL,
    A,
    B,
    Y,
    disturbed,
    every_plan,
    points,
    solution,
    unheld,
    with_and_without_zeros,
)

from driftway import Plan, sinkhorn
from driftway.engines import Threads
from driftway.geometry.dense import LogOf


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
