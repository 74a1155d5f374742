"""Workers that die: what they held is computed again, and nobody waits for them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from problems import Data, data

from driftway import DualAscent, PointCloudCost, Problem, Sinkhorn, Solution, Threads, TimeSmoothness, solve

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from driftway.engines import Dask  # noqa: E402 - needs distributed

KILLS = 10


@pytest.fixture
def cluster() -> Iterator[Dask]:
    with Dask(workers=2) as engine:
        yield engine


def workers(cluster: Dask, count: int) -> list[int]:
    """The processes of the workers, once there are so many; bounded."""
    for look in range(400):
        found = cluster.client.run(os.getpid, on_error="ignore")
        if len(found) >= count:
            return list(found.values())
        if look % 50 == 49:  # who should have started a new process sometimes does not
            cluster.client.cluster.scale(count + 1 + look // 50)
        time.sleep(0.2)
    raise AssertionError(f"no {count} workers in a minute")


class Killer:
    """Kills a worker after so many sweeps of the engine, or a moment later."""

    def __init__(self, cluster: Dask, process: int, after: int, delay: float = 0.0) -> None:
        self.left, self.process, self.delay, self.sweep = after, process, delay, cluster.sweep
        self.killed = False
        cluster.sweep = self  # type: ignore[method-assign]

    def __call__(self, request: object) -> object:
        self.left -= 1
        if self.left < 0 and not self.killed:
            self.killed = True
            threading.Timer(self.delay, os.kill, (self.process, signal.SIGKILL)).start()
        return self.sweep(request)

    def remove(self, cluster: Dask) -> None:
        assert self.killed
        cluster.sweep = self.sweep  # type: ignore[method-assign]


def problems(cluster: Dask, d: Data, kind: str) -> tuple[Problem, Problem, object]:
    """A problem on the cluster, the same in memory, and a solver."""
    masses = {"a": d.a, "b": d.b, "epsilon": 0.2}
    smooth = TimeSmoothness(d.Y, d.previous, 0.5)
    if kind == "array":
        p = Problem(PointCloudCost(d.X, d.Y), **masses, regularizer=smooth)
        return p, p, DualAscent()
    X = cluster.rows(da.from_array(d.X, chunks=100))
    remote = {**masses, "a": cluster.rows(d.a, like=X)}
    if kind == "dask":
        return Problem(cluster.cloud(X, d.Y), **remote), Problem(PointCloudCost(d.X, d.Y), **masses), Sinkhorn()
    far = TimeSmoothness(d.Y, cluster.rows(da.from_array(d.previous, chunks=100), like=X), 0.5)
    remote_problem = Problem(cluster.cloud(X, d.Y), **remote, regularizer=far)
    return remote_problem, Problem(PointCloudCost(d.X, d.Y), **masses, regularizer=smooth), DualAscent()


def assert_same(found: Solution, expected: Solution, d: Data) -> None:
    assert found.converged
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    level = [np.asarray(s.potentials[1]) @ d.b for s in (found, expected)]
    for k, sign in ((0, 1.0), (1, -1.0)):
        one, other = (np.asarray(s.potentials[k]) + sign * c for s, c in zip((found, expected), level, strict=True))
        assert np.abs(one - other).max() <= 1e-7 * np.abs(other).max()


@pytest.mark.parametrize(
    "kind", ["dask", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("array", "dask, moments"))]
)
def test_a_worker_lost_in_the_middle_changes_nothing(cluster: Dask, kind: str) -> None:
    d = data(300, 60, seed=1)
    p, local, solver = problems(cluster, d, kind)
    expected = solve(local, solver, tol=1e-9, engine=Threads(memory=0, compiled=False, mixed=False))
    for after in (7,) if kind == "dask" else (0, 7):
        killer = Killer(cluster, workers(cluster, 2)[0], after)
        found = solve(p, solver, tol=1e-9, engine=cluster)
        killer.remove(cluster)
        assert_same(found, expected, d)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "dask", "dask, moments"])
def test_ten_random_kills(cluster: Dask, kind: str) -> None:
    chance = random.Random(0)
    d = data(3000, 1000, seed=2)
    p, local, solver = problems(cluster, d, kind)
    expected = solve(local, solver, tol=1e-9, engine=Threads(memory=0, compiled=False, mixed=False))
    for _ in range(KILLS):
        victim = chance.choice(workers(cluster, 2))
        killer = Killer(cluster, victim, chance.randrange(25), chance.uniform(0.0, 0.2))
        found = solve(p, solver, tol=1e-9, engine=cluster)
        killer.remove(cluster)
        assert_same(found, expected, d)


def test_no_worker_left_is_an_error_and_not_a_hang() -> None:
    with (
        distributed.LocalCluster(1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local) as client,
    ):
        engine = Dask(client, patience=1.0)
        X = engine.rows(np.random.default_rng(0).normal(size=(20, 2)))
        assert np.isfinite(X.sum())
        local.scale(0)
        deadline = time.monotonic() + 30.0
        while client.nthreads() and time.monotonic() < deadline:
            time.sleep(0.1)
        began = time.monotonic()
        with pytest.raises(RuntimeError, match="no Dask worker is left"):
            (X * 2.0).sum()
        assert time.monotonic() - began < 60.0
