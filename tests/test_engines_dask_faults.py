"""Workers that die: what they held is computed again, and nobody waits for them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from agreement import PLAIN
from problems import Data, data

from driftway import PointCloudCost, Problem, Solution, TimeSmoothness, solve
from driftway.solvers import DualAscent, Sinkhorn

dask = pytest.importorskip("dask")
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
    for _ in range(3000):
        cluster.rows(np.zeros(1))  # the engine sees to it that lost workers are replaced
        found = cluster.client.run(os.getpid, on_error="ignore")
        if len(found) >= count:
            return list(found.values())
        time.sleep(0.2)
    raise AssertionError(f"no {count} workers in ten minutes")


class Sweeps:
    """Counts the sweeps of an engine; kills a process with one of them, or a part of a sweep's time later."""

    def __init__(self, cluster: Dask, at: int | None = None, process: int = 0, part: float = 0.0) -> None:
        self.count, self.at, self.process, self.part = 0, at, process, part
        self.cluster, self.sweep, self.killed = cluster, cluster.sweep, float("inf")
        self.timer: threading.Timer | None = None

    def __enter__(self) -> Sweeps:
        self.cluster.sweep = self._counted  # type: ignore[method-assign]
        self.began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.sweep = self.sweep  # type: ignore[method-assign]
        self.ended = time.monotonic()

    def _counted(self, request: object) -> object:
        if self.timer is not None:  # however late a thread is woken, the kill comes before the next sweep
            self.timer.join()
        if self.count == self.at:
            each = (time.monotonic() - self.began) / (self.count + 1)
            self.timer = threading.Timer(self.part * each, self._kill)
            self.timer.start()
        self.count += 1
        return self.sweep(request)

    def _kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        self.killed = time.monotonic()


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


def off(found: Solution, expected: Solution, d: Data) -> tuple[float, float]:
    """How far value and potentials are from where they should be, relative to their magnitudes."""
    level = [np.asarray(s.potentials[1]) @ d.b for s in (found, expected)]
    errors = []
    for k, sign in ((0, 1.0), (1, -1.0)):
        one, other = (np.asarray(s.potentials[k]) + sign * c for s, c in zip((found, expected), level, strict=True))
        errors.append(float(np.abs(one - other).max() / np.abs(other).max()))
    return abs(found.value - expected.value) / abs(expected.value), max(errors)


@pytest.mark.parametrize(
    "kind", ["dask", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("array", "dask, moments"))]
)
def test_a_worker_lost_in_the_middle_changes_nothing(cluster: Dask, kind: str) -> None:
    d = data(300, 60, seed=1)
    p, local, solver = problems(cluster, d, kind)
    expected = solve(local, solver, tol=1e-9, engine=PLAIN)
    for after in (7,) if kind == "dask" else (0, 7):
        with Sweeps(cluster, after, workers(cluster, 2)[0]) as sweeps:
            found = solve(p, solver, tol=1e-9, engine=cluster)
        assert sweeps.killed < sweeps.ended
        assert found.converged
        value, potentials = off(found, expected, d)
        assert value <= 1e-9
        assert potentials <= 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "dask", "dask, moments"])
def test_ten_random_kills(cluster: Dask, kind: str, record_property: Callable[[str, object], None]) -> None:
    chance, d = random.Random(0), data(3000, 1000, seed=2)
    p, local, solver = problems(cluster, d, kind)
    expected = solve(local, solver, tol=1e-9, engine=PLAIN)
    with Sweeps(cluster) as undisturbed:
        solve(p, solver, tol=1e-9, engine=cluster)
    for _ in range(KILLS):
        victim = chance.choice(workers(cluster, 2))
        p, _, _ = problems(cluster, d, kind)  # anew, so that whoever is killed has rows
        # Any moment of the solve but for its last tenth.
        at, part = chance.randrange(int(0.9 * undisturbed.count)), chance.random()
        with Sweeps(cluster, at, victim, part) as sweeps:
            found = solve(p, solver, tol=1e-9, engine=cluster)
        assert sweeps.killed < sweeps.ended, "the kill came after the solve"
        errors, seconds = off(found, expected, d), [s.ended - s.began for s in (sweeps, undisturbed)]
        record_property("kill", (f"{at + part:.1f} of {undisturbed.count} sweeps", seconds, errors))
        assert found.converged
        assert errors[0] <= 1e-9
        assert errors[1] <= 1e-7


def test_a_worker_that_dask_gives_up_is_replaced(cluster: Dask) -> None:
    """A worker killed for the second time in 15 seconds, or slow to start, is one that its cluster forgets."""
    victim = workers(cluster, 2)[0]
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}):
        os.kill(victim, signal.SIGKILL)
        deadline = time.monotonic() + 600.0
        while len(cluster.client.cluster.workers) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
    assert len(cluster.client.cluster.workers) == 1
    assert victim not in workers(cluster, 2)


def test_no_worker_left_is_an_error_and_not_a_hang() -> None:
    with (
        distributed.LocalCluster(1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local) as client,
    ):
        engine = Dask(client, patience=1.0)
        X = engine.rows(np.random.default_rng(0).normal(size=(20, 2)))
        assert np.isfinite(X.sum())
        local.scale(0)
        deadline = time.monotonic() + 600.0
        while client.nthreads() and time.monotonic() < deadline:
            time.sleep(0.1)
        with pytest.raises(RuntimeError, match="no Dask worker is left"):
            (X * 2.0).sum()
