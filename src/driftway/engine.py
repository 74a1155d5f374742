"""The row-block sweep: the only place where n·m work happens.

An engine visits the plan  γ = exp(log + f ⊕ g)  in blocks of rows, each exponentiated once and reduced at
once to vectors. Only those vectors cross the boundary, so nothing above knows where the rows live.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module, util
from itertools import pairwise
from threading import Lock
from types import ModuleType
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy
from threadpoolctl import ThreadpoolController

from driftway.matrices import Dense, Matrix
from driftway.validation import flag, positive_integer

Double = npt.NDArray[np.float64]
T = TypeVar("T")

# A row sum in this range was computed without harmful under- or overflow; outside, the row is shifted by its maximum.
SAFE = (1e-200, 1e200)
LOG2E = 1.4426950408889634
# Entries per call of compiled code, so that a long sweep can be watched and interrupted; and what is long.
CALL_ENTRIES, LONG_SWEEP = 2**26, 2**29
# Entries of a block of rows in a matrix product: enough for BLAS to be at its best.
GRAM_ENTRIES = 2**20


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
    excess : Σ γ (log γ − log − f ⊕ g), which is zero but for a remainder

    """

    f: Double
    rows: Double
    columns: Double
    right: Double
    left: Double
    inner: float = 0.0
    entropy: float = 0.0
    excess: float = 0.0


@dataclass(frozen=True, eq=False)
class Request:
    """One pass over  γ = exp(log + f ⊕ g) + u vᵀ  and what to reduce it to.

    With `row_mass`, each row is first scaled to that mass, which is Sinkhorn's update of f. `remainder` is the
    rank-one part (u, v) of a rounded plan, where u = `None` stands for what the rows, as they are, lack of
    `row_mass`. `single` allows the entries to be computed in float32.
    """

    log: Matrix
    f: Double
    g: Double
    row_mass: Double | None = None
    right: Double | None = None
    left: Double | None = None
    inner: Matrix | None = None
    remainder: tuple[Double | None, Double] | None = None
    entropy: bool = False
    single: bool = False


@dataclass(frozen=True, eq=False)
class StoredKernel:
    """An n×m array K of non-negative numbers, in float64 or float32, and what Sinkhorn needs of it.

    Row parts on our own pool, each with a single-threaded BLAS: as fast as a threaded BLAS on an idle machine,
    and several times faster on a busy one, where BLAS threads wait for each other by spinning.
    """

    values: npt.NDArray[Any]
    engine: Threads

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
            if self.engine.compiled:
                _compiled().scale_rows(part.start, part.stop, self.values, v, a, u, columns)
                return columns
            for block in self.engine.blocks(part, m):
                K, mass = self.values[block], a[block]
                u[block] = np.divide(mass, K @ v, out=np.zeros_like(mass), where=mass > 0)
                columns += u[block] @ K
            return columns

        return u, np.add.reduce(self.engine.each(visit, n, m, blas=not self.engine.compiled))

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

    @property
    def exact(self) -> bool:
        """Whether K is held in float64."""
        return self.values.dtype == np.float64

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

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> StoredKernel | None:
        """exp(log + f ⊕ g) as an array if the engine is willing to hold it, else `None`."""

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        """exp(log + f ⊕ g) as an array, whatever its size."""

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        """Σ BᵀB over the factors F (n×k), where B = exp(log + f ⊕ g) ∘ (F basisᵀ) for a basis (m×k)."""

    def assemble(self, matrix: Matrix) -> Double:
        """The matrix as an array, whatever its size; it may be the one held and must not be written to."""

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        """The sum of function(rows of every array) over blocks of rows."""


class Threads:
    """Row blocks on a pool of threads, by compiled code where Numba is installed.

    Parameters
    ----------
    workers : int, optional
        Number of threads; the number of available cores by default.
    block_entries : int
        Entries per block, to fit the cache of one core. Fewer entries than that are not shared among threads.
    memory : int
        Bytes up to which the engine holds exp(log + f ⊕ g) as an array, because it then iterates with
        matrix-vector products instead of exponentials. Above it memory is linear in n + m. A plan that is
        dense by nature is always held.
    compiled : bool, optional
        Whether to run the compiled sweep of the extra `fast`; by default if Numba is there.
    mixed : bool
        Whether the entries of a plan may be held or computed in float32 while that is far more accurate than
        what is asked for. Potentials, sums and whatever is certified are in float64 in any case.

    """

    def __init__(
        self,
        workers: int | None = None,
        block_entries: int = 2**16,
        memory: int = 512 * 2**20,
        compiled: bool | None = None,
        mixed: bool = True,
    ) -> None:
        self.workers = positive_integer("workers", available_cores() if workers is None else workers)
        self.block_entries = positive_integer("block_entries", block_entries)
        self.memory = positive_integer("memory", memory, minimum=0)
        if compiled is not None:
            flag("compiled", compiled)
        if compiled and not _numba_installed():
            raise ImportError("compiled=True needs Numba; install driftway[fast]")
        self.compiled = _numba_installed() if compiled is None else compiled
        self.mixed = flag("mixed", mixed)
        # Told the share of a long sweep that is done, while somebody watches.
        self.watch: Callable[[float], None] | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"watch": None}

    def __repr__(self) -> str:
        return (
            f"Threads(workers={self.workers}, block_entries={self.block_entries}, memory={self.memory}, "
            f"compiled={self.compiled}, mixed={self.mixed})"
        )

    def sweep(self, request: Request) -> Sweep:
        n, m = request.log.shape
        out = _Sums(
            request.f.copy(),
            np.empty(n),
            np.empty((n, 0 if request.right is None else request.right.shape[1])),
            m,
            0 if request.left is None else request.left.shape[1],
        )
        compiled = self.compiled and request.inner is None and not request.entropy
        tell = _Teller(self.watch if n * m >= LONG_SWEEP else None, n)
        visit = self._compiled_visit(request, out, tell) if compiled else self._visit(request, out, tell)
        # Partial sums are added in the order of the rows: the same bits whatever thread was first.
        parts = self.each(visit, n, m)
        columns, left, inner, entropy, excess = (sum(part) for part in zip(*parts, strict=True))
        return Sweep(
            out.f,
            out.rows,
            np.asarray(columns),
            out.right,
            np.asarray(left),
            float(inner),
            float(entropy),
            float(excess),
        )

    def _visit(self, request: Request, out: _Sums, tell: _Teller) -> Callable[[slice], _Part]:
        """A part of a sweep in NumPy."""

        def visit(part: slice) -> _Part:
            columns, left = np.zeros(out.m), np.zeros((out.m, out.c))
            inner = entropy = excess = 0.0
            for block in self.blocks(part, out.m):
                gamma, out.f[block] = _exponentiate(request, block)
                if request.remainder is not None:
                    excess += _add_remainder(request, block, gamma)
                out.rows[block] = gamma.sum(axis=1)
                columns += gamma.sum(axis=0)
                if request.right is not None:
                    out.right[block] = gamma @ request.right
                if request.left is not None:
                    left += gamma.T @ request.left[block]
                if request.inner is not None:
                    inner += float(np.vdot(gamma, request.inner.rows(block)))
                if request.entropy:
                    entropy += entropy_of(gamma)
                tell(block)
            return columns, left, inner, entropy, excess

        return visit

    def _compiled_visit(self, request: Request, out: _Sums, tell: _Teller) -> Callable[[slice], _Part]:
        """A part of a sweep in compiled code."""
        log = request.log
        single = request.single and self.mixed and request.remainder is None
        real = np.float32 if single else np.float64
        spelled = _Spelled(log, request.f, request.g, real)
        mass = np.empty(0, real) if request.row_mass is None else request.row_mass.astype(real, copy=False)
        V = _columns(request.right, out.m, real).T.copy()
        U = _columns(request.left, log.shape[0], real)
        code, safe, empty = _compiled(), 1e30 if single else SAFE[1], np.empty(0)

        def visit(part: slice) -> _Part:
            columns, left = np.zeros(out.m), np.zeros((out.c, out.m))
            buffer, excess = np.empty((4, out.m), real), 0.0
            for block, terms in spelled.over(self.blocks(part, out.m), part):
                where = block.start, block.stop, terms, spelled.f
                sums = out.rows, out.right, columns, left, buffer
                if request.remainder is None:
                    code.sweep_rows(*where, mass, safe, V, U, spelled.shifts, *sums)
                else:
                    u, v = request.remainder
                    lacking = (mass, empty) if u is None else (empty, u)
                    excess += code.sweep_rounded(*where, *lacking, v, V, U, *sums)
                tell(block)
            if request.row_mass is not None and request.remainder is None:
                out.f[part] = spelled.shifts[part] / LOG2E - spelled.rows[part]
            return columns, left.T, 0.0, 0.0, excess / LOG2E

        return visit

    def log_columns(self, log: Matrix, f: Double) -> Double:
        n, m = log.shape

        def visit(part: slice) -> tuple[Double, Double]:
            top, total = np.full(m, -np.inf), np.zeros(m)
            for block in self.blocks(part, m):
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

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> StoredKernel | None:
        n, m = log.shape
        real = np.float32 if single and self.mixed and self.compiled else np.float64
        if not isinstance(log, Dense) and np.dtype(real).itemsize * n * m > self.memory:
            return None
        return StoredKernel(self._exponential(log, f, g, np.empty((n, m), real)), self)

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        return self._exponential(log, f, g, np.empty(log.shape))

    def _exponential(self, log: Matrix, f: Double, g: Double, out: T) -> T:
        """exp(log + f ⊕ g) in `out`."""
        n, m = log.shape
        if not self.compiled:
            return self._fill(lambda block: _exponentiate(Request(log, f, g), block)[0], out)
        spelled, code = _Spelled(log, f, g, np.float64), _compiled()

        def visit(part: slice) -> None:
            buffer = np.empty((1, m))
            for block, terms in spelled.over(self.blocks(part, m), part):
                code.fill_rows(block.start, block.stop, terms, spelled.f, buffer, out, 0)

        self.each(visit, n, m)
        return out

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        n, m = log.shape
        spelled = _Spelled(log, f, g, np.float64) if self.compiled else None
        size = max(1, GRAM_ENTRIES // m)

        def visit(part: slice) -> Double:
            total, buffer, gamma = np.zeros((m, m)), np.empty((1, m)), np.empty((0, m))
            for low in range(part.start, part.stop, size):
                block = slice(low, min(low + size, part.stop))
                if spelled is None:
                    gamma = _exponentiate(Request(log, f, g), block)[0]
                else:
                    gamma = np.empty((block.stop - block.start, m))
                    for rows, terms in spelled.over([block], block):
                        _compiled().fill_rows(rows.start, rows.stop, terms, spelled.f, buffer, gamma, block.start)
                for factor in factors:
                    B = factor[block] @ basis.T
                    B *= gamma
                    total += B.T @ B
            return total

        return np.add.reduce(self.each(visit, n, m))

    def assemble(self, matrix: Matrix) -> Double:
        if isinstance(matrix, Dense):
            return matrix.values
        return self._fill(matrix.rows, np.empty(matrix.shape))

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        n, m = arrays[0].shape

        def visit(part: slice) -> float:
            return sum(function(*(array[block] for array in arrays)) for block in self.blocks(part, m))

        return float(sum(self.each(visit, n, m)))

    def _fill(self, rows: Callable[[slice], Double], array: T) -> T:
        n, m = array.shape  # type: ignore[attr-defined]

        def visit(part: slice) -> None:
            for block in self.blocks(part, m):
                array[block] = rows(block)  # type: ignore[index]

        self.each(visit, n, m)
        return array

    def each(self, visit: Callable[[slice], T], n: int, m: int, *, blas: bool = True) -> list[T]:
        """`visit` applied to consecutive parts of the rows, one per worker, with BLAS, if used, kept to one thread."""
        if n * m <= self.block_entries or self.workers == 1:
            return [_quietly(visit, slice(0, n))]
        cuts = [n * k // self.workers for k in range(self.workers + 1)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        with single_blas() if blas else nullcontext():
            return list(_pool(self.workers, os.getpid()).map(lambda part: _quietly(visit, part), parts))

    def blocks(self, part: slice, m: int) -> list[slice]:
        """A part of the rows in blocks that fit the cache."""
        size = max(1, self.block_entries // m)
        return [slice(low, min(low + size, part.stop)) for low in range(part.start, part.stop, size)]


_Part = tuple[Double, Double, float, float, float]


@dataclass(frozen=True, eq=False)
class _Sums:
    """Where a sweep leaves what belongs to rows: potentials, sums and right products; m columns, c left products."""

    f: Double
    rows: Double
    right: Double
    m: int
    c: int


class _Teller:
    """Counts the rows that a sweep has visited and tells the share to whoever watches."""

    def __init__(self, watch: Callable[[float], None] | None, rows: int) -> None:
        self._watch, self._rows, self._done, self._lock = watch, rows, 0, Lock()

    def __call__(self, block: slice) -> None:
        if self._watch is None:
            return
        with self._lock:
            self._done += block.stop - block.start
            self._watch(self._done / self._rows)


class _Spelled:
    """A log-plan  log + f ⊕ g  as compiled code wants it: in units of log₂ and one precision."""

    def __init__(self, log: Matrix, f: Double, g: Double, real: type[np.floating]) -> None:
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


def _columns(basis: Double | None, rows: int, real: type[np.floating]) -> npt.NDArray[np.floating]:
    return np.empty((rows, 0), real) if basis is None else np.ascontiguousarray(basis, dtype=real)


def _add_remainder(request: Request, block: slice, gamma: Double) -> float:
    """Adds the rank-one remainder to the rows γ(block); Σ γ' log(γ'/γ)."""
    assert request.remainder is not None
    u, v = request.remainder
    logs = request.log.rows(block) + request.g + request.f[block, None]
    if u is None:
        assert request.row_mass is not None
        lacking = np.maximum(request.row_mass[block] - gamma.sum(axis=1), 0.0)
    else:
        lacking = u[block]
    gamma += np.multiply.outer(lacking, v)
    excess = np.subtract(np.log(gamma), logs, out=np.zeros_like(gamma), where=gamma > 0)
    return float(np.vdot(gamma, excess))


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
    if request.row_mass is None or request.remainder is not None:
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


@cache
def _numba_installed() -> bool:
    return util.find_spec("numba") is not None


@cache
def _compiled() -> ModuleType:
    """The compiled code, imported when it is first needed."""
    return import_module("driftway.compiled")


def available_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """The pool of this process: threads do not survive a fork, so each process has its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix="driftway")


@contextmanager
def single_blas() -> Iterator[None]:
    """Keeps BLAS to one thread inside a `with` block: our own threads share the work, or it is too small to share."""
    global _limits
    if _limits:  # already so; asking BLAS again would cost more than a small product
        yield
        return
    with _blas().limit(limits=1, user_api="blas"):
        _limits += 1
        try:
            yield
        finally:
            _limits -= 1


_limits = 0


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
