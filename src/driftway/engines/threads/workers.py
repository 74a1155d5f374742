"""Row parts on a pool of threads, with BLAS kept to one thread where they use it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from driftway.engines.cores import single_blas
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


@cache
def _pool(workers: int, process: int) -> Pool:
    """The pool of this process: threads do not survive a fork, so each process has its own."""
    return Pool(workers)
