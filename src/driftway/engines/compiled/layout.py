"""Memory layout of log-plans for compiled code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.geometry.matrices import Matrix

Double = npt.NDArray[np.float64]

LN2 = math.log(2.0)
LOG2E = 1.0 / LN2
# Entries per call of compiled code, so that a long sweep can be watched and interrupted.
CALL_ENTRIES = 2**26
# Entries that compiled code looks at together, at most: four vectors of the widest kind.
MARGIN = 128
# Bytes of a line of the cache.
LINE = 64


class CompiledForm:
    """A log-plan  log + f ⊕ g  as compiled code wants it: in units of log₂ and one precision."""

    def __init__(self, log: Matrix, f: Double, g: Double, *, single: bool = False) -> None:
        real: type[np.floating] = np.float32 if single else np.float64
        self.log, self.real = log, real
        n = log.shape[0]
        terms = log.terms(bilinear=real is np.float64)
        self.rows = np.zeros(n) if terms is None else terms.rows
        columns = g if terms is None else g + terms.columns
        self.f = ((f + self.rows) * LOG2E).astype(real)
        self.shifts = np.empty(n)
        self._g = in_lines(columns * LOG2E, real)
        self._terms: tuple[object, ...] | None = None
        if terms is not None:
            _, _, base, x, y, euclidean, scale, A, B = terms
            cloud = x.astype(real, copy=False), in_lines(y, real), euclidean, real(scale * LOG2E)
            self._terms = (base, 0, *cloud, (A * LOG2E).astype(real), in_lines(B, real), self._g)

    @property
    def entrywise(self) -> bool:
        """Whether compiled code forms every entry itself, or is given blocks of rows."""
        return self._terms is not None

    def over(self, part: slice, rows: int) -> Iterator[tuple[slice, tuple[object, ...]]]:
        """The rows to visit and what they are made of; so many rows at a time where they have to be computed before."""
        n, m = self.log.shape
        if self._terms is not None:
            size = max(4, CALL_ENTRIES // m)
            for low in range(part.start, part.stop, size):
                yield slice(low, min(low + size, part.stop)), self._terms
            return
        empty = np.empty((n, 0), self.real), np.empty((0, m), self.real)
        for low in range(part.start, part.stop, rows):
            block = slice(low, min(low + rows, part.stop))
            base = np.ascontiguousarray(self.log.rows(block))
            yield block, (base, block.start, *empty, True, self.real(LOG2E), *empty, self._g)


def scratch(m: int, real: type[np.floating]) -> npt.NDArray[np.floating]:
    """Five rows for compiled code to write to, with no other array near them in memory."""
    return inside(aligned((5 * m + 2 * MARGIN,), real))


def inside(held: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Five rows in the middle of an array."""
    return held[MARGIN : held.size - MARGIN].reshape(5, -1)


def aligned(shape: tuple[int, ...], real: type[np.floating]) -> npt.NDArray[Any]:
    """An array to be filled that begins with a line of the cache.

    Vectors that are as long as a line then lie in one each, where they would lie in two: a sweep in float32 takes a
    seventh less time for it.
    """
    size, item = math.prod(shape), np.dtype(real).itemsize
    held = np.empty(size + LINE // item, real)
    first = -held.__array_interface__["data"][0] % LINE // item
    return held[first : first + size].reshape(shape)


def in_lines(array: Double, real: type[np.floating]) -> npt.NDArray[Any]:
    """A copy that begins with a line of the cache."""
    out = aligned(array.shape, real)
    out[...] = array
    return out
