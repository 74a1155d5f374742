"""What a worker of a cluster does: it holds shards of rows and computes with them what programs say.

A program is a list of steps, each a function of values that the shard holds, and of constants. Values are kept
under numbers; what is asked for is returned and merged with what the other shards return. Nothing here knows
why: that is the business of the client, which can send the same steps to another worker when this one is lost.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import Request, Sweep
from driftway.engines.threads.engine import Threads
from driftway.geometry.costs import Cost, MatrixCost, Metric, PointCloudCost
from driftway.geometry.matrices import Factored

Double = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ref:
    """Stands for a value that the shard holds, in the arguments of a step."""

    number: int


FIRST, COUNT = Ref(-1), Ref(-2)  # stand for the shard's first row and the number of its rows


@dataclass(frozen=True)
class Step:
    """value[number] = function(*arguments, **options)."""

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclass
class Program:
    """Steps, the values to keep afterwards, those to drop first, and those to return, with how they are merged."""

    first: int = 0
    count: int = 0
    steps: list[Step] = field(default_factory=list)
    keep: set[int] = field(default_factory=set)
    drop: list[int] = field(default_factory=list)
    returned: list[tuple[int, str]] = field(default_factory=list)


class LostError(LookupError):
    """A shard does not hold what it should: its worker is another process than it was."""


MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda first, second: first + second,
    "max": np.maximum,
    "min": np.minimum,
    "all": np.logical_and,
    "any": np.logical_or,
    "logaddexp": np.logaddexp,
    "rows": lambda first, second: np.concatenate([first, second]),
}

_held: dict[tuple[str, int], dict[int, Any]] = {}
_lock = Lock()


def execute(
    session: str, shard: int, payload: bytes, constants: bytes, sources: dict[int, Any]
) -> list[tuple[str, Any]]:
    """Runs a pickled `Program` on a shard; the values it returns, each with how it is merged.

    `constants` are values that all shards share, pickled; `sources` are rows that came from elsewhere.
    """
    program: Program = pickle.loads(payload)
    with _lock:
        held = _held.setdefault((session, shard), {})
    for number in program.drop:
        held.pop(number, None)
    values = {**held, **pickle.loads(constants), **sources}
    values |= {FIRST.number: program.first, COUNT.number: program.count}
    with np.errstate(all="ignore"):  # as in the threads of one machine
        for step in program.steps:
            arguments, options = _resolved(step.arguments, values), _resolved(step.options, values)
            values[step.number] = step.function(*arguments, **options)
    held.update((number, values[number]) for number in program.keep)
    return [(how, _resolved(Ref(number), values)) for number, how in program.returned]


async def execute_soon(session: str, shards: dict[str, dict[int, bytes]], constants: bytes, dask_worker: Any) -> Any:
    """`execute` for the shards of this worker, outside the queue of tasks: for what takes no time."""
    loop = asyncio.get_running_loop()
    own = shards.get(dask_worker.address, {})
    return {
        shard: await loop.run_in_executor(None, execute, session, shard, payload, constants, {})
        for shard, payload in own.items()
    }


def merge(first: list[tuple[str, Any]], second: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What two neighbouring groups of shards return, as one."""
    return [(how, MERGES[how](one, other)) for (how, one), (_, other) in zip(first, second, strict=True)]


def forget(sessions: list[str]) -> None:
    """Drops all shards of these sessions that this worker holds."""
    with _lock:
        for key in [key for key in _held if key[0] in sessions]:
            del _held[key]


def holds() -> int:
    """How many values this worker holds, over all shards."""
    return sum(map(len, _held.values()))


def _resolved(value: Any, values: dict[int, Any]) -> Any:
    """The arguments with values in the place of references."""
    if isinstance(value, Ref):
        if value.number not in values:
            raise LostError(f"value {value.number} is not held here")
        return values[value.number]
    if isinstance(value, list | tuple):
        return type(value)(_resolved(each, values) for each in value)
    if isinstance(value, dict):
        return {key: _resolved(each, values) for key, each in value.items()}
    return value


def same(value: Any) -> Any:
    """A constant."""
    return value


def cloud_cost(X: Any, Y: Any, metric: Metric, scale: dict[str, Any] | None) -> PointCloudCost:
    """The rows of a cost that belong to a shard; the scale of a metric, if it has one, is that of all points."""
    cost = PointCloudCost(X, Y, metric)
    if scale is not None:
        cost._scale = scale
    return cost


def matrix_cost(values: Any) -> MatrixCost:
    """The same for a cost that is a matrix."""
    return MatrixCost(values)


def threads() -> Threads:
    """As many threads as the worker was given."""
    try:
        from distributed import get_worker

        return Threads(workers=get_worker().state.nthreads, memory=0)
    except (ImportError, ValueError):  # not on a worker
        return Threads(workers=1, memory=0)


def sweep(cost: Cost, log: tuple[Any, ...], inner: tuple[Any, ...] | None, asked: dict[str, Any]) -> Sweep:
    """A sweep over the rows of a shard. A potential that is not known any more is found again by its rows."""
    if asked["f"] is None:
        asked = {**asked, "f": np.zeros(cost.shape[0])}
    matrix = Factored(cost, *log)
    return threads().sweep(Request(matrix, inner=None if inner is None else Factored(cost, *inner), **asked))


def log_columns(cost: Cost, log: tuple[Any, ...], f: Double) -> Double:
    """log Σᵢ exp(log + f) over the rows of a shard."""
    return threads().log_columns(Factored(cost, *log), f)


def exponential(cost: Cost, log: tuple[Any, ...], f: Double, g: Double) -> Double:
    """exp(log + f ⊕ g) for the rows of a shard."""
    return threads().exponential(Factored(cost, *log), f, g)


def gram(cost: Cost, log: tuple[Any, ...], f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
    """Σ BᵀB over the rows of a shard."""
    return threads().gram(Factored(cost, *log), f, g, factors, basis)


# What takes as long as a sweep.
HEAVY = {cloud_cost, matrix_cost, sweep, log_columns, exponential, gram}


def part(whole: Any, name: str) -> Any:
    """An attribute of what an earlier step computed."""
    return getattr(whole, name)
