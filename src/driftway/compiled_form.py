"""A log-plan as compiled code wants it, and that code, imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module, util
from types import ModuleType

import numpy as np
import numpy.typing as npt

from driftway.matrices import Matrix

Double = npt.NDArray[np.float64]

LOG2E = 1.4426950408889634
# Entries per call of compiled code, so that a long sweep can be watched and interrupted.
CALL_ENTRIES = 2**26
# Entries that compiled code looks at together, at most: four vectors of the widest kind.
MARGIN = 128


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
        self._g = (columns * LOG2E).astype(real)
        self._terms: tuple[object, ...] | None = None
        if terms is not None:
            _, _, base, x, y, euclidean, scale, A, B = terms
            x, y, B = (array.astype(real, copy=False) for array in (x, y, B))
            self._terms = (base, 0, x, y, euclidean, real(scale * LOG2E), (A * LOG2E).astype(real), B, self._g)

    @property
    def entrywise(self) -> bool:
        """Whether compiled code forms every entry itself, or is given blocks of rows."""
        return self._terms is not None

    def over(self, blocks: list[slice], part: slice) -> Iterator[tuple[slice, tuple[object, ...]]]:
        """The rows to visit and what they are made of; blocks of rows are computed where that is all one can have."""
        n, m = self.log.shape
        if self._terms is not None:
            size = max(4, CALL_ENTRIES // m)
            for low in range(part.start, part.stop, size):
                yield slice(low, min(low + size, part.stop)), self._terms
            return
        empty = np.empty((n, 0), self.real), np.empty((0, m), self.real)
        for block in blocks:
            base = np.ascontiguousarray(self.log.rows(block))
            yield block, (base, block.start, *empty, True, self.real(LOG2E), *empty, self._g)


def scratch(m: int, real: type[np.floating]) -> npt.NDArray[np.floating]:
    """Five rows for compiled code to write to, with no other array near them in memory."""
    return inside(np.empty(5 * m + 2 * MARGIN, real))


def inside(held: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Five rows in the middle of an array."""
    return held[MARGIN : held.size - MARGIN].reshape(5, -1)


@cache
def numba_installed() -> bool:
    """Whether compiled code can be had."""
    return util.find_spec("numba") is not None


@cache
def compiled_code() -> ModuleType:
    """The compiled code, imported when it is first needed."""
    return import_module("driftway.compiled")
