"""A kernel held as an array, and the few products with it that Sinkhorn and Newton need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.engines.compiled.loading import compiled_code
from driftway.engines.threads.workers import Workers

Double = npt.NDArray[np.float64]

# What an entry costs in a product, in those of a sweep.
PRICE = 0.25


@dataclass(frozen=True, eq=False)
class StoredKernel:
    """An n×m array K of non-negative numbers, in float64 or float32, and what Sinkhorn needs of it.

    Row parts on our own pool, each with a single-threaded BLAS: as fast as a threaded BLAS on an idle machine,
    and several times faster on a busy one, where BLAS threads wait for each other by spinning.
    """

    values: npt.NDArray[Any]
    workers: Workers
    compiled: bool

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    def scalings(self, v: Double, a: Double) -> tuple[Double, Double]:
        """u = a / Kv, zero where a is, and Kᵀu, in one pass over the memory of K."""
        n, m = self.shape
        u = np.empty(n)

        def visit(part: slice) -> Double:
            columns = np.zeros(m)
            if self.compiled:
                compiled_code().scale_rows(part.start, part.stop, self.values, v, a, u, columns)
                return columns
            for block in self.workers.blocks(part, m):
                K, mass = self.values[block], a[block]
                u[block] = np.divide(mass, K @ v, out=np.zeros_like(mass), where=mass > 0)
                columns += u[block] @ K
            return columns

        return u, np.add.reduce(self.workers.each(visit, n, m, blas=not self.compiled, price=PRICE))

    def normal(self, u: Double, v: Double) -> tuple[Double, Double]:
        """B = diag(u) K diag(v) and the smaller of BᵀB and BBᵀ."""
        n, m = self.shape
        B = np.empty((n, m))

        def visit(part: slice) -> Double:
            np.multiply(self.values[part], u[part, None], out=B[part])
            B[part] *= v
            return B[part].T @ B[part] if m <= n else np.empty((0, 0))

        parts = self.workers.each(visit, n, m)
        if m <= n:
            return B, np.add.reduce(parts)
        return B, np.concatenate(self.workers.each(lambda part: B[part] @ B.T, n, m))

    @property
    def exact(self) -> bool:
        """Whether K is held in float64."""
        return self.values.dtype == np.float64

    def scaled(self, u: Double, v: Double) -> Double:
        """diag(u) K diag(v), in the place of K, which is gone afterwards."""

        def visit(part: slice) -> None:
            self.values[part] *= u[part, None]
            self.values[part] *= v

        self.workers.each(visit, *self.shape)
        return self.values
