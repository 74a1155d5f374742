"""Values on the workers of a Dask cluster, one per shard of the rows.

Dask keeps a value as long as somebody holds its future, remembers how it came about, and computes it again, on
another worker, when the one that holds it is lost. Three things it does not do are done here:

- Functions of rows are put together until a number is wanted or they are `FUSED` many: a solver takes hundreds of
  sums and differences per sweep, and a task for each would take longer than the sweep.
- Numbers that follow from what the workers hold are asked of them at once (`Client.run`), a seventh of the time of
  tasks. Where that fails, for whatever reason, a task of Dask brings together what they follow from.
- Whoever waits looks who is alive: Dask waits for ever for a worker to come, and gives up replacing those that it
  started itself.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from driftway.arrays.rowwise import is_remote
from driftway.engines.dask import shard
from driftway.engines.dask.shard import Call, Ref, evaluate, evaluate_here, mapped, merge

# Seconds between looks at who is alive while a result is awaited.
TICK = 0.5
# Seconds that an answer of the scheduler may take, however little patience there is.
SOON = 1.0
# Bytes that the client sends or receives for all shards at once, which is quickest; more go from worker to worker.
DIRECT = 2**20
# Arrays that a sharding remembers to have sent: bases and masses come again and again.
REMEMBERED = 16
# Functions of rows that are computed together: again wherever they are used, which costs less than a task.
FUSED = 32
# Bytes of a graph that Dask warns of. Rows of the client are sent with it all the same: so they can be sent again.
LARGE_GRAPH = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


@dataclass
class Traffic:
    """Bytes that went to shards and left them again, over all of them, and in how many calls.

    Examples
    --------
    >>> from driftway.engines import Dask
    >>> with Dask(workers=2) as engine:  # doctest: +SKIP
    ...     solution = solve(problem, engine=engine)
    ...     print(engine.traffic)
    Traffic(sent=86264, received=13056, calls=58)

    """

    sent: int = 0
    received: int = 0
    calls: int = 0


class Cluster:
    """The workers of a `distributed.Client`; `own` of them should be there if the engine has started them."""

    def __init__(self, client: Any, patience: float, own: int = 0) -> None:
        self.client, self.patience, self.own, self.traffic = client, patience, own, Traffic()
        self.address, self.closed = str(client.scheduler.address), False

    def alive(self) -> dict[str, int]:
        """The workers by address and their threads; waits for one to come if there is none."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                found = self.client.sync(self.client.scheduler.ncores, callback_timeout=max(self.patience, SOON))
            except (OSError, TimeoutError) as error:
                raise RuntimeError(f"the Dask scheduler does not answer ({type(error).__name__}: {error})") from error
            if len(found) < self.own:
                # Dask gives up a worker that is not there 15 seconds after a loss, be it for another one a moment ago.
                self.client.cluster.scale(self.own)
            if found:
                return dict(found)
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"no Dask worker is left, and none came in {self.patience:g} seconds; start workers, or raise "
                    "patience"
                )
            time.sleep(0.1)

    def settle(self, futures: Iterable[Any], watch: Callable[[float], None] | None = None) -> None:
        """Waits for tasks, checks meanwhile that workers are alive, and raises what a task has raised."""
        from distributed import wait

        futures = list(futures)
        while not all(future.done() for future in futures):
            try:
                wait(futures, timeout=TICK)
            except TimeoutError:
                self.alive()
                if watch is not None:
                    watch(sum(future.done() for future in futures) / len(futures))
        for future in futures:
            if future.status != "finished":
                future.result()

    def ask(self, payloads: dict[int, tuple[bytes, list[str]]], limit: float) -> dict[int, Any]:
        """The values of expressions, by shard, if a worker has all that they refer to, and they are not too large."""
        self.traffic.sent += sum(len(payload) for payload, _ in payloads.values())
        answers = self.client.run(evaluate_here, payloads, limit, on_error="return")
        return {k: value for answer in answers.values() if isinstance(answer, dict) for k, value in answer.items()}

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, home: str | None = None) -> Any:
        """The future of a task, on the worker at home if that is there."""
        import dask

        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        with dask.config.set(LARGE_GRAPH):
            return self.client.submit(function, *arguments, key=f"{name}-{uuid4().hex}", **where)

    def shards(self, rows: int) -> Sharding:
        """Rows in consecutive shards, one per worker, in proportion to their threads."""
        workers = sorted(self.alive().items())
        ends = np.cumsum([count for _, count in workers]) / sum(count for _, count in workers)
        cuts = [0, *(round(rows * end) for end in ends)]
        kept = [k for k in range(len(workers)) if cuts[k + 1] > cuts[k]]
        return Sharding(self, [slice(cuts[k], cuts[k + 1]) for k in kept], [workers[k][0] for k in kept])


class Value:
    """A value of every shard: `parts`, which are futures or sent as they are, or a function of other values."""

    def __init__(
        self, sharding: Sharding, parts: list[Any] | None = None, call: Call | None = None, *, futures: bool = False
    ) -> None:
        self.sharding, self.parts, self.call, self.futures = sharding, parts, call, futures
        self.inputs = [] if call is None else _values((call.arguments, call.options))

    @property
    def size(self) -> int:
        """The number of functions that are not computed yet."""
        return 0 if self.parts is not None else 1 + sum(value.size for value in self.inputs)

    def computed(self) -> Self:
        """The value as one task of Dask per shard, without waiting for them."""
        if not self.futures:
            name = shard.same if self.call is None else self.call.function
            tasks = [self._task(name.__name__, k) for k in range(len(self.sharding))]
            self.parts, self.call, self.inputs, self.futures = tasks, None, [], True
        return self

    def _task(self, name: str, k: int) -> Any:
        payload, needed = self.pickled(k)
        self.sharding.cluster.traffic.sent += len(payload)
        return self.sharding.cluster.submit(name, evaluate, payload, needed, home=self.sharding.homes[k])

    def pickled(self, k: int) -> tuple[bytes, dict[str, Any]]:
        """The expression of a shard, and the futures that it refers to."""
        needed: dict[str, Any] = {}
        return _pickle(self.expression(k, needed)), needed

    def expression(self, k: int, needed: dict[str, Any]) -> Any:
        """What a worker evaluates for a shard."""

        def each(value: Any) -> Any:
            return value.expression(k, needed) if isinstance(value, Value) else value

        if self.parts is None:
            assert self.call is not None
            return Call(self.call.function, mapped(self.call.arguments, each), mapped(self.call.options, each))
        part = self.parts[k]
        if not self.futures:
            return part
        needed[part.key] = part
        return Ref(part.key)


class Sharding:
    """Consecutive rows shared among workers, each shard with its home."""

    def __init__(self, cluster: Cluster, bounds: list[slice], homes: list[str]) -> None:
        self.cluster, self.bounds, self.homes = cluster, bounds, homes
        self.rows = bounds[-1].stop if bounds else 0
        # Arrays that come again and again, by what is in them.
        self.sent: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def place(self) -> Value:
        """The rows of every shard, as a slice."""
        return Value(self, list(self.bounds))

    def value(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Value:
        """A function of values, to be computed when it is wanted."""
        value = Value(self, call=Call(function, arguments, options))
        while value.size > FUSED:
            max(value.inputs, key=lambda each: each.size).computed()
        return value

    def by_rows(self, array: Any) -> Any:
        """The rows of an array of the client, sent to their shards; or those that are with the workers already."""
        if array is None or is_remote(array):
            return None if array is None else array.value
        return Value(self, [np.ascontiguousarray(array[bound]) for bound in self.bounds])

    def hint(self, value: Value) -> Value:
        """A value for who can do without it: used where it lies, and `None` where it was lost, so that nobody
        computes it again for this; what is on its way is waited for, so that equal solves have equal bits.
        """
        payloads, needed = self._pickled(value)
        self.cluster.settle(needed.values())
        return self.value(shard.hinted, Value(self, [payloads[k] for k in range(len(self))]))

    def source(self, futures: list[Any]) -> Value:
        """Rows that are with the workers already, one future per shard, moved to the workers of the shards."""
        return self.value(shard.same, Value(self, futures, futures=True)).computed()

    def everywhere(self, array: npt.NDArray[Any]) -> Any:
        """An array of the client for all shards; a large one goes from worker to worker."""
        if array.nbytes * len(self) < DIRECT:
            return array
        self.cluster.traffic.sent += array.nbytes * len(self)
        future = self.cluster.submit("constant", shard.same, array, home=self.homes[0])
        return Value(self, [future] * len(self), futures=True)

    def steady(self, array: Any, *, by_rows: bool) -> Any:
        """An array that comes again and again: sent once, and recognised by what is in it."""
        from dask.base import tokenize

        if array is None or is_remote(array):
            return self.by_rows(array)
        key = tokenize(array, by_rows)
        if key not in self.sent:
            self.sent[key] = self.by_rows(array).computed() if by_rows else self.everywhere(array.copy())
            if len(self.sent) > REMEMBERED:
                self.sent.popitem(last=False)
        self.sent.move_to_end(key)
        return self.sent[key]

    def fetched(self, returned: list[tuple[Value, str]], watch: Callable[[float], None] | None = None) -> list[Any]:
        """Values merged over the shards, always in the order of the rows."""
        share, hows = self.value(shard.same, [value for value, _ in returned]), [how for _, how in returned]
        payloads, needed = self._pickled(share)
        self.cluster.settle(needed.values(), watch)
        small = sum(len(payload) for payload, _ in payloads.values()) <= DIRECT  # all of them go to every worker
        found = self.cluster.ask(payloads, DIRECT / len(self)) if small else {}
        if len(found) == len(self):
            result = _tree([found[k] for k in range(len(self))], partial(merge, hows=hows))
        else:  # much, or a worker was lost, or inputs lie on several, or a function failed
            result = self._by_tasks(share, hows, watch)
        # Every shard's share of a sum leaves its worker once, on the way through the tree; rows come as they are.
        copies = (1 if how == "rows" else len(self) for how in hows)
        self.cluster.traffic.received += sum(np.asarray(v).nbytes * k for v, k in zip(result, copies, strict=True))
        self.cluster.traffic.calls += 1
        return result

    def _by_tasks(self, share: Value, hows: list[str], watch: Callable[[float], None] | None) -> list[Any]:
        """The shards' shares as tasks of Dask, of any size, merged on the workers."""
        submit = self.cluster.submit
        root = _tree(share.computed().parts or [], lambda one, other: submit("merge", merge, one, other, hows))
        reference = {0: (_pickle(Ref(root.key)), [root.key])}
        while True:
            self.cluster.settle([root], watch)
            if found := self.cluster.ask(reference, np.inf):
                return list(found[0])

    def _pickled(self, value: Value) -> tuple[dict[int, tuple[bytes, list[str]]], dict[str, Any]]:
        """The expression of every shard with the keys that it refers to, and the futures of all of these keys."""
        pickled = [value.pickled(k) for k in range(len(self))]
        payloads = {k: (payload, list(needed)) for k, (payload, needed) in enumerate(pickled)}
        return payloads, {key: future for _, needed in pickled for key, future in needed.items()}


def _pickle(expression: Any) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(expression))


def _values(arguments: Any) -> list[Value]:
    """The values among the arguments of a function."""
    found: list[Value] = []
    mapped(arguments, lambda each: found.append(each) if isinstance(each, Value) else None)
    return found


def _tree(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Neighbours are joined pair by pair until one is left, which rounds less than a running sum."""
    while len(values) > 1:
        pairs = [join(one, other) for one, other in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]
