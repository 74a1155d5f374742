"""The Dask engine: rows sharded over the workers of a cluster, columns broadcast, sums reduced in a tree."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import finite_array, positive_integer, real_number
from driftway.engines.cores import available_cores
from driftway.engines.dask import shard
from driftway.engines.dask.cluster import SOON, Cluster, Sharding, Traffic, Value
from driftway.engines.dask.cost import ShardedCloudCost
from driftway.engines.dask.rows import Rows
from driftway.engines.engine import Engine, Kernel, Request, Sweep
from driftway.engines.threads.engine import Threads
from driftway.geometry.cost import Cost
from driftway.geometry.matrices import Factored, Matrix

Double = npt.NDArray[np.float64]

# What a sweep leaves behind, and how the shards' shares become one.
ROW_PARTS = ("f", "rows", "right")
COLUMN_PARTS = ("columns", "left", "inner", "entropy", "excess")


class Dask(Engine):
    """Rows on the workers of a Dask cluster.

    A worker that is lost costs the computation of its rows again, on the others or on the one that takes its
    place. What is an array by nature (a plan under a group lasso, a conditional gradient) stays on the client.

    Parameters
    ----------
    address : str or distributed.Client, optional
        The scheduler's address or a client of it; by default a cluster of processes on this machine, started
        when it is first needed and closed with the engine. Those processes import the script that started them,
        so what it does belongs under `if __name__ == "__main__"`.
    workers : int, optional
        Processes of that cluster, of one thread each; the number of available cores by default.
    patience : float
        Seconds to wait for a worker when none is left.

    Examples
    --------
    >>> from driftway import solve
    >>> from driftway.engines import Dask
    >>> with Dask("tcp://scheduler:8786") as engine:  # doctest: +SKIP
    ...     solution = solve(problem, engine=engine)
    ...     print(engine.traffic, engine.dashboard, len(engine.client.nthreads()))
    Traffic(sent=86264, received=13056, calls=58) http://scheduler:8787/status 2
    >>> engine = Dask(workers=2)  # doctest: +SKIP
    >>> print(engine.knows(engine.rows(np.zeros((4, 2)))))  # doctest: +SKIP
    True
    >>> engine.close()  # as leaving a `with` block does  # doctest: +SKIP

    """

    def __init__(self, address: Any = None, *, workers: int | None = None, patience: float = 30.0) -> None:
        _import_distributed()
        self.address = address
        if not (address is None or isinstance(address, str) or hasattr(address, "scheduler")):
            raise TypeError(
                f"address must be the address of a scheduler or a distributed.Client, got "
                f"{type(address).__name__} {address!r}"
            )
        if address is not None and workers is not None:
            raise ValueError("workers must be left out when an address is given: the cluster there has its own")
        self.workers = positive_integer("workers", available_cores() if workers is None else workers)
        self.patience = real_number("patience", patience, minimum=0.0)
        self._cluster: Cluster | None = None
        self._owned: list[Any] = []
        self._costs: WeakKeyDictionary[Cost, Value] = WeakKeyDictionary()
        self._host = Threads(memory=0)  # for what is an array on the client by nature

    def __repr__(self) -> str:
        where = f"workers={self.workers}" if self.address is None else repr(_name(self.address))
        return f"Dask({where}, patience={self.patience:g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (None if self.address is None else _name(self.address), self.workers, self.patience)

    def __deepcopy__(self, memory: dict[int, Any]) -> Self:
        return self  # there is one cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and the cluster if it was started here. Leaving a `with` block does the same."""
        if self._cluster is not None:
            self._cluster.closed = True
        self._cluster = None
        self._costs.clear()
        while self._owned:
            self._owned.pop().close()

    @property
    def client(self) -> Any:
        """The `distributed.Client`, connected when it is first needed."""
        return self._connected.client

    @property
    def dashboard(self) -> str:
        """The address of the page on which the cluster can be watched."""
        return str(self.client.dashboard_link)

    def notice(self) -> str:
        return f"the cluster can be watched at {self.dashboard}"

    @property
    def traffic(self) -> Traffic:
        """Bytes that have gone to the workers and come back so far, and in how many calls."""
        return self._connected.traffic

    @property
    def _connected(self) -> Cluster:
        if self._cluster is None:
            distributed, client = _import_distributed(), self.address
            if self.address is None:
                cluster = distributed.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                )
                client = distributed.Client(cluster)
                self._owned = [cluster, client]
            elif isinstance(self.address, str):
                client = distributed.Client(self.address, timeout=max(self.patience, SOON))
                self._owned = [client]
            self._cluster = Cluster(client, self.patience, own=self.workers if self.address is None else 0)
        return self._cluster

    def rows(self, source: Any, like: Rows | None = None) -> Rows:
        """Rows that live with the workers, from a Dask array or data frame, or from an array of this machine.

        Parameters
        ----------
        source : dask.array.Array, dask.dataframe.DataFrame or array (n, …)
            The parts of a Dask collection go from where they are to the workers that keep them.
        like : Rows, optional
            Rows to put these beside; they must be as many.

        Returns
        -------
        Rows
            NumPy computes with them as with an array; `np.asarray` fetches them.

        Examples
        --------
        >>> import dask.dataframe as dd  # doctest: +SKIP
        >>> with Dask("tcp://scheduler:8786") as engine:  # doctest: +SKIP
        ...     X = engine.rows(dd.read_parquet("parts/"))
        ...     previous = engine.rows(dd.read_parquet("mapped/"), like=X)
        ...     print((X - previous).sum(axis=0))

        """
        cluster = self._connected
        if hasattr(source, "to_dask_array"):
            source = source.to_dask_array(lengths=True)
        if not hasattr(source, "to_delayed"):
            array = finite_array("source", source, ndim=np.ndim(source))
            sharding = cluster.shards(len(array)) if like is None else _beside(like, len(array))
            return Rows(sharding.by_rows(array).computed(), array[:0])
        if any(np.isnan(size) for sizes in source.chunks for size in sizes):
            source = source.compute_chunk_sizes()
        sharding = cluster.shards(source.shape[0]) if like is None else _beside(like, source.shape[0])
        sizes = tuple(bound.stop - bound.start for bound in sharding.bounds)
        parts = source.rechunk((sizes, *((size,) for size in source.shape[1:]))).to_delayed().ravel()
        futures = self.client.compute(list(parts))
        return Rows(sharding.source(futures), np.empty((0, *source.shape[1:]), source.dtype))

    def cloud(self, X: Any, Y: npt.ArrayLike, metric: Any = "euclidean") -> ShardedCloudCost:
        """The cost between source points X, kept by the workers, and target points Y.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame, array (n, d) or Rows
            A Dask collection (of Parquet parts, say) never meets on one machine. `Rows` are with the workers already.
        Y : array (m, d)
            Every worker gets all of them.
        metric : str or callable
            A metric that needs to know no more than two points, or a callable as for `PointCloudCost`.

        Returns
        -------
        ShardedCloudCost
            A cost for `Problem`. Only this engine, or another one of the same cluster, can solve it.

        Examples
        --------
        >>> import dask.array as da  # doctest: +SKIP
        >>> X = da.random.default_rng(0).normal(size=(10**6, 2), chunks=(10**5, 2))  # doctest: +SKIP
        >>> with Dask() as engine:  # doctest: +SKIP
        ...     solution = solve(Problem(engine.cloud(X, Y), epsilon=0.1), engine=engine)
        ...     images = solution.plan.barycentric_map(Y)

        """
        return ShardedCloudCost(X if isinstance(X, Rows) else self.rows(X), Y, metric)

    def knows(self, rows: object) -> bool:
        """Whether rows are with the workers of this engine's cluster."""
        if not isinstance(rows, Rows):
            return False
        cluster, theirs = self._cluster if self.address is None else self._connected, rows.sharding.cluster
        return cluster is not None and not theirs.closed and theirs.address == cluster.address

    def sweep(self, request: Request) -> Sweep:
        log, inner = self._spread(request.log), None if request.inner is None else self._spread(request.inner)
        if log is None or (request.inner is not None and (inner is None or not _same_cost(request.log, request.inner))):
            return self._host.sweep(request)
        sharding, remainder = log.sharding, request.remainder
        f = sharding.by_rows(request.f)
        if request.row_mass is not None and remainder is None:
            f = sharding.hint(f)
        asked = {
            "g": sharding.everywhere(request.g),
            "row_mass": sharding.steady(request.row_mass, by_rows=True),
            "right": sharding.steady(request.right, by_rows=False),
            "left": sharding.steady(request.left, by_rows=True),
            "inner": inner,
            "remainder": remainder and (sharding.by_rows(remainder[0]), sharding.everywhere(remainder[1])),
            "entropy": request.entropy,
            "single": request.single,
        }
        swept = sharding.value(shard.sweep, log, f, **asked).computed()
        rows = [sharding.value(getattr, swept, name) for name in ROW_PARTS]
        sums = [(sharding.value(getattr, swept, name), "sum") for name in COLUMN_PARTS]
        if not isinstance(request.f, Rows):
            fetched = sharding.fetched([*((value, "rows") for value in rows), *sums], self.watch)
            own, (columns, left, *numbers) = fetched[: len(rows)], fetched[len(rows) :]
        else:  # what belongs to rows stays with them
            columns, left, *numbers = sharding.fetched(sums, self.watch)
            r = 0 if request.right is None else request.right.shape[1]
            own = list(map(Rows, rows, (np.empty(0), np.empty(0), np.empty((0, r)))))
        return Sweep(own[0], own[1], columns, own[2], left, *map(float, numbers))

    def log_columns(self, log: Matrix, f: Double) -> Double:
        if (spread := self._spread(log)) is None:
            return self._host.log_columns(log, f)
        return self._merged("logaddexp", Threads.log_columns, spread, spread.sharding.by_rows(f))

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> Kernel | None:
        """`None`: rows stay where they are."""
        return None

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        if (spread := self._spread(log)) is None:
            return self._host.exponential(log, f, g)
        potentials = spread.sharding.by_rows(f), spread.sharding.everywhere(g)
        return self._merged("rows", Threads.exponential, spread, *potentials)

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        if (spread := self._spread(log)) is None:
            return self._host.gram(log, f, g, factors, basis)
        by_rows, everywhere = spread.sharding.by_rows, spread.sharding.everywhere
        arguments = by_rows(f), everywhere(g), [by_rows(factor) for factor in factors], everywhere(basis)
        return self._merged("sum", Threads.gram, spread, *arguments)

    def assemble(self, matrix: Matrix) -> Double:
        if (factored := matrix.factored) is not None and factored.cost.remote:
            raise ValueError(
                "this needs the matrix as one array, but its rows live in the shards of a cluster; use Sinkhorn, "
                "DualAscent or ForwardBackward (driftway.solvers), and a regularizer that sees the plan through moments"
            )
        return self._host.assemble(matrix)

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        return self._host.total(function, *arrays)

    def sums(self, gamma: Double, other: Double) -> tuple[Double, Double, float, float]:
        return self._host.sums(gamma, other)

    def scaled(self, gamma: Double, s: Double, t: Double, u: Double, v: Double) -> Double:
        return self._host.scaled(gamma, s, t, u, v)

    def _merged(self, how: str, method: Callable[..., Double], matrix: Value, *arguments: Any) -> Double:
        """What a method of `Threads` returns for the rows of every shard, merged."""
        value = matrix.sharding.value(shard.applied, method, matrix, *arguments).computed()
        (result,) = matrix.sharding.fetched([(value, how)], self.watch)
        return np.asarray(result)

    def _spread(self, matrix: Matrix) -> Value | None:
        """The rows of a matrix on the workers, if they can be had from rows of arrays."""
        if (factored := matrix.factored) is None or not (factored.cost.remote or factored.cost.split is not None):
            return None
        cost = self._cost(factored.cost)
        sharding = cost.sharding
        R, L = sharding.steady(factored.R, by_rows=False), sharding.steady(factored.L, by_rows=True)
        P, Q = sharding.by_rows(factored.P), sharding.everywhere(factored.Q)
        return sharding.value(Factored, cost, R, L, factored.scale, P, Q)

    def _cost(self, cost: Cost) -> Value:
        """The rows of a cost on the workers, sent there when they are first needed."""
        if isinstance(cost, ShardedCloudCost):
            return cost.shards
        if (found := self._costs.get(cost)) is None:
            assert cost.split is not None
            sharding, (make, rows, others) = self._connected.shards(cost.shape[0]), cost.split
            sent = (sharding.everywhere(each) if isinstance(each, np.ndarray) else each for each in others)
            found = self._costs[cost] = sharding.value(make, sharding.by_rows(rows), *sent).computed()
        return found


def _same_cost(one: Matrix, other: Matrix) -> bool:
    return one.factored is not None and other.factored is not None and one.factored.cost is other.factored.cost


def _beside(rows: Rows, count: int) -> Sharding:
    """The sharding of other rows, which must be as many."""
    if len(rows) != count:
        raise ValueError(f"source must have as many rows as those it is put beside ({len(rows)}), got {count}")
    sharding: Sharding = rows.sharding
    return sharding


def _again(address: str | None, workers: int, patience: float) -> Dask:
    return Dask(patience=patience, workers=workers) if address is None else Dask(address, patience=patience)


def _name(address: Any) -> str:
    return address if isinstance(address, str) else str(address.scheduler.address)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("the Dask engine needs dask.distributed: pip install 'driftway[dask]'") from None
    return distributed
