"""Numbers, counts, flags and names out of their range are refused by an error that says what is allowed."""

import re
from typing import Any

import numpy as np
import pytest
from small_inputs import COST, LABELS, PREVIOUS, PROBLEM, REFUSED, REGULARIZERS, SIMILARITY, Call, X, Y

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
from driftway.engines import Threads
from driftway.solvers import Sinkhorn

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
