"""Threads that share the work of whoever calls them, on cores of their own."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from threading import get_native_id, local
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")
Argument = TypeVar("Argument")

# A thread that was sent to another core and begins later than this has found it busy; nobody is sent there for a while.
LATE, WHILE = 1e-3, 0.2


class Pool:
    """So many threads, and on which cores they were seen last.

    Linux likes to wake a thread on the core of who wakes it, if both have slept, and leaves them there for as long as
    a solve takes: half the speed of two cores, and less than that of one thread. So a thread that was last seen on
    the caller's core is kept off it until it has begun.
    """

    def __init__(self, workers: int) -> None:
        self._executor = ThreadPoolExecutor(workers, "driftway", self._join)
        self._members: list[_Member] = []
        self._own, self._crowded_until = local(), 0.0

    def start(self, function: Callable[[Argument], T], arguments: Sequence[Argument]) -> list[Future[T]]:
        """The function of every argument, one after the other where there are more of them than threads."""
        now = perf_counter()
        if (locate := _locator()) is not None and now > self._crowded_until:
            core = locate()
            for member in self._members:
                member.leave(core)
        return [self._executor.submit(self._do, function, argument, now) for argument in arguments]

    def _join(self) -> None:
        self._own.member = _Member()
        self._members.append(self._own.member)

    def _do(self, function: Callable[[Argument], T], argument: Argument, since: float) -> T:
        if self._own.member.arrived() and perf_counter() - since > LATE:
            self._crowded_until = perf_counter() + WHILE
        return function(argument)


class _Member:
    """A thread of the pool, made by itself."""

    def __init__(self) -> None:
        self._thread, self._core = get_native_id(), -1
        self._free: set[int] | None = None  # the cores it may run on, while it is kept off one of them

    def leave(self, core: int) -> None:
        """Keeps the thread off a core if that is where it was last, and there are others."""
        if core != self._core or self._free is not None:
            return
        cores = os.sched_getaffinity(0)
        if others := cores - {core}:
            with suppress(OSError):  # where that is forbidden
                os.sched_setaffinity(self._thread, others)
                self._free = cores

    def arrived(self) -> bool:
        """Notes the core, in the thread itself; whether it had been kept off another one, which is over now."""
        if (locate := _locator()) is not None:
            self._core = locate()
        free, self._free = self._free, None
        if free is not None:
            with suppress(OSError):
                os.sched_setaffinity(self._thread, free)
        return free is not None


@cache
def _locator() -> Callable[[], int] | None:
    """What tells the core that a thread runs on, where threads can be sent to others."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError, AttributeError):
            return ctypes.CDLL(None).sched_getcpu
    return None
