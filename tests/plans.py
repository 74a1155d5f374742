"""Plans of one problem by every solver, engine and way to hold them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

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


def uncertainty(found: Solution) -> float:
    """How far in L1 the plan can be from the optimal one: by strong convexity (Pinsker), and by rounding."""
    return np.sqrt(2.0 * (found.value - found.lower_bound) / EPSILON) + 2.0 * found.marginal_error + 1e-12


def assert_same_plan(first: Solution, second: Solution) -> None:
    distance = np.abs(first.plan.dense() - second.plan.dense()).sum()
    assert distance <= uncertainty(first) + uncertainty(second)
