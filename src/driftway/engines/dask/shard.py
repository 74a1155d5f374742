"""What runs on a worker: expressions of the values that it holds, for the rows of one shard."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import Request, Sweep
from driftway.engines.threads.engine import Threads
from driftway.geometry.matrices import Factored

Double = npt.NDArray[np.float64]

# How what two neighbouring groups of rows return becomes one.
MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda first, second: first + second,
    "max": np.maximum,
    "min": np.minimum,
    "all": np.logical_and,
    "any": np.logical_or,
    "logaddexp": np.logaddexp,
    "rows": lambda first, second: np.concatenate([first, second]),
}


@dataclass(frozen=True)
class Ref:
    """The result of a task, in an expression."""

    key: str


@dataclass(frozen=True)
class Call:
    """function(*arguments, **options), where any of them may be an expression again."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Applies a function to everything in nested lists, tuples and dictionaries."""
    if isinstance(value, list | tuple):
        return type(value)(mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: mapped(each, function) for key, each in value.items()}
    return function(value)


def evaluate(payload: bytes, held: Mapping[str, Any]) -> Any:
    """The value of a pickled expression, given the results of tasks that it refers to."""
    with np.errstate(all="ignore"):  # as in the threads of one machine
        return _value(pickle.loads(payload), held)


async def evaluate_here(payloads: dict[int, tuple[bytes, list[str]]], limit: float, dask_worker: Any) -> dict[int, Any]:
    """The values of those shards' expressions whose keys this worker holds, outside the queue of tasks.

    Those larger than so many bytes are left out.
    """
    loop, data, found = asyncio.get_running_loop(), dask_worker.data, {}
    for shard, (payload, keys) in payloads.items():
        if all(key in data for key in keys):
            held = {key: data[key] for key in keys}
            value = await loop.run_in_executor(None, evaluate, payload, held)
            if sum(np.asarray(each).nbytes for each in value) <= limit:
                found[shard] = value
    return found


def merge(first: list[Any], second: list[Any], hows: list[str]) -> list[Any]:
    """Merges what two neighbouring groups of shards return."""
    return [MERGES[how](one, other) for how, one, other in zip(hows, first, second, strict=True)]


def hinted(pickled: tuple[bytes, list[str]]) -> Any:
    """The value of an expression of what lies on this worker; `None` if some of it does not."""
    (payload, keys), here = pickled, _worker().data
    return evaluate(payload, here) if all(key in here for key in keys) else None


def _value(expression: Any, held: Mapping[str, Any]) -> Any:
    if isinstance(expression, Ref):
        return held[expression.key]
    if isinstance(expression, Call):
        arguments, options = _value(expression.arguments, held), _value(expression.options, held)
        return expression.function(*arguments, **options)
    if isinstance(expression, list | tuple | dict):
        return mapped(expression, lambda each: _value(each, held))
    return expression


def _worker() -> Any:
    from distributed import get_worker

    return get_worker()


def same(value: Any) -> Any:
    """The value itself."""
    return value


def sweep(log: Factored, f: Double | None, **asked: Any) -> Sweep:
    """A sweep over the rows of a shard. A potential that is not known any more is found again by its rows."""
    return _threads().sweep(Request(log, np.zeros(log.shape[0]) if f is None else f, **asked))


def applied(method: Callable[..., Double], log: Factored, *arguments: Any) -> Double:
    """Applies a method of `Threads` to the rows of a shard."""
    return method(_threads(), log, *arguments)


def _threads() -> Threads:
    """An engine with as many threads as the worker has."""
    return Threads(workers=_worker().state.nthreads, memory=0)
