"""Row parts on a pool of threads, with BLAS kept to one thread where they use it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from driftway.engines.cores import single_blas

T = TypeVar("T")


class Workers:
    """A number of threads, and the entries of a matrix that make a block for the cache of one core."""

    def __init__(self, workers: int, block_entries: int) -> None:
        self.workers, self.block_entries = workers, block_entries

    def each(self, visit: Callable[[slice], T], n: int, m: int, *, blas: bool = True, price: float = 1.0) -> list[T]:
        """Applies a function to consecutive parts of the rows of an n×m matrix, one part per thread.

        Parameters
        ----------
        visit : callable
            Receives a slice of rows.
        n, m : int
            The shape of the matrix.
        blas : bool
            Whether the function uses BLAS, which is then kept to one thread.
        price : float
            What an entry costs, in units of what it costs in a sweep. Little work is done by one thread, because waking
            another takes as long as a whole block.

        Returns
        -------
        list
            What the function returned, in the order of the rows.

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> Threads(workers=2, block_entries=1).each(lambda part: (part.start, part.stop), n=10, m=3)
        [(0, 5), (5, 10)]

        """
        cuts = [n * k // self.workers for k in range(self.workers + 1)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        if price * n * m <= self.block_entries:
            parts = [slice(0, n)]
        with single_blas() if blas else nullcontext():
            quietly = partial(_quietly, visit)
            others = [_pool(self.workers, os.getpid()).submit(quietly, part) for part in parts[1:]]
            # The first part is done here: waking a thread for it takes as long as a small part.
            return [quietly(parts[0]), *(other.result() for other in others)]

    def block_rows(self, m: int) -> int:
        """How many rows of m entries make a block that fits the cache of one core; at least one.

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> Threads(block_entries=1000).block_rows(m=300)
        3

        """
        return max(1, self.block_entries // m)

    def blocks(self, part: slice, m: int) -> list[slice]:
        """Cuts a part of the rows into blocks that fit the cache of one core.

        Parameters
        ----------
        part : slice
            With start and stop.
        m : int
            Entries of a row.

        Returns
        -------
        list of slice

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> [(block.start, block.stop) for block in Threads(block_entries=1000).blocks(slice(0, 7), m=300)]
        [(0, 3), (3, 6), (6, 7)]

        """
        size = self.block_rows(m)
        return [slice(low, min(low + size, part.stop)) for low in range(part.start, part.stop, size)]


def _quietly(visit: Callable[[slice], T], part: slice) -> T:
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return visit(part)


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """The pool of this process: threads do not survive a fork, so each process has its own."""
    return ThreadPoolExecutor(workers, "driftway")
