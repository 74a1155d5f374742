"""Small inputs that every solver and regulariser takes, for tests that spoil one of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftway import (
    ConditionalGradient,
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    Problem,
    TimeSmoothness,
    WassersteinTime,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
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


def regularized(regularizer: Any, solver: Any = None) -> Any:
    return solve(Problem(COST, epsilon=0.1, regularizer=regularizer), solver, max_iter=3)


def with_entry(array: np.ndarray, entry: Any) -> np.ndarray:
    """A copy of the array with this entry in its middle."""
    changed = array.astype(np.result_type(array, type(entry)))
    changed.flat[array.size // 2] = entry
    return changed
