"""Factored plans hold O((n + m)(d + r)) numbers: the memory of a solve does not see n·m."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from driftway import ForwardBackward, PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Threads


def peak_of_solve(n: int, m: int) -> int:
    """Peak bytes allocated by two iterations of forward-backward, without what compiling takes."""
    traced_solve(600, 500)
    return traced_solve(n, m)


def traced_solve(n: int, m: int) -> int:
    X, Y = make_moons(n, noise=0.05, random_state=0)[0], make_moons(m, noise=0.05, random_state=1)[0]
    p = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, X, 5.0))
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning):
        s = solve(p, ForwardBackward(), tol=1e-9, max_iter=2, engine=Threads(memory=2**10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(s.value)
    return peak


def test_memory_is_linear_in_the_points() -> None:
    n, m = 5000, 2500
    peak = peak_of_solve(n, m)
    assert peak < 8 * n * m / 4, "the plan was formed"
    assert peak < 2**20 * 20
