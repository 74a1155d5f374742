"""The row-block sweep: the only place where n·m work happens.

An engine visits the plan  γ = exp(log + f ⊕ g)  in blocks of rows, each exponentiated once and reduced at
once to vectors. Only those vectors cross the boundary, so nothing above knows where the rows live.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy
from threadpoolctl import ThreadpoolController

from driftway.matrices import Dense, Matrix
from driftway.validation import positive_integer

Double = npt.NDArray[np.float64]
T = TypeVar("T")

# A row sum in this range was computed without harmful under- or overflow; outside, the row is shifted by its maximum.
SAFE = (1e-200, 1e200)


@dataclass(frozen=True, eq=False)
class Sweep:
    """What one pass over the plan leaves behind.

    Attributes
    ----------
    f : row potentials, updated if the rows were normalised (n)
    rows, columns : marginals γ1 and γᵀ1 (n), (m)
    right : γ V (n×r), left : γᵀ U (m×c)
    inner : ⟨γ, M⟩
    entropy : H(γ) = Σ γ (log γ − 1), if asked for

    """

    f: Double
    rows: Double
    columns: Double
    right: Double
    left: Double
    inner: float
    entropy: float


@dataclass(frozen=True, eq=False)
class Request:
    """One pass over  γ = exp(log + f ⊕ g) + u vᵀ  and what to reduce it to.

    With `row_mass`, each row is first scaled to that mass, which is Sinkhorn's update of f. `remainder` is the
    rank-one part (u, v) of a rounded plan.
    """

    log: Matrix
    f: Double
    g: Double
    row_mass: Double | None = None
    right: Double | None = None
    left: Double | None = None
    inner: Matrix | None = None
    remainder: tuple[Double, Double] | None = None
    entropy: bool = False


@dataclass(frozen=True, eq=False)
class StoredKernel:
    """An n×m array K of non-negative numbers and its products with vectors, spread over the threads.

    Row parts on our own pool, each with a single-threaded BLAS: as fast as a threaded BLAS on an idle machine,
    and several times faster on a busy one, where BLAS threads wait for each other by spinning.
    """

    values: Double
    engine: Threads

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    def times(self, v: Double) -> Double:
        """K v."""
        return np.concatenate(self.engine.each(lambda part: self.values[part] @ v, *self.shape))

    def transposed_times(self, u: Double) -> Double:
        """Kᵀ u."""
        return np.add.reduce(self.engine.each(lambda part: u[part] @ self.values[part], *self.shape))

    def normal(self, u: Double, v: Double) -> tuple[Double, Double]:
        """B = diag(u) K diag(v) and the smaller of BᵀB and BBᵀ."""
        n, m = self.shape
        B = np.empty((n, m))

        def visit(part: slice) -> Double:
            np.multiply(self.values[part], u[part, None], out=B[part])
            B[part] *= v
            return B[part].T @ B[part] if m <= n else np.empty((0, 0))

        parts = self.engine.each(visit, n, m)
        if m <= n:
            return B, np.add.reduce(parts)
        return B, np.concatenate(self.engine.each(lambda part: B[part] @ B.T, n, m))

    def scaled(self, u: Double, v: Double) -> Double:
        """diag(u) K diag(v), in the place of K, which is gone afterwards."""

        def visit(part: slice) -> None:
            self.values[part] *= u[part, None]
            self.values[part] *= v

        self.engine.each(visit, *self.shape)
        return self.values


@runtime_checkable
class Engine(Protocol):
    """Executes sweeps."""

    def sweep(self, request: Request) -> Sweep:
        """One pass over all rows."""

    def log_columns(self, log: Matrix, f: Double) -> Double:
        """log Σᵢ exp(log + f) for every column, safe from under- and overflow."""

    def stored(self, log: Matrix, f: Double, g: Double) -> StoredKernel | None:
        """exp(log + f ⊕ g) as an array if the engine is willing to hold it, else `None`."""

    def assemble(self, matrix: Matrix) -> Double:
        """The matrix as an array, whatever its size; it may be the one held and must not be written to."""

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        """The sum of function(rows of every array) over blocks of rows."""


class Threads:
    """Cache-sized row blocks on a pool of threads.

    Parameters
    ----------
    workers : int, optional
        Number of threads; the number of available cores by default.
    block_entries : int
        Entries per block, to fit the cache of one core.
    memory : int
        Bytes up to which the engine holds exp(log + f ⊕ g) as an array, because it then iterates with
        matrix-vector products instead of exponentials. Above it memory is linear in n + m. A plan that is
        dense by nature is always held.

    """

    def __init__(self, workers: int | None = None, block_entries: int = 2**16, memory: int = 64 * 2**20) -> None:
        self.workers = positive_integer("workers", available_cores() if workers is None else workers)
        self.block_entries = positive_integer("block_entries", block_entries)
        self.memory = positive_integer("memory", memory, minimum=0)

    def __repr__(self) -> str:
        return f"Threads(workers={self.workers}, block_entries={self.block_entries}, memory={self.memory})"

    def sweep(self, request: Request) -> Sweep:
        n, m = request.log.shape
        f, rows = request.f.copy(), np.empty(n)
        right = np.empty((n, 0 if request.right is None else request.right.shape[1]))

        def visit(part: slice) -> tuple[Double, Double, float, float]:
            columns = np.zeros(m)
            left = np.zeros((m, 0 if request.left is None else request.left.shape[1]))
            inner = entropy = 0.0
            for block in self._blocks(part, m):
                gamma, f[block] = _exponentiate(request, block)
                if request.remainder is not None:
                    u, v = request.remainder
                    gamma += np.multiply.outer(u[block], v)
                rows[block] = gamma.sum(axis=1)
                columns += gamma.sum(axis=0)
                if request.right is not None:
                    right[block] = gamma @ request.right
                if request.left is not None:
                    left += gamma.T @ request.left[block]
                if request.inner is not None:
                    inner += float(np.vdot(gamma, request.inner.rows(block)))
                if request.entropy:
                    entropy += entropy_of(gamma)
            return columns, left, inner, entropy

        # Partial sums are added in the order of the rows: the same bits whatever thread was first.
        columns, left, inner, entropy = (sum(part) for part in zip(*self.each(visit, n, m), strict=True))
        return Sweep(f, rows, np.asarray(columns), right, np.asarray(left), float(inner), float(entropy))

    def log_columns(self, log: Matrix, f: Double) -> Double:
        n, m = log.shape

        def visit(part: slice) -> tuple[Double, Double]:
            top, total = np.full(m, -np.inf), np.zeros(m)
            for block in self._blocks(part, m):
                values = log.rows(block)
                values += f[block, None]
                higher = np.maximum(top, values.max(axis=0))
                shift = np.where(np.isfinite(higher), higher, 0.0)
                total = total * np.exp(top - shift) + np.exp(values - shift).sum(axis=0)
                top = higher
            return top, total

        parts = self.each(visit, n, m)
        with np.errstate(divide="ignore", invalid="ignore"):  # a part without mass
            logs = [np.where(total > 0, top + np.log(total), -np.inf) for top, total in parts]
            return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def stored(self, log: Matrix, f: Double, g: Double) -> StoredKernel | None:
        n, m = log.shape
        if not isinstance(log, Dense) and 8 * n * m > self.memory:
            return None
        return StoredKernel(self._fill(lambda block: _exponentiate(Request(log, f, g), block)[0], (n, m)), self)

    def assemble(self, matrix: Matrix) -> Double:
        if isinstance(matrix, Dense):
            return matrix.values
        return self._fill(matrix.rows, matrix.shape)

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        n, m = arrays[0].shape

        def visit(part: slice) -> float:
            return sum(function(*(array[block] for array in arrays)) for block in self._blocks(part, m))

        return float(sum(self.each(visit, n, m)))

    def _fill(self, rows: Callable[[slice], Double], shape: tuple[int, int]) -> Double:
        n, m = shape
        array = np.empty(shape)

        def visit(part: slice) -> None:
            for block in self._blocks(part, m):
                array[block] = rows(block)

        self.each(visit, n, m)
        return array

    def each(self, visit: Callable[[slice], T], n: int, m: int) -> list[T]:
        """`visit` applied to consecutive parts of the rows, one per worker, with BLAS kept to one thread."""
        if n * m <= self.block_entries or self.workers == 1:
            return [_quietly(visit, slice(0, n))]
        cuts = [n * k // self.workers for k in range(self.workers + 1)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        with blas_threads(1):
            return list(_pool(self.workers, os.getpid()).map(lambda part: _quietly(visit, part), parts))

    def _blocks(self, part: slice, m: int) -> list[slice]:
        size = max(1, self.block_entries // m)
        return [slice(low, min(low + size, part.stop)) for low in range(part.start, part.stop, size)]


def entropy_of(gamma: Double) -> float:
    """H(γ) = Σ γ (log γ − 1), zero where γ is."""
    return float(xlogy(gamma, gamma).sum() - gamma.sum())


def _exponentiate(request: Request, block: slice) -> tuple[Double, Double]:
    """The rows γ(block) = exp(log + f ⊕ g), scaled to their mass if asked for, and their potentials."""
    f = request.f[block]
    gamma = request.log.rows(block)
    gamma += request.g
    gamma += f[:, None]
    np.exp(gamma, out=gamma)
    if request.row_mass is None:
        return gamma, f
    mass = request.row_mass[block]
    active = mass > 0
    total = gamma.sum(axis=1)
    if not np.all((total > SAFE[0]) & (total < SAFE[1]) | ~active):
        # The last potential was no safe shift for some row: shift every row of the block by its maximum.
        gamma = request.log.rows(block)
        gamma += request.g
        f = -gamma.max(axis=1)
        gamma += f[:, None]
        np.exp(gamma, out=gamma)
        total = gamma.sum(axis=1)
    factor = np.divide(mass, total, out=np.zeros_like(mass), where=active)
    gamma *= factor[:, None]
    return gamma, np.where(active, f + np.log(factor), -np.inf)


def _quietly(visit: Callable[[slice], T], part: slice) -> T:
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return visit(part)


def available_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """The pool of this process: threads do not survive a fork, so each process has its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix="driftway")


def blas_threads(limit: int | None) -> AbstractContextManager[object]:
    """Keeps BLAS to so many threads inside a `with` block; `None` leaves it as it is."""
    return nullcontext() if limit is None else _blas().limit(limits=limit, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
