"""The Dask engine: rows on worker processes, the same answers, and no more traffic than promised."""

from __future__ import annotations

import gc
import pickle
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import MOMENTS, PLAIN, SOLVERS, difference, fits, run
from joblib import Parallel, delayed
from problems import Data, data, problem

from benchmarks import streams
from benchmarks.drift.families import Task
from benchmarks.drift.run import run as run_task
from driftway import (
    ConditionalGradient,
    ContinuousTransportClassifier,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    Solution,
    TimeSmoothness,
    experiments,
    solve,
)
from driftway.cli import main
from driftway.engines import Threads
from driftway.engines.engine import Request
from driftway.experiments import scale
from driftway.geometry.costs import MatrixCost
from driftway.geometry.matrices import Factored
from driftway.solvers import DualNewton, FrankWolfe, Sinkhorn

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from driftway.engines import Dask  # noqa: E402 - needs distributed
from driftway.engines.dask.tasks import spread  # noqa: E402

QUICK = ("none", "time+laplacians")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    with Dask(workers=2) as engine:
        yield engine


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MOMENTS]
)
def test_dask_gives_what_threads_give(cluster: Dask, name: str) -> None:
    d = data(15, 11, seed=7)
    p = problem(d, name, 0.5)
    for solver in SOLVERS:
        if fits(solver, p):
            assert_same(run(p, solver, cluster, tol=1e-8, max_iter=2), run(p, solver, PLAIN, tol=1e-8, max_iter=2), d)


def assert_same(found: Solution, expected: Solution, d: Data) -> None:
    assert found.n_iter == expected.n_iter
    assert difference(found, expected, d) <= 1e-9


def sharded(cluster: Dask, d: Data, epsilon: float, weight: float) -> tuple[Problem, Problem]:
    """A problem whose source is a Dask array, and the same in memory."""
    X = cluster.rows(da.from_array(d.X, chunks=(7, 1)))
    previous, a = cluster.rows(da.from_array(d.previous, chunks=11), like=X), cluster.rows(d.a, like=X)
    remote = TimeSmoothness(d.Y, previous, weight) if weight else None
    local = TimeSmoothness(d.Y, d.previous, weight) if weight else None
    return (
        Problem(cluster.cloud(X, d.Y), a, d.b, epsilon=epsilon, regularizer=remote),
        Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=epsilon, regularizer=local),
    )


@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize(
    "solver",
    [SOLVERS[0], SOLVERS[3], *(pytest.param(solver, marks=pytest.mark.slow) for solver in SOLVERS[1:3])],
    ids=repr,
)
def test_a_source_that_never_meets_has_the_same_plan(cluster: Dask, solver: object, weight: float) -> None:
    d = data(40, 12, seed=3)
    remote, local = sharded(cluster, d, 0.5, weight)
    if fits(solver, local):
        found, expected = (run(p, solver, e, tol=1e-8, max_iter=1) for p, e in ((remote, cluster), (local, PLAIN)))
        assert_same(found, expected, d)


@pytest.mark.parametrize(
    "name",
    ["sum", *(pytest.param(n, marks=pytest.mark.slow) for n in ("multiple", "laplacian-source", "laplacian-target"))],
)
def test_moment_regularizers_meet_rows_that_are_elsewhere(cluster: Dask, name: str) -> None:
    d = data(30, 10, seed=4)

    def regularizer(previous: object) -> object:
        return {
            "sum": lambda: TimeSmoothness(d.Y, previous, 0.2) + TimeSmoothness(d.Y, previous, 0.5, "coupling"),
            "multiple": lambda: 2.0 * TimeSmoothness(d.Y, previous, 0.2),
            "laplacian-source": lambda: Laplacian(d.source_similarity, d.Y, 0.2),
            "laplacian-target": lambda: Laplacian(d.target_similarity, d.X, 0.2, side="target"),
        }[name]()

    X = cluster.rows(da.from_array(d.X, chunks=8))
    masses = {"b": d.b, "epsilon": 0.5}
    remote = Problem(cluster.cloud(X, d.Y), regularizer=regularizer(cluster.rows(d.previous, like=X)), **masses)
    local = Problem(PointCloudCost(d.X, d.Y), regularizer=regularizer(d.previous), **masses)
    found, expected = solve(remote, engine=cluster), solve(local, engine=Threads(memory=0, compiled=False))
    assert found.converged
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def test_parquet_parts_are_a_source(cluster: Dask, tmp_path: object) -> None:
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    d = data(30, 8, seed=5)
    for part in range(3):
        rows = slice(10 * part, 10 * part + 10)
        pd.DataFrame({"x": d.X[rows, 0], "y": d.X[rows, 1]}).to_parquet(tmp_path / f"part.{part}.parquet")
    cost = cluster.cloud(dd.read_parquet(tmp_path), d.Y)
    found = solve(Problem(cost, b=d.b, epsilon=0.5), Sinkhorn(), engine=cluster)
    local = Problem(PointCloudCost(d.X, d.Y), b=d.b, epsilon=0.5)
    expected = solve(local, Sinkhorn(), engine=Threads(memory=0))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(np.asarray(found.plan.barycentric_map(d.Y)), expected.plan.barycentric_map(d.Y))


def test_bytes_per_sweep_do_not_depend_on_the_rows(cluster: Dask) -> None:
    """At most 3·m·(r + 2) numbers go to a worker and come back, whatever n."""
    m, sent = 4000, []
    for n in (200, 2000):
        d = data(n, 4, seed=0)
        Y, rng = np.random.default_rng(1).normal(size=(m, 2)), np.random.default_rng(2)
        X = cluster.rows(da.from_array(d.X, chunks=100))
        cost, r = cluster.cloud(X, Y), 2
        log = Factored.of_cost(cost, Y, np.empty((n, 0))) / -0.5
        f, mass = cost.constant(0.0), cost.constant(1.0 / n)
        cluster.sweep(Request(log, f, np.zeros(m), row_mass=mass, right=Y))  # points and bases are sent once
        before = cluster.traffic.sent + cluster.traffic.received
        sums = cluster.sweep(Request(log, f, rng.normal(size=m), row_mass=mass, right=Y))
        sent.append(cluster.traffic.sent + cluster.traffic.received - before)
        assert sent[-1] <= 2 * 3 * m * (r + 2) * 8
        assert np.asarray(sums.rows) == pytest.approx(np.full(n, 1 / n))
    assert sent[0] == pytest.approx(sent[1], rel=0.02)


def test_the_client_of_a_dask_source_holds_no_rows(cluster: Dask) -> None:
    """Peak memory of the client for a thousand times as many rows as columns is a fraction of one vector of rows."""
    n, m = 400_000, 20
    Y = np.random.default_rng(0).normal(size=(m, 2))
    X = da.random.default_rng(1).normal(size=(n, 2), chunks=(50_000, 2))
    warm = Problem(cluster.cloud(X[:1000], Y), epsilon=1.0)
    solve(warm, tol=1e-4, engine=cluster)
    tracemalloc.start()
    try:
        found = solve(Problem(cluster.cloud(X, Y), epsilon=1.0), tol=1e-4, engine=cluster)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.converged
    assert peak < 8 * n / 2


def test_rows_compute_as_numpy_does(cluster: Dask) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    X = cluster.rows(x)
    Y = cluster.rows(y, like=X)
    pairs = [
        (X + 2 * Y[:, None] - x, 2 * y[:, None] * np.ones(3)),
        (np.where(Y > 0, Y, -1.0), np.where(y > 0, y, -1.0)),
        (np.divide(1.0, Y, out=np.zeros_like(Y), where=Y > 0), np.divide(1.0, y, out=np.zeros(9), where=y > 0)),
        (X.sum(axis=1), x.sum(axis=1)),
        (X @ np.ones((3, 2)), x @ np.ones((3, 2))),
        (np.multiply.outer(Y, np.arange(9.0)), np.multiply.outer(y, np.arange(9.0))),
        (X.ravel().reshape((9, 3)), x),
        (X[2:7], x[2:7]),
        (X[:, 1], x[:, 1]),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(np.asarray(found), expected)
    numbers = [
        (X.sum(), x.sum()),
        (X.sum(axis=0), x.sum(axis=0)),
        (np.dot(Y, y), y @ y),
        (np.vdot(X, x), np.vdot(x, x)),
        (Y @ X, y @ x),
        (Y[Y > 0].min(), y[y > 0].min()),
        (np.abs(Y[Y > 9]).max(initial=0.0), 0.0),
        ((Y > 9).any(), False),
        (np.isfinite(X).all(), True),
    ]
    for found, expected in numbers:
        np.testing.assert_allclose(found, expected)
    Y -= 1.0
    np.testing.assert_allclose(np.asarray(Y), y - 1.0)


def test_what_cannot_be_done_with_shards_is_said(cluster: Dask) -> None:
    d = data(10, 5, seed=0)
    cost = cluster.cloud(d.X, d.Y)
    for solver in (ConditionalGradient(), FrankWolfe()):
        with pytest.raises(ValueError, match=r"live in the shards of a cluster; use Sinkhorn, DualAscent or Forward"):
            solve(Problem(cost, epsilon=0.5), solver, engine=cluster)
    grouped = Problem(cost, epsilon=0.5, regularizer=GroupLasso(d.labels, 0.3))
    for solver in (None, DualNewton()):
        with pytest.raises(ValueError, match="live in the shards of a cluster; use Sinkhorn"):
            solve(grouped, solver, engine=cluster)
    with pytest.raises(
        ValueError, match=r"which Dask\(.* does not; use driftway.engines.Threads\(\), or use ForwardBackward"
    ):
        solve(problem(d, "lasso", 0.5), DualNewton(), engine=cluster)
    for engine in (None, Threads()):
        with pytest.raises(ValueError, match="engine must be the Dask engine whose workers hold the source points"):
            solve(Problem(cost, epsilon=0.5), engine=engine)
    with pytest.raises(ValueError, match="metric must be one of"):
        cluster.cloud(d.X, d.Y, "seuclidean")
    with pytest.raises(ValueError, match="X must be finite"):
        cluster.cloud(da.from_array(np.full((4, 2), np.nan)), d.Y)
    with pytest.raises(ValueError, match="as many rows as those"):
        cluster.rows(d.a[:3], like=cost.X)
    with pytest.raises(TypeError, match="sort is not among"):
        np.sort(cost.constant(0.5))
    with pytest.raises(ValueError, match="workers must be left out"):
        Dask("tcp://127.0.0.1:1", workers=2)
    with pytest.raises(TypeError, match="address must be"):
        Dask(8786)


def test_every_operation_is_that_of_threads(cluster: Dask) -> None:
    rng, threads, d = np.random.default_rng(3), Threads(compiled=False), data(9, 7, seed=0)
    f, g, factors, basis = rng.normal(size=9), rng.normal(size=7), list(rng.normal(size=(2, 9, 3))), rng.random((7, 3))
    bases = rng.normal(size=(7, 2)), rng.normal(size=(9, 3)), -2.0, rng.normal(size=(9, 2)), rng.normal(size=(7, 3))
    costs = [PointCloudCost(d.X, d.Y, metric) for metric in ("euclidean", "sqeuclidean", "seuclidean")]
    for cost in (*costs, MatrixCost(rng.random((9, 7)))):
        log = Factored(cost, *bases)
        for found, expected in (
            (cluster.log_columns(log, f - 800.0), threads.log_columns(log, f - 800.0)),
            (cluster.exponential(log, f, g), threads.exponential(log, f, g)),
            (cluster.gram(log, f, g, factors, basis), threads.gram(log, f, g, factors, basis)),
            (cluster.assemble(log), threads.assemble(log)),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
        for asked in (
            Request(log, f, g, right=rng.random((7, 2)), left=rng.random((9, 2)), inner=2.0 * log, entropy=True),
            Request(log, f, g, remainder=(rng.random(9), rng.random(7))),
            Request(log, f - 900.0, g, row_mass=rng.random(9)),
        ):
            found, expected = cluster.sweep(asked), threads.sweep(asked)
            for name in ("f", "rows", "columns", "right", "left", "inner", "entropy", "excess"):
                np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-13)


def test_workers_drop_what_nobody_needs(cluster: Dask) -> None:
    def held() -> int:
        return sum(cluster.client.run(lambda dask_worker: len(dask_worker.data)).values())

    d = data(30, 8, seed=1)
    gc.collect()
    cluster.rows(d.a).sum()  # whatever was over is dropped with the next call
    before = held()
    for _ in range(3):
        p = Problem(cluster.cloud(d.X, d.Y), epsilon=0.5)
        assert solve(p, engine=cluster).converged
        del p
    gc.collect()
    for _ in range(3000):  # dropping is not waited for, so that only a leak comes to the end of this
        cluster.rows(d.a).sum()
        if held() <= before + 1:
            break
        time.sleep(0.1)
    assert held() <= before + 1


def test_a_row_without_mass_is_sent_where_its_neighbours_would(cluster: Dask) -> None:
    d = data(20, 8, seed=1)
    a = np.where(np.arange(20) == 4, 0.0, d.a)
    a /= a.sum()
    X = cluster.rows(d.X)
    remote = Problem(cluster.cloud(X, d.Y), cluster.rows(a, like=X), d.b, epsilon=0.5)
    local = Problem(PointCloudCost(d.X, d.Y), a, d.b, epsilon=0.5)
    expected = solve(local, Sinkhorn(), engine=Threads(memory=0)).plan
    np.testing.assert_allclose(
        np.asarray(solve(remote, Sinkhorn(), engine=cluster).plan.barycentric_map(d.Y)),
        expected.barycentric_map(d.Y),
        rtol=1e-6,
    )


def test_progress_says_where_the_cluster_can_be_watched(cluster: Dask, capfd: pytest.CaptureFixture[str]) -> None:
    solve(problem(data(15, 11, seed=0), "none", 0.5), engine=cluster, progress=True)
    assert cluster.dashboard in capfd.readouterr().out


@pytest.mark.slow
def test_adaptation_runs_on_the_cluster(cluster: Dask) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(10, 2)), rng.normal(size=(10, 2)) + 4.0])
    y, batch = np.repeat([0, 1], 10), X[::2] + 0.5
    found = [
        ContinuousTransportClassifier(engine=engine).fit(X, y).partial_fit(batch).predict(batch)
        for engine in (cluster, Threads())
    ]
    np.testing.assert_array_equal(*found)


def test_the_engine_pickles_as_its_address(cluster: Dask) -> None:
    engine = Dask(cluster.client)
    again = pickle.loads(pickle.dumps(engine))
    assert repr(again) == repr(engine)
    with again:
        assert again.rows(np.arange(5.0)).sum() == 10.0
    assert cluster.dashboard.startswith("http")


@pytest.mark.slow
def test_the_evaluation_on_a_cluster_is_the_serial_one(cluster: Dask) -> None:
    def run(where: str | None) -> list[dict]:
        with spread(where, 1):
            runs = Parallel()(
                delayed(run_task)(
                    Task("moons", "moons", seed, lambda seed=seed: streams.rotating_moons(seed, steps=2)), ["driftway"]
                )
                for seed in (0, 1)
            )
        return [{key: run["found"]["driftway"][key] for key in ("mean", "last", "warned")} for run in runs]

    assert run(cluster.client.scheduler.address) == run(None)


def reproduced(out: Path, *options: str) -> dict[str, bytes]:
    """What `driftway reproduce figure3 --quick` saves: one file per task."""
    assert main(["reproduce", "figure3", "--quick", "--out", str(out), *options]) == 0
    return {path.name: path.read_bytes() for path in (out / "data").iterdir()}


@pytest.mark.slow
def test_figure_3_on_a_cluster_is_the_serial_one(
    cluster: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"strengths": {"euclidean": (0.3, 0.4), "sqeuclidean": (0.8,)}, "runs": 2, "horizons": (2, 3)}
    monkeypatch.setattr(experiments, "QUICK", replace(scale.QUICK, **small))
    serial = reproduced(tmp_path / "serial", "--jobs", "1")
    address = cluster.client.scheduler.address
    assert reproduced(tmp_path / "spread", "--jobs", "1", "--cluster", address) == serial
    assert f"on the cluster at {address}, which can be watched at {cluster.dashboard}" in capsys.readouterr().err


@pytest.mark.slow
def test_figure_3_on_the_embedded_cluster_is_the_serial_one(tmp_path: Path) -> None:
    assert reproduced(tmp_path / "spread", "--jobs", "2", "--cluster", "local") == reproduced(tmp_path / "serial")


def test_an_address_without_a_scheduler_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--cluster", "pigeon://loft"]) == 2
    assert "--cluster pigeon://loft: no Dask scheduler answers at pigeon://loft" in capsys.readouterr().err
