"""Row parts on a pool of threads, with BLAS kept to one thread where they use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from driftway.engines.threads.pool import Pool

T = TypeVar("T")


class Workers:
    """So many threads, and how many entries of a matrix make a block that fits the cache of one core."""

    def __init__(self, workers: int, block_entries: int) -> None:
        self.workers, self.block_entries = workers, block_entries

    def each(self, visit: Callable[[slice], T], n: int, m: int, *, blas: bool = True, price: float = 1.0) -> list[T]:
        """`visit` applied to consecutive parts of the rows, one per worker, with BLAS, if used, kept to one thread.

        An entry costs it `price` times what one costs in a sweep: waking a thread takes as long as a whole block.
        """
        cuts = [n * k // self.workers for k in range(self.workers + 1)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        if price * n * m <= self.block_entries:
            parts = [slice(0, n)]
        with single_blas() if blas else nullcontext():
            quietly = partial(_quietly, visit)
            others = _pool(self.workers, os.getpid()).start(quietly, parts[1:]) if len(parts) > 1 else []
            # The first part is done here: waking a thread for it takes as long as a small part.
            return [quietly(parts[0]), *(other.result() for other in others)]

    def block_rows(self, m: int) -> int:
        """How many rows of m entries fit the cache of one core."""
        return max(1, self.block_entries // m)

    def blocks(self, part: slice, m: int) -> list[slice]:
        """A part of the rows in blocks that fit the cache."""
        size = self.block_rows(m)
        return [slice(low, min(low + size, part.stop)) for low in range(part.start, part.stop, size)]


def _quietly(visit: Callable[[slice], T], part: slice) -> T:
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return visit(part)


def available_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(workers: int, process: int) -> Pool:
    """The pool of this process: threads do not survive a fork, so each process has its own."""
    return Pool(workers)


@contextmanager
def single_blas() -> Iterator[None]:
    """Keeps BLAS to one thread inside a `with` block: our own threads share the work, or it is too small to share.

    Its threads wait for work by spinning, so that they slow ours down, and on a busy machine even a short product
    takes as long as the slower of two threads.
    """
    global _depth
    with _lock:
        _depth += 1
        _limit()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                _restore()


@contextmanager
def free_blas() -> Iterator[None]:
    """Gives BLAS its threads back inside a `with` block, for large products that nobody else shares."""
    with _lock:
        _restore()
    try:
        yield
    finally:
        with _lock:
            if _depth:
                _limit()


def _limit() -> None:
    global _before
    if _before is None:  # else it is so already; asking BLAS again would cost more than a small product
        _before = [library.get_num_threads() for library in _blas()]
        for library in _blas():
            library.set_num_threads(1)


def _restore() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        for library, threads in zip(_blas(), before, strict=True):
            library.set_num_threads(threads)


# The threads that every BLAS had before it was limited, and in how many blocks, of whatever threads, it is.
_before: list[int] | None = None
_depth, _lock = 0, Lock()


@cache
def _blas() -> list[Any]:
    """The libraries that are loaded."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
