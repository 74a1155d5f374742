"""Bad input is refused before the first iteration, by an error that names the argument, the wish and the fault."""

import contextlib
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from driftway import (
    ConditionalGradient,
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    Regularizer,
    TimeSmoothness,
    WassersteinTime,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
from driftway.regularizers import MomentRegularizer
from driftway.solvers import FrankWolfe, Sinkhorn

Call = Callable[..., Any]
REFUSED = (ValueError, TypeError)

N, M, D = 6, 5, 2
RNG = np.random.default_rng(0)
X, Y, PREVIOUS = RNG.normal(size=(N, D)), RNG.normal(size=(M, D)), RNG.normal(size=(N, D))
COST = RNG.random((N, M))
A, B = np.full(N, 1 / N), np.full(M, 1 / M)
SIMILARITY = np.ones((N, N))
LABELS = [0, 0, 0, 1, 1, 1]
PROBLEM = Problem(COST, epsilon=0.1)
SOLUTION = sinkhorn(COST, epsilon=0.1)
PLANS = {"held": SOLUTION.plan, "swept": sinkhorn(COST, epsilon=0.1, engine=Threads(memory=0)).plan}
REGULARIZERS = {
    "GroupLasso": GroupLasso(LABELS),
    "TimeSmoothness": TimeSmoothness(Y, PREVIOUS),
    "Laplacian": Laplacian(SIMILARITY, Y),
    "WassersteinTime": WassersteinTime(Y, PREVIOUS),
    "Custom": Custom(lambda gamma: (gamma**2).sum(), lambda gamma: 2 * gamma, convex=True),
    "sum": GroupLasso(LABELS) + TimeSmoothness(Y, PREVIOUS),
    "multiple": 2.0 * TimeSmoothness(Y, PREVIOUS),
}
SOLVERS = {
    "ForwardBackward": ForwardBackward(),
    "ConditionalGradient": ConditionalGradient(),
    "FrankWolfe": FrankWolfe(),
    "Sinkhorn": Sinkhorn(),
}


@pytest.fixture
def no_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which a solver begins to iterate."""

    def iterated(*_: object, **__: object) -> None:
        pytest.fail("the solver began to iterate on bad input")

    monkeypatch.setattr("driftway.problem.model.balance", iterated)
    monkeypatch.setattr("driftway.solvers.sinkhorn.balance", iterated)
    monkeypatch.setattr("driftway.solvers.conditional_gradient.frank_wolfe.exact_transport", iterated)


def regularized(regularizer: Any, solver: Any = None) -> Any:
    return solve(Problem(COST, epsilon=0.1, regularizer=regularizer), solver, max_iter=3)


def custom(value: Any, gradient: Any) -> Any:
    return regularized(Custom(lambda gamma: value, lambda gamma: gradient))


# Arrays --------------------------------------------------------------------------------------------------------

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


def _with(array: np.ndarray, entry: Any) -> np.ndarray:
    changed = array.astype(np.result_type(array, type(entry)))
    changed.flat[array.size // 2] = entry
    return changed


# fault → (how an array gets it, the error, what the message says of it)
FAULTS: dict[str, tuple[Call, type[Exception], str]] = {
    "nan": (lambda v: _with(v, np.nan), ValueError, "must be finite.*NaN"),
    "inf": (lambda v: _with(v, np.inf), ValueError, "must be finite.*infinity"),
    "float32-nan": (lambda v: _with(v.astype(np.float32), np.float32("nan")), ValueError, "must be finite.*NaN"),
    "complex": (lambda v: _with(v, 1j), TypeError, "must hold real numbers, got dtype complex128"),
    "strings": (lambda v: v.astype(str), TypeError, "must hold real numbers, got dtype <U"),
    "string": (lambda v: "one", TypeError, "must hold real numbers, got dtype <U"),
    "dates": (lambda v: np.zeros(v.shape, "datetime64[s]"), TypeError, "must hold real numbers, got dtype datetime64"),
    "ragged": (lambda v: [[1.0], [1.0, 2.0]], ValueError, "must be an array of numbers"),
    "none-inside": (lambda v: [None] * len(v), TypeError, "must hold real numbers, got dtype object"),
    "dict": (lambda v: {"values": v}, TypeError, "must hold real numbers, got dtype object"),
    "empty": (lambda v: np.empty((0, *v.shape[1:])), ValueError, r"must not be empty, got shape \(0,"),
    "scalar": (lambda v: 1.0, ValueError, r"must have \d dimension\(s\), got shape \(\)"),
    "3-d": (lambda v: np.ones((2, 2, 2)), ValueError, r"must have \d dimension\(s\), got shape \(2, 2, 2\)"),
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
    with pytest.raises(ValueError, match=f"^a and b must have the same total mass, got 1 and {factor:g}$"):
        call(A, factor * B)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: Problem(COST, B, epsilon=0.1), r"^a must have shape \(6\), got \(5,\)", id="a"),
        pytest.param(lambda: Problem(COST, None, A, epsilon=0.1), r"^b must have shape \(5\), got \(6,\)", id="b"),
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
            lambda: TimeSmoothness(Y, PREVIOUS, a=B), r"^a must have shape \(6\), got \(5,\)", id="TimeSmoothness-a"
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
            lambda: Laplacian(SIMILARITY, Y, masses=B), r"^masses must have shape \(6\), got \(5,\)", id="masses"
        ),
        pytest.param(
            lambda: WassersteinTime(Y, np.ones((N, 3))),
            r"^previous must have shape \(any, 2\), got \(6, 3\)",
            id="WassersteinTime-features",
        ),
        pytest.param(
            lambda: WassersteinTime(Y, PREVIOUS, previous_masses=B),
            r"^previous_masses must have shape \(6\), got \(5,\)",
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
            r"^init\[0\] must have shape \(6\), got \(5,\)",
            id="init-swapped",
        ),
        pytest.param(
            lambda: solve(PROBLEM, init=(np.zeros(N), np.zeros(N))),
            r"^init\[1\] must have shape \(5\), got \(6,\)",
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


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("labels", "match"),
    [
        pytest.param([0.0, 0.0, np.nan, 1.0, 1.0, 1.0], "^labels must not contain NaN", id="nan"),
        pytest.param([0.0, 0.0, np.inf, 1.0, 1.0, 1.0], "^labels must not contain NaN or infinity", id="inf"),
        pytest.param(np.array([0, 0, np.nan, 1, 1, 1], dtype=object), "^labels must", id="nan-among-objects"),
        pytest.param(np.array([0, 0, np.nan, 1, 1, 1], dtype=complex), "^labels must", id="complex-nan"),
    ],
)
def test_labels_must_be_equal_to_themselves(labels: Any, match: str) -> None:
    with pytest.raises(REFUSED, match=match):
        regularized(GroupLasso(labels))


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(["a", "a", "a", "b", "b", "b"], id="strings"),
        pytest.param(np.array(["a", "a", "a", 1, 1, 1], dtype=object), id="strings-and-integers"),
        pytest.param(np.array([None, None, None, 1, 1, 1], dtype=object), id="none-and-integers"),
    ],
)
def test_labels_may_be_anything_that_can_be_compared_for_equality(labels: Any) -> None:
    gamma = RNG.random((N, M))
    assert GroupLasso(labels).value(gamma) == GroupLasso(LABELS).value(gamma)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("similarity", "match"),
    [
        pytest.param(-SIMILARITY, "^similarity must be non-negative.*-1", id="negative"),
        pytest.param(np.triu(SIMILARITY), "^similarity must be symmetric", id="asymmetric"),
        pytest.param(sparse.csr_array(np.triu(SIMILARITY)), "^similarity must be symmetric", id="sparse-asymmetric"),
        pytest.param(sparse.csr_array(-SIMILARITY), "^similarity must be non-negative.*-1", id="sparse-negative"),
        pytest.param(sparse.csr_array(_with(SIMILARITY, np.nan)), "^similarity must be finite", id="sparse-nan"),
        pytest.param(
            sparse.csr_array(_with(SIMILARITY, 1j)), "^similarity must hold real numbers", id="sparse-complex"
        ),
        pytest.param(sparse.csr_array(np.ones((3, 2))), "^similarity must be square.*3, 2", id="sparse-not-square"),
        pytest.param(np.full((N, N), 1e308), "^similarity must", id="overflowing-sum"),
    ],
)
def test_similarity_must_be_symmetric_and_non_negative_dense_or_sparse(similarity: Any, match: str) -> None:
    with pytest.raises(REFUSED, match=match):
        Laplacian(similarity, Y)


def test_a_graph_without_edges_is_no_penalty_dense_or_sparse() -> None:
    gamma = RNG.random((N, M))
    assert Laplacian(np.zeros((N, N)), Y).value(gamma) == 0.0
    assert Laplacian(sparse.csr_array((N, N)), Y).value(gamma) == 0.0


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "FrankWolfe"])
@pytest.mark.parametrize("entry", [0.0, -0.5])
def test_a_plan_to_start_from_must_be_positive_on_the_support(solver: str, entry: float) -> None:
    with pytest.raises(ValueError, match=re.escape("init must be positive")) as caught:
        solve(PROBLEM, SOLVERS[solver], init=_with(np.ones((N, M)), entry))
    assert f"{entry:g}" in str(caught.value), "the message does not say what it got"


@pytest.mark.usefixtures("no_iteration")
def test_sinkhorn_refuses_to_start_from_a_plan() -> None:
    for init in (np.ones((N, M)), SOLUTION.plan):
        with pytest.raises(ValueError, match=r"Sinkhorn starts from potentials: init must be a pair \(f, g\)"):
            sinkhorn(COST, epsilon=0.1, init=init)


# Numbers -------------------------------------------------------------------------------------------------------

NUMBERS: dict[str, tuple[str, Call]] = {
    "Problem-epsilon": ("epsilon", lambda v: Problem(COST, epsilon=v)),
    "sinkhorn-epsilon": ("epsilon", lambda v: sinkhorn(COST, epsilon=v)),
    "solve-tol": ("tol", lambda v: solve(PROBLEM, tol=v)),
    "sinkhorn-tol": ("tol", lambda v: sinkhorn(COST, epsilon=0.1, tol=v)),
    "GroupLasso-weight": ("weight", lambda v: GroupLasso(LABELS, v)),
    "TimeSmoothness-weight": ("weight", lambda v: TimeSmoothness(Y, PREVIOUS, v)),
    "Laplacian-weight": ("weight", lambda v: Laplacian(SIMILARITY, Y, v)),
    "WassersteinTime-weight": ("weight", lambda v: WassersteinTime(Y, PREVIOUS, v)),
    "WassersteinTime-blur": ("blur", lambda v: WassersteinTime(Y, PREVIOUS, blur=v)),
    "Custom-smoothness": ("smoothness", lambda v: Custom(np.sum, np.ones_like, smoothness=v)),
    "multiple-of-GroupLasso": ("the factor of a regularizer", lambda v: v * GroupLasso(LABELS)),
    "multiple-of-TimeSmoothness": ("the factor of a regularizer", lambda v: TimeSmoothness(Y, PREVIOUS) * v),
    "multiple-of-Custom": ("the factor of a regularizer", lambda v: v * Custom(np.sum, np.ones_like)),
    "multiple-of-sum": ("the factor of a regularizer", lambda v: v * REGULARIZERS["sum"]),
    "ForwardBackward-step": ("step", lambda v: ForwardBackward(v)),
    "Sinkhorn-scaling": ("scaling", lambda v: Sinkhorn(v)),
    "sinkhorn-scaling": ("scaling", lambda v: sinkhorn(COST, epsilon=0.1, scaling=v)),
}
BAD_NUMBERS = {
    "negative": (-0.5, ValueError, r"must be in .*, got -0\.5"),
    "nan": (np.nan, ValueError, "must be in .*, got nan"),
    "inf": (np.inf, ValueError, "must be in .*, got inf"),
    "minus-inf": (-np.inf, ValueError, "must be in .*, got -inf"),
    "float32-nan": (np.float32("nan"), ValueError, "must be in .*, got nan"),
    "beyond-float": (10**400, ValueError, "must be"),
    "string": ("much", TypeError, "must be a number.* got str 'much'"),
    "complex": (1j, TypeError, "must be a number.* got complex 1j"),
    "bool": (True, TypeError, "must be a number.* got bool True"),
    "list": ([0.5], TypeError, r"must be a number.* got list \[0\.5\]"),
    "array": (np.array([0.5, 0.5]), TypeError, "must be a number.* got ndarray"),
    "none": (None, TypeError, "must be a number.* got NoneType"),
}
OPTIONAL = {"WassersteinTime-blur", "Custom-smoothness", "Sinkhorn-scaling", "sinkhorn-scaling"}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "value", "error", "match"),
    [
        pytest.param(call, value, error, f"^{name} {complaint}", id=f"{argument}-{fault}")
        for argument, (name, call) in NUMBERS.items()
        for fault, (value, error, complaint) in BAD_NUMBERS.items()
        if not (fault == "none" and argument in OPTIONAL)
    ],
)
def test_every_number_refuses_what_is_not_a_finite_number_in_its_range(
    call: Call, value: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        call(value)


@pytest.mark.parametrize("argument", NUMBERS)
def test_a_refusal_of_infinity_does_not_claim_that_infinity_is_allowed(argument: str) -> None:
    name, call = NUMBERS[argument]
    with pytest.raises(ValueError, match=name) as caught:
        call(np.inf)
    assert "inf]" not in str(caught.value)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: WassersteinTime(Y, PREVIOUS, blur=0), r"^blur must be in \(0, inf\), got 0", id="blur"),
        pytest.param(lambda: ForwardBackward(0), r"^step must be in \(0, inf\), got 0", id="step"),
        pytest.param(lambda: Sinkhorn(0.0), r"^scaling must be in \(0, 1\), got 0", id="scaling-0"),
        pytest.param(lambda: Sinkhorn(1.0), r"^scaling must be in \(0, 1\), got 1", id="scaling-1"),
        pytest.param(lambda: Sinkhorn(2.0), r"^scaling must be in \(0, 1\), got 2", id="scaling-2"),
    ],
)
def test_the_ends_of_an_open_interval_are_refused(call: Call, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        call()


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("other", [1.0, None, "J"], ids=["number", "none", "string"])
def test_a_regularizer_is_not_added_to_anything_else(regularizer: str, other: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        REGULARIZERS[regularizer] + other
    assert type(other).__name__ in str(caught.value)


@pytest.mark.parametrize("regularizer", ["GroupLasso", "TimeSmoothness", "Custom", "sum"])
def test_an_array_times_a_regularizer_is_refused_from_either_side(regularizer: str) -> None:
    J = REGULARIZERS[regularizer]
    with pytest.raises(TypeError, match="the factor of a regularizer"):
        J * np.array([1.0, 2.0])
    with pytest.raises(TypeError, match=r"the factor of a regularizer|unsupported operand"):
        np.array([1.0, 2.0]) * J


INTEGERS: dict[str, tuple[str, Call]] = {
    "solve-max_iter": ("max_iter", lambda v: solve(PROBLEM, max_iter=v)),
    "sinkhorn-max_iter": ("max_iter", lambda v: sinkhorn(COST, epsilon=0.1, max_iter=v)),
    "Sinkhorn-round_length": ("round_length", lambda v: Sinkhorn(round_length=v)),
    "Threads-workers": ("workers", lambda v: Threads(workers=v)),
    "Threads-block_entries": ("block_entries", lambda v: Threads(block_entries=v)),
    "Threads-memory": ("memory", lambda v: Threads(memory=v)),
}
BAD_INTEGERS = {
    "zero": (0, ValueError, "must be at least 1, got 0"),
    "negative": (-3, ValueError, "must be at least [01], got -3"),
    "fraction": (1.5, TypeError, r"must be an integer, got float 1\.5"),
    "float": (np.float64(2.0), TypeError, "must be an integer, got float64"),
    "nan": (np.nan, TypeError, "must be an integer, got float nan"),
    "string": ("10", TypeError, "must be an integer, got str '10'"),
    "empty-string": ("", TypeError, "must be an integer, got str ''"),
    "complex": (2 + 0j, TypeError, "must be an integer, got complex"),
    "true": (True, TypeError, "must be an integer, got bool True"),
    "false": (False, TypeError, "must be an integer, got bool False"),
    "list": ([1], TypeError, r"must be an integer, got list \[1\]"),
    "none": (None, TypeError, "must be an integer, got NoneType"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "value", "error", "match"),
    [
        pytest.param(call, value, error, f"^{name} {complaint}", id=f"{argument}-{fault}")
        for argument, (name, call) in INTEGERS.items()
        for fault, (value, error, complaint) in BAD_INTEGERS.items()
        if (argument, fault) not in {("Threads-workers", "none"), ("Threads-memory", "zero")}
    ],
)
def test_every_count_refuses_what_is_not_an_integer_in_its_range(
    call: Call, value: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        call(value)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("value", ["no", None, 2], ids=["string", "none", "number"])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param("convex", lambda v: Custom(np.sum, np.ones_like, convex=v), id="Custom-convex"),
        pytest.param("debias", lambda v: WassersteinTime(Y, PREVIOUS, debias=v), id="WassersteinTime-debias"),
        pytest.param("relax", lambda v: Sinkhorn(relax=v), id="Sinkhorn-relax"),
        pytest.param("relax", lambda v: sinkhorn(COST, epsilon=0.1, relax=v), id="sinkhorn-relax"),
        pytest.param("progress", lambda v: solve(PROBLEM, progress=v), id="solve-progress"),
    ],
)
def test_a_flag_refuses_what_is_neither_true_nor_false(name: str, call: Call, value: Any) -> None:
    with pytest.raises(REFUSED, match=f"^{name} must"):
        call(value)


# Names ---------------------------------------------------------------------------------------------------------

CHOICES: dict[str, tuple[str, str, Call]] = {
    "metric": ("metric", "'euclidean', 'sqeuclidean'", lambda v: PointCloudCost(X, Y, v)),
    "normalization": (
        "normalization",
        "'mean', 'sum', 'coupling'",
        lambda v: TimeSmoothness(Y, PREVIOUS, normalization=v),
    ),
    "side": ("side", "'source', 'target'", lambda v: Laplacian(SIMILARITY, Y, side=v)),
    "autodiff": ("autodiff", "'torch', 'jax'", lambda v: Custom(np.sum, autodiff=v)),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("value", ["unknown", "", "MEAN", 3, ["mean"], b"mean", np.array(["mean", "sum"])], ids=repr)
@pytest.mark.parametrize("choice", CHOICES)
def test_an_unknown_name_is_refused_with_the_list_of_known_ones(choice: str, value: Any) -> None:
    name, known, call = CHOICES[choice]
    with pytest.raises(REFUSED, match=f"^{name} must be .*{known}.*got .*{re.escape(repr(value))}"):
        call(value)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("choice", ["metric", "normalization", "side"])
def test_none_is_no_name(choice: str) -> None:
    name, known, call = CHOICES[choice]
    with pytest.raises(REFUSED, match=f"^{name} must be .*{known}.*got None"):
        call(None)


# Costs ---------------------------------------------------------------------------------------------------------


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


# Problems and solvers ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: solve(COST), "^problem must be a Problem, got ndarray", id="problem-array"),
        pytest.param(lambda: solve(None), "^problem must be a Problem, got NoneType", id="problem-none"),
        pytest.param(lambda: solve(Problem), "^problem must be a Problem, got type", id="problem-class"),
        pytest.param(lambda: Problem(COST), "epsilon", id="epsilon-missing"),
        pytest.param(lambda: sinkhorn(COST), "epsilon", id="sinkhorn-epsilon-missing"),
        pytest.param(lambda: regularized(np.sum), r"^regularizer must be .*Custom.* got ", id="function"),
        pytest.param(lambda: regularized("lasso"), "^regularizer must be .* got str", id="regularizer-string"),
        pytest.param(lambda: regularized(GroupLasso), "^regularizer must be .* got ABCMeta", id="regularizer-class"),
        pytest.param(lambda: solve(PROBLEM, "sinkhorn"), "^solver must", id="solver-string"),
        pytest.param(lambda: solve(PROBLEM, ForwardBackward), "^solver must", id="solver-class"),
        pytest.param(lambda: solve(PROBLEM, 1e-6), "^solver must", id="solver-number"),
        pytest.param(lambda: solve(PROBLEM, engine="threads"), "^engine must", id="engine-string"),
        pytest.param(lambda: solve(PROBLEM, engine=Threads), "^engine must", id="engine-class"),
        pytest.param(lambda: solve(PROBLEM, engine=0), "^engine must", id="engine-zero"),
        pytest.param(lambda: sinkhorn(COST, epsilon=0.1, engine=2), "^engine must", id="sinkhorn-engine"),
        pytest.param(lambda: solve(PROBLEM, callback="print"), "^callback must", id="callback-string"),
        pytest.param(lambda: sinkhorn(COST, epsilon=0.1, callback=1), "^callback must", id="sinkhorn-callback"),
        pytest.param(lambda: solve(PROBLEM, init=PROBLEM), "^init must hold real numbers", id="init-problem"),
        pytest.param(lambda: Custom("sum", np.ones_like), "^value must be callable, got str", id="Custom-value"),
        pytest.param(lambda: Custom(np.sum, 2.0), "^gradient must be callable, got float", id="Custom-gradient"),
    ],
)
def test_an_object_of_the_wrong_kind_is_a_type_error(call: Call, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        call()


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("regularizer", [None, *REGULARIZERS])
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "Sinkhorn"])
def test_without_entropy_every_solver_but_frank_wolfe_refuses(solver: str, regularizer: str | None) -> None:
    J = None if regularizer is None else REGULARIZERS[regularizer]
    with pytest.raises(
        ValueError, match=f"^{solver} needs epsilon > 0, got 0; use driftway.solvers.FrankWolfe for epsilon = 0$"
    ):
        solve(Problem(COST, epsilon=0, regularizer=J), SOLVERS[solver])


def test_without_entropy_the_automatic_choice_is_frank_wolfe() -> None:
    assert "FrankWolfe" in solve(Problem(COST, epsilon=0), tol=1e-3).message


@pytest.mark.usefixtures("no_iteration")
def test_the_function_sinkhorn_refuses_epsilon_zero() -> None:
    with pytest.raises(ValueError, match="needs epsilon > 0, got 0"):
        sinkhorn(COST, epsilon=0.0)


def test_frank_wolfe_solves_without_entropy() -> None:
    solution = solve(Problem(COST[:M], epsilon=0.0), FrankWolfe())
    assert solution.converged
    vertex = solution.plan.dense()
    assert np.count_nonzero(vertex > 1e-12) <= 2 * M - 1
    assert solution.lower_bound <= np.vdot(vertex, COST[:M]) + 1e-12


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_sinkhorn_refuses_a_regularizer_and_names_the_solver_to_use(regularizer: str) -> None:
    with pytest.raises(ValueError, match=r"^Sinkhorn solves problems without a regularizer, got .*ForwardBackward"):
        regularized(REGULARIZERS[regularizer], Sinkhorn())


# What a user's own regulariser returns -------------------------------------------------------------------------


class Own(Regularizer):
    """A regulariser with the value and gradient that it is told to have."""

    def __init__(self, value: Any = 0.0, gradient: Any = None) -> None:
        self._value, self._gradient = value, gradient

    def value(self, gamma: Any) -> Any:
        return self._value

    def gradient(self, gamma: Any) -> Any:
        return self._gradient


class OwnMoments(MomentRegularizer):
    """A moment regulariser with the parts that it is told to have."""

    def __init__(self, right: Any = Y, left: Any = None, phi: Any = 0.0, gradient: Any = "zero") -> None:
        self._right, self._left = right, np.empty((N, 0)) if left is None else left
        self._phi, self._gradient = phi, gradient

    @property
    def right_basis(self) -> Any:
        return self._right

    @property
    def left_basis(self) -> Any:
        return self._left

    def phi(self, right: Any, left: Any) -> Any:
        return self._phi

    def phi_gradient(self, right: Any, left: Any) -> Any:
        return (0 * right, 0 * left) if isinstance(self._gradient, str) else self._gradient


ZEROS = np.zeros((N, M))
BAD_VALUES = {
    "nan": (np.nan, "value must be finite, got nan"),
    "inf": (np.inf, "value must be finite, got inf"),
    "minus-inf": (-np.inf, "value must be finite, got -inf"),
    "array": (np.ones(3), r"value must .*got .*\(3,\)"),
    "plan-sized": (ZEROS, r"value must .*got .*\(6, 5\)"),
    "empty": (np.array([]), r"value must .*got .*\(0,\)"),
    "none": (None, "value must"),
    "string": ("1.5", "value must"),
    "complex": (1j, "value must"),
    "complex-array": (np.array(1j), "value must"),
}
BAD_GRADIENTS = {
    "nan": (_with(ZEROS, np.nan), "gradient must be finite.*NaN"),
    "inf": (_with(ZEROS, np.inf), "gradient must be finite.*infinity"),
    "transposed": (ZEROS.T, r"gradient must have the plan's shape \(6, 5\), got \(5, 6\)"),
    "row": (ZEROS[0], r"gradient must have the plan's shape \(6, 5\), got \(5,\)"),
    "column": (ZEROS[:, :1], r"gradient must have the plan's shape \(6, 5\), got \(6, 1\)"),
    "scalar": (0.0, r"gradient must have the plan's shape \(6, 5\), got \(\)"),
    "none": (None, "gradient must"),
    "string": ("zero", "gradient must"),
    "strings": (ZEROS.astype(str), "gradient must"),
    "complex": (1j * ZEROS, "gradient must"),
    "ragged": ([[1.0], [1.0, 2.0]], "gradient must"),
}
WRAPPERS: dict[str, Call] = {
    "alone": lambda J: J,
    "summed": lambda J: J + GroupLasso(LABELS),
    "multiplied": lambda J: 2.0 * J,
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("fault", BAD_VALUES)
@pytest.mark.parametrize("kind", ["Custom", "subclass"])
def test_a_value_that_is_not_one_finite_number_is_refused(kind: str, fault: str, wrapper: str) -> None:
    value, match = BAD_VALUES[fault]
    J = Custom(lambda gamma: value, np.zeros_like) if kind == "Custom" else Own(value, ZEROS)
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("fault", BAD_GRADIENTS)
@pytest.mark.parametrize("kind", ["Custom", "subclass"])
def test_a_gradient_that_is_not_a_finite_array_of_the_plans_shape_is_refused(
    kind: str, fault: str, wrapper: str
) -> None:
    gradient, match = BAD_GRADIENTS[fault]
    J = Custom(lambda gamma: 0.0, lambda gamma: gradient) if kind == "Custom" else Own(0.0, gradient)
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "FrankWolfe"])
def test_a_bad_gradient_is_refused_whatever_the_solver(solver: str) -> None:
    J = Custom(lambda gamma: 0.0, lambda gamma: gamma.T)
    with pytest.raises(ValueError, match=r"gradient must have the plan's shape \(6, 5\), got \(5, 6\)"):
        regularized(J, SOLVERS[solver])


EMPTY_LEFT = np.empty((M, 0))
BAD_MOMENTS = {
    "right-basis-rows": (OwnMoments(right=X), r"right_basis.*\(6, 2\)"),
    "right-basis-nan": (OwnMoments(right=_with(Y, np.nan)), "right_basis"),
    "right-basis-vector": (OwnMoments(right=np.ones(M)), "right_basis"),
    "right-basis-scalar": (OwnMoments(right=np.array(1.0)), "right_basis"),
    "left-basis-rows": (OwnMoments(left=Y), r"left_basis.*\(5, 2\)"),
    "left-basis-inf": (OwnMoments(left=_with(X, np.inf)), "left_basis"),
    "phi-nan": (OwnMoments(phi=np.nan), "value must be finite, got nan"),
    "phi-array": (OwnMoments(phi=np.ones(2)), "(value|phi) must"),
    "phi-none": (OwnMoments(phi=None), "(value|phi) must"),
    "gradient-nan": (OwnMoments(gradient=(np.full((N, D), np.nan), EMPTY_LEFT)), "gradient must be finite"),
    "gradient-inf": (OwnMoments(gradient=(np.full((N, D), np.inf), EMPTY_LEFT)), "gradient must be finite"),
    "gradient-shape": (OwnMoments(gradient=(np.ones((N, 3)), EMPTY_LEFT)), r"gradient must .*\(6, 3\)"),
    "gradient-transposed": (OwnMoments(gradient=(np.ones((D, N)), EMPTY_LEFT)), r"gradient must .*\(2, 6\)"),
    "gradient-left-shape": (OwnMoments(gradient=(np.ones((N, D)), np.ones((N, 1)))), r"gradient must .*\(6, 1\)"),
    "gradient-single": (OwnMoments(gradient=np.ones((N, D))), "gradient must"),
    "gradient-none": (OwnMoments(gradient=None), "gradient must"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", ["alone", "multiplied"])
@pytest.mark.parametrize("fault", BAD_MOMENTS)
def test_a_moment_regularizer_whose_parts_do_not_fit_is_refused(fault: str, wrapper: str) -> None:
    J, match = BAD_MOMENTS[fault]
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


def test_custom_needs_exactly_one_source_of_the_gradient() -> None:
    with pytest.raises(ValueError, match="exactly one of gradient and autodiff must be given"):
        Custom(np.sum)
    with pytest.raises(ValueError, match="exactly one of gradient and autodiff must be given"):
        Custom(np.sum, np.ones_like, "torch")


def test_a_gradient_that_writes_into_the_plan_does_not_change_the_result() -> None:
    def writing(gamma: np.ndarray) -> np.ndarray:
        slope = 2.0 * gamma
        with contextlib.suppress(ValueError):
            gamma[:] = 0.0
        return slope

    J = Custom(lambda gamma: (gamma**2).sum(), writing, convex=True)
    expected = solve(Problem(COST, epsilon=0.1, regularizer=REGULARIZERS["Custom"]))
    found = solve(Problem(COST, epsilon=0.1, regularizer=J))
    np.testing.assert_array_equal(found.plan.dense(), expected.plan.dense())
    assert found.value == expected.value


# Plans ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("block", [None, 3, 1.5, "all"], ids=["none", "integer", "float", "string"])
def test_the_rows_of_a_plan_are_asked_for_by_a_slice(plan: str, block: Any) -> None:
    with pytest.raises(TypeError, match=r"^block must be a slice, got"):
        PLANS[plan].rows(block)


# Extras --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_missing_library_for_autodiff_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"^autodiff='{library}' needs .*pip install 'driftway\[{library}\]'$"):
        Custom(np.sum, autodiff=library)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_progress_bar_is_named_with_its_extra(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"^progress=True needs tqdm: pip install 'driftway\[progress\]'$"):
        solve(PROBLEM, SOLVERS[solver], progress=True)


def test_without_progress_no_library_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("tqdm", "tqdm.auto", "torch", "jax"):
        monkeypatch.setitem(sys.modules, library, None)
    np.testing.assert_array_equal(solve(PROBLEM, Sinkhorn()).plan.dense(), SOLUTION.plan.dense())


# Good input at its edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, M), (N, 1)], ids=str)
@pytest.mark.parametrize("regularizer", [None, "GroupLasso", "TimeSmoothness", "source", "target", "WassersteinTime"])
def test_with_a_single_point_on_one_side_the_only_coupling_is_found(
    regularizer: str | None, shape: tuple[int, int]
) -> None:
    n, m = shape
    J = {
        "GroupLasso": lambda: GroupLasso(LABELS[:n]),
        "TimeSmoothness": lambda: TimeSmoothness(Y[:m], PREVIOUS[:n]),
        "source": lambda: Laplacian(SIMILARITY[:n, :n], Y[:m]),
        "target": lambda: Laplacian(SIMILARITY[:m, :m], X[:n], side="target"),
        "WassersteinTime": lambda: WassersteinTime(Y[:m], PREVIOUS),
    }.get(regularizer, lambda: None)()
    solution = solve(Problem(COST[:n, :m], epsilon=0.1, regularizer=J))
    assert solution.converged
    np.testing.assert_allclose(solution.plan.dense(), np.full(shape, 1 / (n * m)), atol=1e-6)  # as marginals are
    np.testing.assert_allclose(solution.plan.round().dense(), np.full(shape, 1 / (n * m)), rtol=1e-12)


def test_the_masses_of_the_previous_cloud_are_scaled_to_those_given_for_the_source() -> None:
    gamma = np.full((N, M), 2 / (N * M))
    given = WassersteinTime(Y, PREVIOUS, a=2 * A)
    inferred = WassersteinTime(Y, PREVIOUS).on(2 * A, 2 * B)
    assert given.value(gamma) == pytest.approx(inferred.value(gamma), rel=1e-9)
    np.testing.assert_allclose(given.gradient(gamma), inferred.gradient(gamma), atol=1e-8)
