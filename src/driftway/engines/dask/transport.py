"""Programs to the workers of a Dask cluster and their results back, whatever happens to the workers on the way."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from threading import Event
from typing import Any

import numpy as np

from driftway.engines.dask.lineage import Node, Sharding, Value
from driftway.engines.dask.shard import HEAVY, LostError, Program, execute, execute_soon, forget, merge

# Seconds between looks at who is alive while a result is awaited.
TICK = 0.5
# Seconds that an answer of the scheduler may take, however little patience there is.
SOON = 1.0
# Bytes from which constants are broadcast from worker to worker instead of being sent with every task.
BROADCAST = 2**17
# Losses in the course of a single call that are taken for bad luck.
LOSSES = 100


@dataclass
class Traffic:
    """Bytes that went to shards and left them again, over all of them, and in how many calls."""

    sent: int = 0
    received: int = 0
    calls: int = 0


class Transport:
    """The workers of a `distributed.Client`, and how shards are kept on them.

    Tasks are pinned to the worker that holds the shard. Nobody waits for a worker that is gone: whoever awaits a
    result looks every half second who is alive, and gives the shards of the others to those that are.
    """

    def __init__(self, client: Any, patience: float, own: int = 0) -> None:
        """`own` is how many workers there should be, if the client's cluster is the engine's."""
        self.client, self.patience, self.own, self.traffic = client, patience, own, Traffic()
        self.answer = max(patience, SOON)
        self.address, self.closed = str(client.scheduler.address), False
        self.askers = ThreadPoolExecutor(8, thread_name_prefix="driftway-dask")
        self._sessions: set[str] = set()
        self._over: list[str] = []

    def alive(self) -> dict[str, int]:
        """The workers by address and their threads; waits for one to come if there is none."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                found = self.client.sync(self.client.scheduler.ncores, callback_timeout=self.answer)
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

    def shards(self, rows: int) -> Sharding:
        """Rows in consecutive shards, one per worker, in proportion to their threads."""
        workers = sorted(self.alive().items())
        ends = np.cumsum([count for _, count in workers]) / sum(count for _, count in workers)
        cuts = [0, *(round(rows * end) for end in ends)]
        kept = [k for k in range(len(workers)) if cuts[k + 1] > cuts[k]]
        sharding = Sharding([slice(cuts[k], cuts[k + 1]) for k in kept])
        sharding.homes = [workers[k][0] for k in kept]
        self._sessions.add(sharding.session)
        weakref.finalize(sharding, self._over.append, sharding.session)
        return sharding

    def run(
        self,
        sharding: Sharding,
        wanted: list[Value],
        returned: list[tuple[Value, str]],
        watch: Callable[[float], None] | None = None,
    ) -> list[Any]:
        """Has these values computed, and merges over the shards those that are to be returned."""
        if self._over:  # nobody knows these rows any more
            over, self._over[:] = list(self._over), []
            self._sessions.difference_update(over)
            self.askers.submit(self.client.run, forget, over, on_error="ignore")
        call = _Call(self, sharding, wanted, returned)
        try:
            for _ in range(LOSSES):
                call.prepare()
                if (result := call.at_once()) is None:
                    call.prepare()
                    call.submit()
                    result = call.outcome(watch)
                if result is not None:
                    call.settle()
                    self.traffic.calls += 1
                    return [value for _, value in result]
        finally:
            call.close()
        raise RuntimeError(f"workers were lost {LOSSES} times in the course of one sweep; giving up")

    def close(self) -> None:
        """Lets the workers drop all rows, and ends what waits for them."""
        self.closed = True
        with suppress(OSError, TimeoutError, RuntimeError, ValueError):  # they may be gone
            self.client.run(forget, list(self._sessions), on_error="ignore")
        self.askers.shutdown(wait=False)


class _Call:
    """One call: a task per shard, and a tree of tasks that merges what they return."""

    def __init__(
        self, transport: Transport, sharding: Sharding, wanted: list[Value], returned: list[tuple[Value, str]]
    ) -> None:
        self.transport, self.client, self.sharding = transport, transport.client, sharding
        self.wanted, self.returned = wanted, returned
        self.tasks: dict[int, Any] = {}
        self.programs: dict[int, tuple[Program, dict[int, Any], dict[int, Any], list[Node]]] = {}
        self.tree: list[Any] = []
        self.broadcasts: list[Any] = []

    def prepare(self) -> None:
        """Programs for the shards that have none, and a worker for every shard."""
        self._place()
        for k in range(len(self.sharding)):
            if k not in self.programs:
                self.programs[k] = self.sharding.program(k, self.wanted, self.returned)

    def at_once(self) -> list[tuple[str, Any]] | None:
        """The outcome without the queue of tasks, if it takes no time; `None` if it would, or a worker is lost."""
        programs = {k: program for k, (program, *_) in self.programs.items()}
        heavy = any(step.function in HEAVY for program in programs.values() for step in program.steps)
        if heavy or any(sources for _, _, sources, _ in self.programs.values()):
            return None
        payloads = {k: _pickled(program) for k, program in programs.items()}
        constants = _pickled(self._shared(self.programs))
        if sum(map(len, payloads.values())) + len(constants) > BROADCAST:
            return None
        by_worker: dict[str, dict[int, bytes]] = {}
        for k, payload in payloads.items():
            by_worker.setdefault(str(self.sharding.homes[k]), {})[k] = payload
        answers: dict[int, Any] = {}
        found = self._asked(execute_soon, self.sharding.session, by_worker, constants, workers=list(by_worker))
        if found is None:
            return None
        for answer in found.values():
            if isinstance(answer, OSError | TimeoutError | LostError | ValueError):
                self._drop_lost()
                return None
            if isinstance(answer, BaseException):
                raise answer
            answers |= answer
        if len(answers) < len(self.sharding):
            self._drop_lost()
            return None
        self.transport.traffic.sent += sum(map(len, payloads.values())) + len(constants) * len(payloads)
        return self._received(reduce(merge, (answers[k] for k in sorted(answers))))

    def _asked(self, *arguments: Any, workers: list[str]) -> dict[str, Any] | None:
        """The answers of workers, or `None` if one is gone: Dask itself would try for long to reach it."""
        asked = self.transport.askers.submit(self.client.run, *arguments, workers=workers, on_error="return")
        while True:
            try:
                return dict(asked.result(timeout=TICK))
            except TimeoutError:
                if self._drop_lost() or asked.done():
                    return None
            except OSError:
                self._drop_lost()
                return None

    def submit(self) -> None:
        """Tasks for the shards that have none."""
        lacking = {k: program for k, program in self.programs.items() if k not in self.tasks}
        try:
            constants, size = self._broadcast(self._shared(lacking))
            for k, (program, _, sources, _) in lacking.items():
                payload, home = _pickled(program), self.sharding.homes[k]
                self.transport.traffic.sent += len(payload) + size
                if len(payload) > BROADCAST:
                    payload = self.client.scatter(payload, workers=[home], hash=False, timeout=self.transport.answer)
                arguments = self.sharding.session, k, payload, constants, sources
                self.tasks[k] = self.client.submit(
                    execute, *arguments, workers=[home], allow_other_workers=False, pure=False
                )
        except (OSError, TimeoutError):  # a worker went away while it was sent something
            self._drop_lost()

    @staticmethod
    def _shared(programs: dict[int, Any]) -> dict[int, Any]:
        """The constants that programs share."""
        return {number: array for _, shared, _, _ in programs.values() for number, array in shared.items()}

    def _place(self) -> None:
        """A worker for every shard that has none: the one with the fewest rows per thread."""
        sharding = self.sharding
        homeless = [k for k, home in enumerate(sharding.homes) if home is None]
        if not homeless:
            return
        alive = self.transport.alive()
        load = dict.fromkeys(alive, 0.0)
        sizes = [bound.stop - bound.start for bound in sharding.bounds]
        for home, size in zip(sharding.homes, sizes, strict=True):
            if home in load:
                load[home] += size / alive[home]
        for k in homeless:
            home = min(load, key=load.__getitem__)
            sharding.homes[k] = home
            load[home] += sizes[k] / alive[home]

    def _broadcast(self, constants: dict[int, Any]) -> tuple[Any, int]:
        """Constants that all shards share, pickled; large ones go from worker to worker."""
        pickled = _pickled(constants)
        if len(pickled) < BROADCAST:
            return pickled, len(pickled)
        future = self.client.scatter(pickled, broadcast=True, hash=False, timeout=self.transport.answer)
        self.broadcasts.append(future)
        return future, len(pickled)

    def outcome(self, watch: Callable[[float], None] | None) -> list[tuple[str, Any]] | None:
        """What the shards return, merged; `None` if some were lost and are to be submitted again."""
        if len(self.tasks) < len(self.sharding):
            return None
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        root, done = self._root(), Event()
        root.add_done_callback(lambda _: done.set())
        while not done.wait(TICK):
            if watch is not None:
                watch(sum(task.status == "finished" for task in self.tasks.values()) / len(self.tasks))
            if self._drop_lost():
                return None
        try:
            result = self._fetched(root)
            return None if result is None else self._received(result)
        except (KilledWorker, FutureCancelledError, LostError, CommClosedError):
            self._drop_lost()
            return None
        except (OSError, UnboundLocalError):  # the latter is what becomes of a cancellation in distributed.sync
            if root.status == "error":  # it was the function itself, a metric that looks for its table, say
                raise
            self._drop_lost()
            return None

    def _fetched(self, root: Any) -> list[tuple[str, Any]] | None:
        """The merged result, or `None` if it is lost with its worker: Dask itself would wait for one that is gone."""
        asked = self.transport.askers.submit(root.result)
        while True:
            try:
                found: list[tuple[str, Any]] = asked.result(timeout=TICK)
                return found
            except TimeoutError:
                if asked.done():
                    raise
                if self._drop_lost():
                    root.cancel()  # which ends the waiting in the other thread
                    return None

    def _received(self, result: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        # Every shard's share of a sum leaves its worker once, on the way through the tree; rows come as they are.
        shards = len(self.sharding)
        moved = (np.asarray(value).nbytes * (1 if how == "rows" else shards) for how, value in result)
        self.transport.traffic.received += sum(moved)
        return result

    def _root(self) -> Any:
        """A tree of pairwise merges, in the order of the rows: the same bits whoever was first."""
        self.tree = level = [self.tasks[k] for k in sorted(self.tasks)]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            merges = [self.client.submit(merge, *pair, pure=False) for pair in pairs]
            level = merges + level[2 * len(merges) :]
            self.tree = self.tree + merges
        return level[0]

    def _drop_lost(self) -> bool:
        """Forgets the tasks whose worker is gone or was another one; whether there were any."""
        alive, lost = self.transport.alive(), []
        for k, home in enumerate(self.sharding.homes):
            task = self.tasks.get(k)
            failed = task is not None and task.status in ("error", "cancelled", "lost")
            if home not in alive or failed:
                self.sharding.lose(k)
                lost.append(k)
        for k in lost:
            self.programs.pop(k, None)
            if (task := self.tasks.pop(k, None)) is not None:
                task.cancel()
        return bool(lost)

    def settle(self) -> None:
        """Notes what the shards hold now, then what of it nobody needs: a node that is settled lets go of others."""
        for k, (program, *_) in self.programs.items():
            self.sharding.present[k] |= program.keep
        for *_, nodes in self.programs.values():
            for node in nodes:
                node.settle()

    def close(self) -> None:
        for future in (*self.tree, *self.tasks.values(), *self.broadcasts):
            future.release()


def _pickled(value: Any) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(value))
