"""`driftway warm-up`: compiles now what first calls would compile, for images and for machines that start often."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np

from driftway import (
    ContinuousTransportClassifier,
    ContinuousTransportRegressor,
    GroupLasso,
    PointCloudCost,
    Problem,
    TimeSmoothness,
    sinkhorn,
    solve,
)
from driftway.engines.compiled.loading import numba_installed

# Columns above and below the number up to which problems are small.
WIDE, NARROW, ROWS = 200, 60, 300


def warm_up() -> int:
    """Compile now what the first calls would compile, and keep it for later processes."""
    if not numba_installed():
        sys.stderr.write("driftway: there is nothing to compile without Numba: pip install 'driftway[fast]'\n")
        return 1
    from driftway.engines.compiled.compiling import KERNELS

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in _first_calls():
            sys.stderr.write(f"{time.perf_counter() - began:6.1f} s  {step}\n")
    folders = {kernel.stats.cache_path for kernel in KERNELS}
    if None in folders:
        sys.stderr.write("driftway: no folder for compiled code may be written to; NUMBA_CACHE_DIR names one\n")
        return 1
    for folder in sorted(folders):
        sys.stdout.write(f"{folder}\n")
    return 0


def _first_calls() -> Iterator[str]:
    """Solves what is solved most; yields the names of what is ready."""
    rng = np.random.default_rng(0)
    for d in (2, 5):
        X, Y = rng.normal(size=(ROWS, d)), rng.normal(size=(WIDE, d)) + 0.5
        for metric in ("sqeuclidean", "euclidean"):
            cost, small = PointCloudCost(X, Y, metric), PointCloudCost(X, Y[:NARROW], metric)
            sinkhorn(cost, epsilon=0.1)
            sinkhorn(small, epsilon=0.1)
            for given, points in ((cost, Y), (small, Y[:NARROW])):
                solve(Problem(given, epsilon=0.2, regularizer=TimeSmoothness(points, previous=X, weight=0.2)))
            yield f"{metric} distances of {d} features"
        y = np.arange(ROWS) % 2
        source = X + 3.0 * y[:, None]
        for estimator, wanted in ((ContinuousTransportClassifier(), y), (ContinuousTransportRegressor(), X[:, 0])):
            estimator.fit(source, wanted).partial_fit(source[:NARROW] + 0.5).partial_fit(source[-NARROW:] + 0.7)
            yield f"{type(estimator).__name__} of {d} features"
    sinkhorn(rng.random((ROWS, WIDE)), epsilon=0.1)
    sinkhorn(rng.random((ROWS, NARROW)), epsilon=0.1)
    yield "costs given as a matrix"
    cost = PointCloudCost(X, Y[:NARROW])
    solve(Problem(cost, epsilon=0.2, regularizer=GroupLasso(np.arange(ROWS) % 2, 0.2)))
    yield "group lasso"
