"""Memory layout of log-plans for compiled code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.engines.compiled.loading import compiled_code
from driftway.geometry.matrices import Matrix
from driftway.geometry.terms import Terms

Double = npt.NDArray[np.float64]

LN2 = math.log(2.0)
LOG2E = 1.0 / LN2
# Entries per call of compiled code, so that a long sweep can be watched and interrupted.
CALL_ENTRIES = 2**26
# Entries that compiled code looks at together, at most: four vectors of the widest kind.
MARGIN = 128
# Bytes of a line of the cache.
LINE = 64


class Rows(NamedTuple):
    """What kernels form rows from: what there is none of is `None`, as are flags that are not set.

    Flags tell what stands beside g and the product: nothing (`alone`), Euclidean distances or their squares in the
    plane or in another space (`cloud`). Then how exponentials are taken: in the pass that forms a row (`products` of
    two terms), while the next one is formed (`ahead`), or after it (`formed`).
    """

    base: npt.NDArray[Any] | None
    first: int
    x: npt.NDArray[Any] | None
    y: npt.NDArray[Any] | None
    scale: np.floating | float
    A: npt.NDArray[Any] | None
    B: npt.NDArray[Any] | None
    g: npt.NDArray[Any]
    alone: Literal[True] | None = None
    plane: Literal[True] | None = None
    cloud: Literal[True] | None = None
    euclidean: Literal[True] | None = None
    products: Literal[True] | None = None
    ahead: Literal[True] | None = None
    formed: Literal[True] | None = None

    @classmethod
    def of(cls, terms: Terms, g: npt.NDArray[Any], unit: float = 1.0) -> Rows:
        """Terms in a unit, in the precision of g."""
        real, rank, d = g.dtype.type, terms.A.shape[1], terms.x.shape[1]
        base = terms.base if len(terms.base) else None
        x, y = (terms.x.astype(real, copy=False), in_lines(terms.y, real)) if d else (None, None)
        A, B = ((terms.A * unit).astype(real), in_lines(terms.B, real)) if rank else (None, None)
        alone, euclidean = base is None and not d, d > 0 and terms.euclidean
        products, ahead = alone and rank == 2, d == 2 and euclidean and rank in (0, 2)
        flags = alone, d == 2, d not in (0, 2), euclidean, products, ahead, not products
        return cls(base, 0, x, y, real(terms.scale * unit), A, B, g, *(True if flag else None for flag in flags))


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
        self._rows = None if terms is None else Rows.of(terms, self._g, LOG2E)

    @property
    def entrywise(self) -> bool:
        """Whether compiled code forms every entry itself, or is given blocks of rows."""
        return self._rows is not None

    def over(self, part: slice, rows: int, *, long: bool = True) -> Iterator[tuple[slice, Rows]]:
        """The rows to visit and what they are made of: so many at a time, or more where none has to be computed."""
        size = max(4, CALL_ENTRIES // self.log.shape[1]) if long and self._rows is not None else rows
        for low in range(part.start, part.stop, size):
            block = slice(low, min(low + size, part.stop))
            if self._rows is not None:
                yield block, self._rows
            else:
                base = np.ascontiguousarray(self.log.rows(block))
                yield block, Rows(base, low, None, None, self.real(LOG2E), None, None, self._g, formed=True)

    def formed(self, part: slice, rows: int) -> Iterator[tuple[slice, Double]]:
        """The log-plan itself in float64, so many rows at a time, each time in the same array."""
        held = np.empty((rows, self.log.shape[1]))
        for block, terms in self.over(part, rows, long=False):
            logs = held[: block.stop - block.start]
            compiled_code().form_rows(block.start, block.stop, *terms, self.f, logs)
            yield block, logs

    def fill(self, part: slice, rows: int, out: npt.NDArray[np.floating]) -> None:
        """out = the exponentials of the rows of a part, so many at a time, from entries in float64."""
        if self._rows is None or not (self._rows.ahead or self._rows.products):
            for block, logs in self.formed(part, rows):
                compiled_code().exponentiate_rows(logs, out[block.start - part.start : block.stop - part.start])
            return
        held = scratch(self.log.shape[1], np.float64)
        for block, terms in self.over(part, rows):
            there = out[block.start - part.start : block.stop - part.start]
            compiled_code().fill_rows(block.start, block.stop, *terms, self.f, held, there)


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
