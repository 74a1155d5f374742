"""The Dask engine: rows sharded over the workers of a cluster, columns broadcast, sums reduced in a tree."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import finite_array, positive_integer, real_number
from driftway.engines.cores import available_cores
from driftway.engines.dask import shard
from driftway.engines.dask.cost import ShardedCloudCost
from driftway.engines.dask.lineage import Hint, Sharding, Value
from driftway.engines.dask.rows import Rows
from driftway.engines.dask.transport import Traffic, Transport
from driftway.engines.engine import Kernel, Request, Sweep
from driftway.engines.threads.engine import Threads
from driftway.geometry.costs import Cost, MatrixCost, PointCloudCost
from driftway.geometry.matrices import Factored, Matrix

Double = npt.NDArray[np.float64]

# Arrays that a sharding remembers to have sent: bases and masses come again and again.
REMEMBERED = 16
# What a sweep leaves behind, and how the shards' shares become one.
ROW_PARTS = ("f", "rows", "right")
COLUMN_PARTS = ("columns", "left", "inner", "entropy", "excess")


class Dask:
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
        # Told the share of a long sweep that is done, while somebody watches.
        self.watch: Callable[[float], None] | None = None
        self._transport: Transport | None = None
        self._owned: list[Any] = []
        self._sharded: WeakKeyDictionary[Any, tuple[Sharding, Value]] = WeakKeyDictionary()
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
        """Ends the connection, and the cluster if it was started here."""
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        self._sharded.clear()
        while self._owned:
            self._owned.pop().close()

    @property
    def client(self) -> Any:
        """The `distributed.Client`."""
        return self._connected.client

    @property
    def dashboard(self) -> str:
        """Where the cluster can be watched."""
        return str(self.client.dashboard_link)

    @property
    def traffic(self) -> Traffic:
        """What has gone to the workers and come back so far."""
        return self._connected.traffic

    @property
    def _connected(self) -> Transport:
        if self._transport is None:
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
                client = distributed.Client(self.address, timeout=max(self.patience, 1.0))
                self._owned = [client]
            self._transport = Transport(client, self.patience, own=self.workers if self.address is None else 0)
        return self._transport

    def rows(self, source: Any, like: Rows | None = None) -> Rows:
        """Rows that live with the workers, from a Dask array or data frame, or from an array of this machine.

        The parts of a Dask collection go from where they are to the workers that keep them. `like` puts rows
        beside others: they must be as many.
        """
        transport = self._connected
        if hasattr(source, "to_dask_array"):
            source = source.to_dask_array(lengths=True)
        if not hasattr(source, "to_delayed"):
            array = finite_array("source", source, ndim=np.ndim(source))
            sharding = transport.shards(len(array)) if like is None else _beside(like, len(array))
            return Rows(transport, sharding.leaf(array, by_rows=True), array[:0])
        if any(np.isnan(size) for sizes in source.chunks for size in sizes):
            source = source.compute_chunk_sizes()
        sharding = transport.shards(source.shape[0]) if like is None else _beside(like, source.shape[0])
        sizes = tuple(bound.stop - bound.start for bound in sharding.bounds)
        parts = source.rechunk((sizes, *((size,) for size in source.shape[1:]))).to_delayed().ravel()
        futures = self.client.compute(list(parts))
        return Rows(transport, sharding.source(futures), np.empty((0, *source.shape[1:]), source.dtype))

    def cloud(self, X: Any, Y: npt.ArrayLike, metric: Any = "euclidean") -> ShardedCloudCost:
        """The cost between source points X, kept by the workers, and target points Y.

        X is a Dask array or data frame (of Parquet parts, say) that never meets on one machine, an array, or rows
        that are with the workers already.
        """
        return ShardedCloudCost(X if isinstance(X, Rows) else self.rows(X), Y, metric)

    def knows(self, rows: Rows) -> bool:
        """Whether rows are with the workers of this cluster."""
        transport = self._transport if self.address is None else self._connected
        return transport is not None and not rows.transport.closed and rows.transport.address == transport.address

    def sweep(self, request: Request) -> Sweep:
        log = request.log
        if not _shardable(log) or not (request.inner is None or _over_same_cost(request.inner, log)):
            return self._host.sweep(request)
        assert isinstance(log, Factored)
        sharding, cost = self._shards_of(log.cost)
        f: Any = self._rows(sharding, request.f)
        remainder = request.remainder
        if remainder is not None:
            u, v = remainder
            remainder = (None if u is None else self._rows(sharding, u), self._column(sharding, v))  # type: ignore[assignment]
        asked = {
            "f": f if request.row_mass is None or remainder is not None else Hint(f),
            "g": self._column(sharding, request.g),
            "row_mass": self._steady(sharding, request.row_mass, by_rows=True),
            "right": self._steady(sharding, request.right, by_rows=False),
            "left": self._steady(sharding, request.left, by_rows=True),
            "remainder": remainder,
            "entropy": request.entropy,
            "single": request.single,
        }
        inner = None if request.inner is None else self._coefficients(sharding, request.inner)
        swept = sharding.value(shard.sweep, cost, self._coefficients(sharding, log), inner, asked)
        return self._result(sharding, swept, request)

    def _result(self, sharding: Sharding, swept: Value, request: Request) -> Sweep:
        """What a sweep leaves behind, fetched from the shards."""
        parts = {name: sharding.value(shard.part, swept, name) for name in (*ROW_PARTS, *COLUMN_PARTS)}
        returned = [(parts[name], "rows") for name in ROW_PARTS] + [(parts[name], "sum") for name in COLUMN_PARTS]
        if not isinstance(request.f, Rows):
            f, rows, right, columns, left, *numbers = self._connected.run(sharding, [], returned, self.watch)
            return Sweep(f, rows, columns, right, left, *map(float, numbers))
        # What belongs to rows stays with them.
        kept = [parts[name] for name in ROW_PARTS]
        columns, left, *numbers = self._connected.run(sharding, kept, returned[len(kept) :], self.watch)
        nothing, none = np.empty(0), np.empty((0, 0 if request.right is None else request.right.shape[1]))
        f, rows, right = (
            Rows(self._connected, value, meta) for value, meta in zip(kept, (nothing, nothing, none), strict=True)
        )
        return Sweep(f, rows, columns, right, left, *map(float, numbers))

    def log_columns(self, log: Matrix, f: Double) -> Double:
        if not _shardable(log):
            return self._host.log_columns(log, f)
        return self._reduced(shard.log_columns, log, "logaddexp", lambda sharding: [self._rows(sharding, f)])

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> Kernel | None:
        """`None`: rows stay where they are."""
        return None

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        if not _shardable(log):
            return self._host.exponential(log, f, g)
        return self._reduced(
            shard.exponential, log, "rows", lambda sharding: [self._rows(sharding, f), self._column(sharding, g)]
        )

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        if not _shardable(log):
            return self._host.gram(log, f, g, factors, basis)

        def arguments(sharding: Sharding) -> list[Any]:
            held = [self._rows(sharding, factor) for factor in factors]
            return [self._rows(sharding, f), self._column(sharding, g), held, self._column(sharding, basis)]

        return self._reduced(shard.gram, log, "sum", arguments)

    def assemble(self, matrix: Matrix) -> Double:
        if isinstance(matrix, Factored) and isinstance(matrix.cost, ShardedCloudCost):
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

    def _reduced(
        self, function: Callable[..., Any], log: Matrix, how: str, arguments: Callable[[Sharding], list[Any]]
    ) -> Double:
        """A function of the log-plan's rows, merged over the shards."""
        assert isinstance(log, Factored)
        sharding, cost = self._shards_of(log.cost)
        value = sharding.value(function, cost, self._coefficients(sharding, log), *arguments(sharding))
        (result,) = self._connected.run(sharding, [], [(value, how)], self.watch)
        return np.asarray(result)

    def _shards_of(self, cost: Cost) -> tuple[Sharding, Value]:
        """The rows of a cost on the workers, sent there when they are first needed."""
        if isinstance(cost, ShardedCloudCost):
            return cost.X.sharding, cost.held
        found = self._sharded.get(cost)
        if found is None:
            sharding = self._connected.shards(cost.shape[0])
            if isinstance(cost, PointCloudCost):
                X, Y = sharding.leaf(cost.X, by_rows=True), sharding.leaf(cost.Y, by_rows=False)
                held = sharding.value(shard.cloud_cost, X, Y, cost.metric, getattr(cost, "_scale", None))
            else:
                assert isinstance(cost, MatrixCost)
                held = sharding.value(shard.matrix_cost, sharding.leaf(cost.values, by_rows=True))
            found = self._sharded[cost] = sharding, held
        return found

    def _coefficients(self, sharding: Sharding, matrix: Matrix) -> tuple[Any, ...]:
        assert isinstance(matrix, Factored)
        return (
            self._steady(sharding, matrix.R, by_rows=False),
            self._steady(sharding, matrix.L, by_rows=True),
            matrix.scale,
            self._rows(sharding, matrix.P),
            self._column(sharding, matrix.Q),
        )

    @staticmethod
    def _rows(sharding: Sharding, array: Double | Rows) -> Value:
        if isinstance(array, Rows):
            return array.value
        return sharding.leaf(array, by_rows=True)

    @staticmethod
    def _column(sharding: Sharding, array: Double) -> Value:
        return sharding.leaf(array, by_rows=False)

    def _steady(self, sharding: Sharding, array: Double | None, *, by_rows: bool) -> Value | None:
        """An array that comes again and again: sent once, and recognised by what is in it."""
        if array is None:
            return None
        if isinstance(array, Rows):
            return array.value
        sent = sharding.sent
        digest = hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16)
        digest.update(repr((array.shape, by_rows)).encode())
        key = digest.digest()
        if key not in sent:
            sent[key] = sharding.leaf(array.copy(), by_rows=by_rows)
            if len(sent) > REMEMBERED:
                sent.popitem(last=False)
        sent.move_to_end(key)
        return sent[key]


def _shardable(log: Matrix) -> bool:
    """Whether the rows of a matrix can be had from rows of arrays."""
    return isinstance(log, Factored) and isinstance(log.cost, PointCloudCost | MatrixCost | ShardedCloudCost)


def _over_same_cost(matrix: Matrix, log: Matrix) -> bool:
    return isinstance(matrix, Factored) and isinstance(log, Factored) and matrix.cost is log.cost


def _beside(rows: Rows, count: int) -> Sharding:
    """The sharding of other rows, for as many."""
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
