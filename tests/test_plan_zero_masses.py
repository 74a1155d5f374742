"""Points without mass: their rows and columns are zero, and nothing else changes."""

import numpy as np
import pytest
from plans import A0, B0, ENGINES, EPSILON, FORMS, SOLVES, ZEROS_A, ZEROS_B, X, Y, every_form, every_plan, solution
from scipy.spatial.distance import cdist

from driftway import PointCloudCost


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
