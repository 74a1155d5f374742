"""Arrays that are not finite, not of the right shape or no masses are refused by an error that names them."""

from typing import Any

import numpy as np
import pytest
from small_inputs import (
    COST,
    PLANS,
    PREVIOUS,
    PROBLEM,
    REFUSED,
    SIMILARITY,
    SOLUTION,
    A,
    B,
    Call,
    M,
    N,
    X,
    Y,
    regularized,
    with_entry,
)

from driftway import (
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    TimeSmoothness,
    WassersteinTime,
    sinkhorn,
    solve,
)

# argument → (its name in messages, an array that would be good, what receives it)
ARRAYS: dict[str, tuple[str, np.ndarray, Call]] = {
    "Problem-cost": ("cost", COST, lambda v: Problem(v, epsilon=0.1)),
    "Problem-a": ("a", A, lambda v: Problem(COST, v, epsilon=0.1)),
    "Problem-b": ("b", B, lambda v: Problem(COST, None, v, epsilon=0.1)),
    "sinkhorn-cost": ("cost", COST, lambda v: sinkhorn(v, epsilon=0.1)),
    "sinkhorn-a": ("a", A, lambda v: sinkhorn(COST, v, epsilon=0.1)),
    "sinkhorn-b": ("b", B, lambda v: sinkhorn(COST, None, v, epsilon=0.1)),
    "PointCloudCost-X": ("X", X, lambda v: PointCloudCost(v, Y)),
    "PointCloudCost-Y": ("Y", Y, lambda v: PointCloudCost(X, v)),
    "TimeSmoothness-Y": ("Y", Y, lambda v: TimeSmoothness(v, PREVIOUS)),
    "TimeSmoothness-previous": ("previous", PREVIOUS, lambda v: TimeSmoothness(Y, v)),
    "TimeSmoothness-a": ("a", A, lambda v: TimeSmoothness(Y, PREVIOUS, a=v)),
    "Laplacian-similarity": ("similarity", SIMILARITY, lambda v: Laplacian(v, Y)),
    "Laplacian-points": ("points", Y, lambda v: Laplacian(SIMILARITY, v)),
    "Laplacian-reference": ("reference", X, lambda v: Laplacian(SIMILARITY, Y, reference=v)),
    "Laplacian-masses": ("masses", A, lambda v: Laplacian(SIMILARITY, Y, masses=v)),
    "WassersteinTime-Y": ("Y", Y, lambda v: WassersteinTime(v, PREVIOUS)),
    "WassersteinTime-previous": ("previous", PREVIOUS, lambda v: WassersteinTime(Y, v)),
    "WassersteinTime-a": ("a", A, lambda v: WassersteinTime(Y, PREVIOUS, a=v)),
    "WassersteinTime-previous_masses": (
        "previous_masses",
        A,
        lambda v: WassersteinTime(Y, PREVIOUS, previous_masses=v),
    ),
    "init-plan": ("init", np.ones((N, M)), lambda v: solve(PROBLEM, ForwardBackward(), init=v)),
    "init-f": (r"init\[0\]", np.zeros(N), lambda v: solve(PROBLEM, init=(v, np.zeros(M)))),
    "init-g": (r"init\[1\]", np.zeros(M), lambda v: solve(PROBLEM, init=(np.zeros(N), v))),
    "sinkhorn-init-f": (r"init\[0\]", np.zeros(N), lambda v: sinkhorn(COST, epsilon=0.1, init=(v, np.zeros(M)))),
    "plan-product": ("the right operand", Y, lambda v: PLANS["held"] @ v),
    "plan-vector-product": ("the right operand", np.ones(M), lambda v: PLANS["swept"] @ v),
    "transposed-product": ("the right operand", X, lambda v: PLANS["held"].T @ v),
    "barycentric_map-Y": ("Y", Y, lambda v: PLANS["held"].barycentric_map(v)),
}
# fault → (how an array gets it, the error, what the message says of it)
FAULTS: dict[str, tuple[Call, type[Exception], str]] = {
    "nan": (lambda v: with_entry(v, np.nan), ValueError, "must be finite.*NaN"),
    "inf": (lambda v: with_entry(v, np.inf), ValueError, "must be finite.*infinity"),
    "float32-nan": (lambda v: with_entry(v.astype(np.float32), np.float32("nan")), ValueError, "must be finite.*NaN"),
    "complex": (lambda v: with_entry(v, 1j), TypeError, "must hold real numbers, got dtype complex128"),
    "strings": (lambda v: v.astype(str), TypeError, "must hold real numbers, got dtype <U"),
    "string": (lambda v: "one", TypeError, "must hold real numbers, got dtype <U"),
    "dates": (lambda v: np.zeros(v.shape, "datetime64[s]"), TypeError, "must hold real numbers, got dtype datetime64"),
    "ragged": (lambda v: [[1.0], [1.0, 2.0]], ValueError, "must be an array of numbers"),
    "none-inside": (lambda v: [None] * len(v), TypeError, "must hold real numbers, got dtype object"),
    "dict": (lambda v: {"values": v}, TypeError, "must hold real numbers, got dtype object"),
    "empty": (lambda v: np.empty((0, *v.shape[1:])), ValueError, r"must not be empty, got shape \(0,"),
    "scalar": (lambda v: 1.0, ValueError, r"must have \d dimensions?, got shape \(\)"),
    "3-d": (lambda v: np.ones((2, 2, 2)), ValueError, r"must have \d dimensions?, got shape \(2, 2, 2\)"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "value", "error", "match"),
    [
        pytest.param(call, spoil(good), error, f"^{name} {complaint}", id=f"{argument}-{fault}")
        for argument, (name, good, call) in ARRAYS.items()
        for fault, (spoil, error, complaint) in FAULTS.items()
    ],
)
def test_every_array_argument_refuses_what_is_not_a_finite_array_of_its_dimension(
    call: Call, value: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        call(value)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: Problem(None, epsilon=0.1), "^cost must hold real numbers", id="cost"),
        pytest.param(lambda: PointCloudCost(None, Y), "^X must hold real numbers", id="X"),
        pytest.param(lambda: PointCloudCost(X, None), "^Y must hold real numbers", id="Y"),
        pytest.param(lambda: TimeSmoothness(None, PREVIOUS), "^Y must hold real numbers", id="TimeSmoothness-Y"),
        pytest.param(lambda: TimeSmoothness(Y, None), "^previous must hold real numbers", id="TimeSmoothness-previous"),
        pytest.param(lambda: Laplacian(None, Y), "^similarity must hold real numbers", id="similarity"),
        pytest.param(lambda: Laplacian(SIMILARITY, None), "^points must hold real numbers", id="points"),
        pytest.param(lambda: WassersteinTime(None, PREVIOUS), "^Y must hold real numbers", id="WassersteinTime-Y"),
        pytest.param(lambda: WassersteinTime(Y, None), "^previous must hold real numbers", id="WassersteinTime-prev"),
        pytest.param(lambda: GroupLasso(None), r"^labels must be a non-empty vector, got shape \(\)", id="labels"),
        pytest.param(lambda: Custom(None), "^value must be callable, got NoneType", id="Custom-value"),
        pytest.param(lambda: solve(PROBLEM, init=(None, None)), r"^init\[0\] must", id="init-pair"),
        pytest.param(lambda: PLANS["held"] @ None, "^the right operand must hold real numbers", id="product"),
        pytest.param(lambda: PLANS["held"].barycentric_map(None), "^Y must hold real numbers", id="barycentric_map"),
    ],
)
def test_none_is_refused_where_it_has_no_meaning(call: Call, match: str) -> None:
    with pytest.raises(REFUSED, match=match):
        call()


MASSES: dict[str, tuple[str, Call]] = {
    "Problem-a": ("a", lambda v: Problem(COST, v, epsilon=0.1)),
    "Problem-b": ("b", lambda v: Problem(COST.T, None, v, epsilon=0.1)),
    "sinkhorn-a": ("a", lambda v: sinkhorn(COST, v, epsilon=0.1)),
    "TimeSmoothness-a": ("a", lambda v: TimeSmoothness(Y, PREVIOUS, a=v)),
    "Laplacian-masses": ("masses", lambda v: Laplacian(SIMILARITY, Y, masses=v)),
    "WassersteinTime-a": ("a", lambda v: WassersteinTime(Y, PREVIOUS, a=v)),
    "WassersteinTime-previous_masses": ("previous_masses", lambda v: WassersteinTime(Y, PREVIOUS, previous_masses=v)),
}
BAD_MASSES = {
    "negative": (np.array([0.5, 0.5, 0.5, -0.5, 0.0, 0.0]), r"must be non-negative.*-0\.5"),
    "zero-sum": (np.zeros(N), "must have a positive sum.*0"),
    "overflowing-sum": (np.full(N, 1e308), "must"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "value", "match"),
    [
        pytest.param(call, value, f"^{name} {complaint}", id=f"{argument}-{fault}")
        for argument, (name, call) in MASSES.items()
        for fault, (value, complaint) in BAD_MASSES.items()
    ],
)
def test_masses_must_be_non_negative_with_a_positive_finite_total(call: Call, value: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call(value)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    "call", [lambda a, b: Problem(COST, a, b, epsilon=0.1), lambda a, b: sinkhorn(COST, a, b, epsilon=0.1)]
)
@pytest.mark.parametrize("factor", [2.0, 1.001, 1e-3])
def test_a_and_b_must_have_the_same_mass(call: Call, factor: float) -> None:
    with pytest.raises(ValueError, match=f"^a and b must have the same total mass, got 1 and {factor:g}; rescale one$"):
        call(A, factor * B)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: Problem(COST, B, epsilon=0.1), r"^a must have shape \(6,\), got \(5,\)", id="a"),
        pytest.param(lambda: Problem(COST, None, A, epsilon=0.1), r"^b must have shape \(5,\), got \(6,\)", id="b"),
        pytest.param(
            lambda: PointCloudCost(X, np.ones((M, 3))),
            "^X and Y must have the same number of features, got 2 and 3",
            id="features",
        ),
        pytest.param(lambda: regularized(GroupLasso([0, 1])), r"^labels .* \(6\), got 2", id="labels-short"),
        pytest.param(lambda: GroupLasso([[0, 1], [0, 1]]), r"^labels .* got shape \(2, 2\)", id="labels-matrix"),
        pytest.param(lambda: GroupLasso([]), r"^labels must be a non-empty vector, got shape \(0,\)", id="labels-none"),
        pytest.param(lambda: GroupLasso([[0], [1, 2]]), "^labels must", id="labels-ragged"),
        pytest.param(
            lambda: TimeSmoothness(Y, np.ones((N, 3))),
            r"^previous must have shape \(any, 2\), got \(6, 3\)",
            id="TimeSmoothness-features",
        ),
        pytest.param(
            lambda: regularized(TimeSmoothness(Y, PREVIOUS[:4])),
            r"^previous must have one row per row of the cost \(6\), got 4",
            id="TimeSmoothness-previous",
        ),
        pytest.param(
            lambda: regularized(TimeSmoothness(Y[:3], PREVIOUS)),
            r"^Y must have one row per column of the cost \(5\), got 3",
            id="TimeSmoothness-Y",
        ),
        pytest.param(
            lambda: TimeSmoothness(Y, PREVIOUS, a=B), r"^a must have shape \(6,\), got \(5,\)", id="TimeSmoothness-a"
        ),
        pytest.param(
            lambda: Laplacian(np.ones((N, 3)), Y), r"^similarity must be square, got shape \(6, 3\)", id="not-square"
        ),
        pytest.param(
            lambda: regularized(Laplacian(np.ones((3, 3)), Y)),
            r"^similarity must be of shape \(6, 6\) .*source.* got \(3, 3\)",
            id="Laplacian-source",
        ),
        pytest.param(
            lambda: regularized(Laplacian(SIMILARITY, X, side="target")),
            r"^similarity must be of shape \(5, 5\) .*target.* got \(6, 6\)",
            id="Laplacian-target",
        ),
        pytest.param(
            lambda: regularized(Laplacian(SIMILARITY, X)), "^points must have 5 rows.*got 6", id="Laplacian-points"
        ),
        pytest.param(
            lambda: Laplacian(SIMILARITY, Y, reference=Y),
            r"^reference must have shape \(6, 2\), got \(5, 2\)",
            id="Laplacian-reference",
        ),
        pytest.param(
            lambda: Laplacian(SIMILARITY, Y, masses=B), r"^masses must have shape \(6,\), got \(5,\)", id="masses"
        ),
        pytest.param(
            lambda: WassersteinTime(Y, np.ones((N, 3))),
            r"^previous must have shape \(any, 2\), got \(6, 3\)",
            id="WassersteinTime-features",
        ),
        pytest.param(
            lambda: WassersteinTime(Y, PREVIOUS, previous_masses=B),
            r"^previous_masses must have shape \(6,\), got \(5,\)",
            id="WassersteinTime-previous_masses",
        ),
        pytest.param(
            lambda: regularized(WassersteinTime(Y, PREVIOUS, a=B)),
            r"^a must have one row per row of the cost \(6\), got 5",
            id="WassersteinTime-a",
        ),
        pytest.param(
            lambda: regularized(WassersteinTime(X, PREVIOUS)),
            r"^Y must have one row per column of the cost \(5\), got 6",
            id="WassersteinTime-Y",
        ),
        pytest.param(
            lambda: regularized(GroupLasso([0, 1]) + TimeSmoothness(Y, PREVIOUS)), "^labels .* got 2", id="sum"
        ),
        pytest.param(lambda: regularized(2.0 * TimeSmoothness(Y, X[:3])), "^previous .* got 3", id="multiple"),
        pytest.param(
            lambda: solve(PROBLEM, ForwardBackward(), init=np.ones((M, N))),
            r"^init must have shape \(6, 5\), got \(5, 6\)",
            id="init-array",
        ),
        pytest.param(
            lambda: solve(Problem(COST.T, epsilon=0.1), ForwardBackward(), init=SOLUTION.plan),
            r"^init must have shape \(5, 6\), got \(6, 5\)",
            id="init-plan",
        ),
        pytest.param(
            lambda: solve(Problem(COST.T, epsilon=0.1), init=SOLUTION),
            r"^init must be of the problem's shape \(5, 6\), got .* \(6, 5\)",
            id="init-solution",
        ),
        pytest.param(
            lambda: solve(PROBLEM, init=(np.zeros(M), np.zeros(N))),
            r"^init\[0\] must have shape \(6,\), got \(5,\)",
            id="init-swapped",
        ),
        pytest.param(
            lambda: solve(PROBLEM, init=(np.zeros(N), np.zeros(N))),
            r"^init\[1\] must have shape \(5,\), got \(6,\)",
            id="init-g",
        ),
        pytest.param(
            lambda: solve(PROBLEM, init=(np.zeros(N),)), r"^init must be a pair .* tuple of length 1", id="init-single"
        ),
        pytest.param(
            lambda: solve(PROBLEM, init=(np.zeros(N),) * 3),
            r"^init must be a pair .* tuple of length 3",
            id="init-triple",
        ),
        pytest.param(
            lambda: PLANS["held"] @ np.ones(N), r"^the right operand must have 5 rows.*got shape \(6,\)", id="product"
        ),
        pytest.param(
            lambda: PLANS["swept"].T @ np.ones((M, 2)),
            r"^the right operand must have 6 rows.*got shape \(5, 2\)",
            id="transposed-product",
        ),
        pytest.param(
            lambda: PLANS["held"].barycentric_map(X), r"^Y must have 5 rows.*got shape \(6, 2\)", id="barycentric_map"
        ),
    ],
)
def test_arrays_that_do_not_fit_together_are_named_with_both_shapes(call: Call, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()
