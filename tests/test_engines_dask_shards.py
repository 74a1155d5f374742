"""What workers hold: as much as somebody needs, beside the rows it belongs to, on the cluster that it was put on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from problems import data
from sklearn.exceptions import ConvergenceWarning

from driftway import ForwardBackward, PointCloudCost, Problem, TimeSmoothness, solve

pytest.importorskip("distributed")

from driftway.engines import Dask
from driftway.engines.dask import cluster as dask_cluster
from driftway.engines.dask.cluster import FUSED
from driftway.engines.dask.rows import Rows
from driftway.engines.engine import Request
from driftway.geometry.matrices import Factored


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    with Dask(workers=2) as engine:
        yield engine


@pytest.mark.slow
def test_workers_hold_no_more_after_more_iterations(cluster: Dask) -> None:
    d = data(30, 8, seed=1)
    X = cluster.rows(d.X)
    previous = cluster.rows(d.previous, like=X)
    p = Problem(cluster.cloud(X, d.Y), epsilon=0.5, regularizer=TimeSmoothness(d.Y, previous, 0.5))
    counts: list[int] = []

    def count(*_: object) -> None:
        counts.append(max(cluster.client.run(lambda dask_worker: len(dask_worker.data)).values()))

    with pytest.warns(ConvergenceWarning):
        solve(p, ForwardBackward(), tol=1e-13, max_iter=12, engine=cluster, callback=count)
    # An iteration makes a hundred values, and a certificate a few that stay until the next call.
    assert max(counts[6:]) <= max(counts[:6]) + 60, counts


@pytest.mark.parametrize("error", [ZeroDivisionError, FileNotFoundError, TimeoutError])
def test_a_metric_that_fails_on_a_worker_says_so(cluster: Dask, error: type[Exception]) -> None:
    def broken(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if len(x) > 1:  # as on a worker
            raise error("broken metric")
        return np.ones((len(x), len(y)))

    d = data(10, 5, seed=0)
    with pytest.raises(error, match="broken metric"):
        solve(Problem(PointCloudCost(d.X, d.Y, broken), epsilon=0.5), engine=cluster)


def test_what_is_too_large_for_the_client_goes_between_workers(cluster: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are sent to one worker, and sums are merged by tasks: to the same bits."""
    d, rng = data(12, 5, seed=0), np.random.default_rng(1)
    cost = cluster.cloud(d.X, d.Y)
    log = Factored.of_cost(cost, d.Y, np.empty((12, 0))) / -0.5
    asked = Request(log, cost.constant(0.0), rng.normal(size=5), left=rng.normal(size=(12, 2)), entropy=True)
    direct = cluster.sweep(asked)
    monkeypatch.setattr(dask_cluster, "DIRECT", 8)
    around = cluster.sweep(asked)
    for name in ("f", "rows", "columns", "right", "left", "inner", "entropy", "excess"):
        np.testing.assert_array_equal(np.asarray(getattr(around, name)), np.asarray(getattr(direct, name)))


def test_masses_are_put_beside_the_rows(cluster: Dask) -> None:
    d = data(12, 5, seed=0)
    remote = Problem(cluster.cloud(d.X, d.Y), d.a, d.b, epsilon=0.5)
    assert isinstance(remote.a, Rows)
    expected = solve(Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.5))
    assert solve(remote, engine=cluster).value == pytest.approx(expected.value, rel=1e-6)


def test_rows_are_known_on_their_own_cluster_only(cluster: Dask) -> None:
    d = data(12, 5, seed=0)
    p = Problem(cluster.cloud(d.X, d.Y), epsilon=0.5)
    beside = Dask(cluster.client)
    assert solve(p, engine=beside).converged
    stranger = Dask(workers=1)
    with pytest.raises(ValueError, match="must be the Dask engine whose workers hold"):
        solve(p, engine=stranger)
    left = Problem(beside.cloud(d.X, d.Y), epsilon=0.5)
    beside.close()
    with pytest.raises(ValueError, match="whose cluster has been left since"):
        solve(left, engine=cluster)
    assert solve(p, engine=cluster).converged


def test_no_patience_is_none_for_workers_that_are_missing_alone(cluster: Dask) -> None:
    d = data(12, 5, seed=0)
    assert solve(Problem(PointCloudCost(d.X, d.Y), epsilon=0.5), engine=Dask(cluster.client, patience=0)).converged


def test_potentials_that_only_help_are_no_lineage(cluster: Dask) -> None:
    """The tasks that a scheduler remembers do not grow with the sweeps of Sinkhorn's algorithm."""
    d = data(12, 5, seed=0)
    cost = cluster.cloud(d.X, d.Y)
    log = Factored.of_cost(cost, np.empty((5, 0)), np.empty((12, 0))) / -0.5
    f, mass, counts = cost.constant(0.0), cost.constant(1.0 / 12), []
    for g in np.random.default_rng(0).normal(size=(8, 5)):
        f = cluster.sweep(Request(log, f, g, row_mass=mass)).f
        np.asarray(f)
        counts.append(len(cluster.client.cluster.scheduler.tasks))
    assert counts[-1] <= counts[1] + 2  # a result may be on its way out


def test_functions_of_rows_are_tasks_only_where_they_are_many(cluster: Dask) -> None:
    x = np.arange(6.0)
    X = total = cluster.rows(x)
    for _ in range(5):
        total = total + X
    assert total.value.parts is None
    for _ in range(100):
        total = total + X
    np.testing.assert_array_equal(np.asarray(total), 106 * x)
    assert total.value.size <= FUSED
