"""Engines agree when they are done: the whole table of solvers, solved to the end on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle, product

import pytest
from agreement import METRICS, MOMENTS, PLAIN, difference, fits, run
from problems import REGULARIZERS, data, problem, weight

from driftway import ConditionalGradient, ForwardBackward, Problem
from driftway.engines import Dask, Threads, Torch
from driftway.solvers import DualAscent, FrankWolfe, Sinkhorn

pytestmark = pytest.mark.slow

# Cells go to clusters of two, three and four worker processes in turn, and those without a regulariser, which are the
# only ones of Sinkhorn, to all of them: so every solver meets each.
WORKERS = (2, 3, 4)
CELLS = {(*cell, workers) for cell, workers in zip(product(METRICS, MOMENTS), cycle(WORKERS), strict=False)}
CELLS |= {(metric, "none", workers) for metric, workers in product(METRICS, WORKERS)}


# A solver for a problem, its tolerance and its iterations.
TABLE: dict[str, tuple[Callable[[Problem], object], float, int]] = {
    "Sinkhorn": (lambda p: Sinkhorn(), 1e-10, 100),
    "DualAscent": (lambda p: DualAscent(), 1e-10, 100),
    "ForwardBackward": (lambda p: ForwardBackward(), 1e-10, 1000),
    "accelerated": (lambda p: ForwardBackward(accelerate=True), 1e-10, 1000),
    "ConditionalGradient": (lambda p: ConditionalGradient(), 1e-10, 1000),
    # Two that take thousands of iterations, and are compared on the way.
    "ForwardBackward, step 1/L": (lambda p: ForwardBackward(1.0 / (p.regularizer.smoothness or 1.0)), 1e-10, 60),
    "FrankWolfe": (lambda p: FrankWolfe(), 1e-10, 60),
}
UNFINISHED = {"ForwardBackward, step 1/L", "FrankWolfe"}


@pytest.fixture(scope="module")
def clusters() -> Iterator[Callable[[int], Dask]]:
    """Clusters of so many workers, started when they are first needed."""
    pytest.importorskip("distributed")
    started: dict[int, Dask] = {}
    with ExitStack() as stack:

        def cluster(workers: int) -> Dask:
            if workers not in started:
                started[workers] = stack.enter_context(Dask(workers=workers))
            return started[workers]

        yield cluster


@pytest.fixture(params=["threads", "torch", "dask"])
def engine(request: pytest.FixtureRequest, workers: int, clusters: Callable[[int], Dask]) -> object:
    if request.param == "threads":
        return Threads(memory=0, mixed=False)  # the compiled sweep, where there is one
    if request.param == "torch":
        pytest.importorskip("torch")
        return Torch(mixed=False, memory=6000)  # blocks of a few rows
    return clusters(workers)


@pytest.mark.parametrize("solver", TABLE)
@pytest.mark.parametrize(("metric", "name", "workers"), sorted(CELLS))
def test_engines_agree_at_the_end(
    engine: object, solver: str, metric: str, name: str, workers: int, record_property: Callable[[str, object], None]
) -> None:
    d = data(15, 11, seed=7)
    p = problem(d, name, 0.5, metric)
    make, tol, max_iter = TABLE[solver]
    if not fits(make(p), p):
        pytest.skip(f"{solver} is not for this regulariser")
    found, expected = (run(p, make(p), each, tol=tol, max_iter=max_iter) for each in (engine, PLAIN))
    assert (found.converged and expected.converged) or solver in UNFINISHED
    # Rounding decides whether what is at the tolerance is within it: both are compared where the first one ended.
    if expected.n_iter > found.n_iter:
        expected = run(p, make(p), PLAIN, tol=tol, max_iter=found.n_iter)
    elif found.n_iter > expected.n_iter:
        found = run(p, make(p), engine, tol=tol, max_iter=expected.n_iter)
    off = difference(found, expected, d)
    record_property("difference", off)
    assert off <= 1e-9


@pytest.mark.parametrize("name", ["none", "time-mean", "laplacian-target"])
@pytest.mark.parametrize("solver", ["Sinkhorn", "DualAscent", "ForwardBackward", "accelerated"])
def test_a_source_with_the_workers_has_the_same_end(
    solver: str, name: str, clusters: Callable[[int], Dask], record_property: Callable[[str, object], None]
) -> None:
    d, engine = data(15, 11, seed=7), clusters(3)
    here = problem(d, name, 0.5)
    make, tol, max_iter = TABLE[solver]
    if not fits(make(here), here):
        pytest.skip(f"{solver} is not for this regulariser")
    X = engine.rows(d.X)
    beside = replace(d, previous=engine.rows(d.previous, like=X))
    regularizer = REGULARIZERS[name][0](beside, weight(0.5))
    there = Problem(engine.cloud(X, d.Y), d.a, d.b, epsilon=0.5, regularizer=regularizer)
    found = run(there, make(there), engine, tol=tol, max_iter=max_iter)
    expected = run(here, make(here), PLAIN, tol=tol, max_iter=max_iter)
    assert found.converged
    assert expected.converged
    off = difference(found, expected, d)
    record_property("difference", off)
    assert off <= 1e-9
