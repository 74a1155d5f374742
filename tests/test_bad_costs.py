"""Metrics that return no costs, and costs that overflow, are refused before a plan is reported."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_inputs import COST, PREVIOUS, REFUSED, SIMILARITY, SOLVERS, Call, D, M, N, X, Y, regularized

from driftway import Laplacian, PointCloudCost, Problem, TimeSmoothness, WassersteinTime, sinkhorn, solve


def _metric(result: Callable[[int], Any]) -> Call:
    return lambda rows, _: result(len(rows))


BAD_METRICS = {
    "transposed": (_metric(lambda k: np.ones((M, k))), r"^metric must return costs of shape .* got \(5, "),
    "vector": (_metric(np.ones), r"^metric must return costs of shape \(\d, 5\) .* got \(\d,\)"),
    "scalar": (_metric(lambda k: 1.0), r"^metric must return costs of shape .* got \(\)"),
    "nan": (_metric(lambda k: np.full((k, M), np.nan)), "^metric must return finite costs.*NaN"),
    "inf": (_metric(lambda k: np.full((k, M), np.inf)), "^metric must return finite costs.*infinity"),
    "none": (_metric(lambda k: None), "^metric must return"),
    "strings": (_metric(lambda k: np.full((k, M), "far")), "^metric must return"),
    "complex": (_metric(lambda k: np.full((k, M), 1j)), "^metric must return"),
    "ragged": (_metric(lambda k: [[1.0], [1.0, 2.0]]), "^metric must return"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fault", BAD_METRICS)
def test_a_metric_that_returns_no_costs_is_refused_by_every_solver(fault: str, solver: str) -> None:
    metric, match = BAD_METRICS[fault]
    with pytest.raises(REFUSED, match=match):
        solve(Problem(PointCloudCost(X, Y, metric), epsilon=0.1), SOLVERS[solver])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("row", range(N))
def test_a_metric_that_fails_on_a_single_row_is_refused_before_a_plan_is_reported(solver: str, row: int) -> None:
    def metric(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        cost = np.abs(rows[:, :1] - columns[:, 0])
        cost[rows[:, 0] == X[row, 0]] = np.nan
        return cost

    with pytest.raises(ValueError, match=r"^metric must return finite costs"):
        solve(
            Problem(PointCloudCost(X, Y, metric), epsilon=0.1),
            SOLVERS[solver],
            callback=lambda *_: pytest.fail("an iteration was reported"),
        )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("metric", ["cosine", "braycurtis", "correlation"])
def test_a_metric_of_scipy_that_is_undefined_for_the_points_is_refused(metric: str, solver: str) -> None:
    source, target = X.copy(), Y.copy()
    source[3] = target[2] = 0.0
    with pytest.raises(ValueError, match=r"metric|cost"):
        solve(
            Problem(PointCloudCost(source, target, metric), epsilon=0.1),
            SOLVERS[solver],
            max_iter=1,
            callback=lambda *_: pytest.fail("an iteration was reported"),
        )


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock"])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param(1e200 * X, Y, id="squares-of-X"),
        pytest.param(X, 1e200 * Y, id="squares-of-Y"),
        pytest.param(np.full((N, D), 1e308), np.full((M, D), 1e308), id="mean-of-Y"),
        pytest.param(np.full((N, D), -1e308), np.full((1, D), 1e308), id="difference"),
    ],
)
def test_points_whose_squared_distances_overflow_are_refused(source: Any, target: Any, metric: str) -> None:
    with pytest.raises(ValueError, match=r"^X and Y must be small enough"):
        PointCloudCost(source, target, metric)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: sinkhorn(1e300 * COST, epsilon=1e-10), "cost|epsilon", id="cost-over-epsilon"),
        pytest.param(lambda: sinkhorn(COST, epsilon=1e-320), "cost|epsilon", id="inverse-of-epsilon"),
        pytest.param(lambda: sinkhorn([[-1e308, 1e308], [1e308, -1e308]], epsilon=1e308), "cost", id="range-of-cost"),
        pytest.param(lambda: regularized(TimeSmoothness(1e200 * Y, PREVIOUS)), "Y|value", id="TimeSmoothness-Y"),
        pytest.param(lambda: regularized(TimeSmoothness(Y, 1e200 * PREVIOUS)), "previous|value", id="previous"),
        pytest.param(lambda: regularized(Laplacian(SIMILARITY, 1e200 * Y)), "points|value", id="Laplacian-points"),
        pytest.param(lambda: regularized(WassersteinTime(1e200 * Y, PREVIOUS)), "Y|value", id="WassersteinTime-Y"),
        pytest.param(lambda: WassersteinTime(Y, 1e200 * PREVIOUS), "previous|blur", id="WassersteinTime-previous"),
    ],
)
def test_numbers_whose_products_overflow_are_refused(call: Call, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()


def test_masked_entries_of_a_cost_are_not_taken_for_costs() -> None:
    masked = np.ma.masked_greater(COST, 0.5)
    with pytest.raises(REFUSED, match=r"^cost must"):
        Problem(masked, epsilon=0.1)
