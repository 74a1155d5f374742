"""The default engine: row blocks on a pool of threads, compiled where Numba is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import flag, positive_integer
from driftway.engines.compiled.layout import LOG2E, CompiledForm, Rows, aligned, scratch
from driftway.engines.compiled.loading import compiled_code, numba_installed
from driftway.engines.cores import available_cores
from driftway.engines.engine import SAFE, Engine, Request, Sweep, entropy_of
from driftway.engines.threads.kernel import StoredKernel
from driftway.engines.threads.numpy_blocks import add_remainder, exponentiate
from driftway.engines.threads.workers import Workers
from driftway.geometry.cost import is_plain
from driftway.geometry.matrices import Matrix

Double = npt.NDArray[np.float64]
T = TypeVar("T")

# What SAFE is to float32.
SINGLE_SAFE = 1e30
# Entries from which a sweep is long enough to be watched.
LONG_SWEEP = 2**29
# Entries of a block of rows in a matrix product: enough for BLAS to be at its best.
GRAM_ENTRIES = 2**20


class Threads(Workers, Engine):
    """The default engine: row blocks on a pool of threads, by compiled code where Numba is installed.

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

    Examples
    --------
    Results do not depend on the number of threads beyond rounding:

    >>> import numpy as np
    >>> from driftway import PointCloudCost, sinkhorn
    >>> from driftway.engines import Threads
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 50, 2))
    >>> one, two = (sinkhorn(PointCloudCost(X, Y), epsilon=0.1, engine=Threads(workers=k)).value for k in (1, 2))
    >>> bool(abs(one - two) < 1e-9)
    True

    """

    def __init__(
        self,
        workers: int | None = None,
        block_entries: int = 2**16,
        memory: int = 512 * 2**20,
        compiled: bool | None = None,
        mixed: bool = True,
    ) -> None:
        super().__init__(
            positive_integer("workers", available_cores() if workers is None else workers),
            positive_integer("block_entries", block_entries),
        )
        self.memory = positive_integer("memory", memory, minimum=0)
        if compiled is not None:
            flag("compiled", compiled)
        if compiled and not numba_installed():
            raise ImportError("compiled=True needs Numba: pip install 'driftway[fast]'")
        self.compiled = numba_installed() if compiled is None else compiled
        self.mixed = flag("mixed", mixed)

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
        tell = _Teller(self.watch if n * m >= LONG_SWEEP else None, n)
        visit, blas = self._visit(request, out, tell), True
        if self.compiled and request.inner is None and not request.entropy:
            form = CompiledForm(request.log, request.f, request.g, single=self._single(request))
            visit, blas = self._compiled_visit(request, form, out, tell), not form.entrywise
        # Partial sums are added in the order of the rows: the same bits whatever thread was first.
        parts = self.each(visit, n, m, blas=blas)
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
                gamma, out.f[block] = exponentiate(request, block)
                if request.remainder is not None:
                    excess += add_remainder(request, block, gamma)
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

    def _single(self, request: Request) -> bool:
        return request.single and self.mixed and request.remainder is None

    def _compiled_visit(
        self, request: Request, form: CompiledForm, out: _Sums, tell: _Teller
    ) -> Callable[[slice], _Part]:
        """A part of a sweep in compiled code."""
        real = form.real
        mass = np.empty(0, real) if request.row_mass is None else request.row_mass.astype(real, copy=False)
        V = _columns(request.right, out.m, real).T.copy()
        U = np.ones((request.log.shape[0], out.c + 1), real)  # the sums of the columns are a product with ones
        if request.left is not None:
            U[:, : out.c] = request.left
        code, safe, empty = compiled_code(), SAFE[1] if real is np.float64 else SINGLE_SAFE, np.empty(0)

        def visit(part: slice) -> _Part:
            left, held, weights = aligned((out.c + 1, out.m), np.float64), scratch(out.m, real), np.empty((2, 4), real)
            left[...], excess, size = 0.0, 0.0, self.block_rows(out.m)
            if request.remainder is not None:
                u, v = request.remainder
                for block, logs in form.formed(part, size):
                    lacking = (mass[block], empty) if u is None else (empty, u[block])
                    where = out.rows[block], out.right[block], left, held
                    excess = code.round_rows(logs, *lacking, v, V, U[block], *where, excess)
                    tell(block)
                return left[-1], left[:-1].T, 0.0, 0.0, excess / LOG2E
            for block, rows in form.over(part, size):
                sums = form.shifts, out.rows, out.right, left, held
                code.sweep_rows(block.start, block.stop, *rows, form.f, mass, safe, V, U, *sums, weights)
                tell(block)
            if request.row_mass is not None:
                out.f[part] = form.shifts[part] / LOG2E - form.rows[part]
            return left[-1], left[:-1].T, 0.0, 0.0, 0.0

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
        if log.factored is not None and np.dtype(real).itemsize * n * m > self.memory:
            return None
        return StoredKernel(self._exponential(log, f, g, np.empty((n, m), real)), self, self.compiled)

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        return self._exponential(log, f, g, np.empty(log.shape))

    def _exponential(self, log: Matrix, f: Double, g: Double, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """exp(log + f ⊕ g) in `out`."""
        n, m = log.shape
        if not self.compiled:
            return self._fill(lambda block: exponentiate(Request(log, f, g), block)[0], out)
        form, size = CompiledForm(log, f, g), self.block_rows(m)
        self.each(lambda part: form.fill(part, size, out[part]), n, m, blas=not form.entrywise)
        return out

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        n, m = log.shape
        form = CompiledForm(log, f, g) if self.compiled else None
        size = max(1, GRAM_ENTRIES // m)

        def visit(part: slice) -> Double:
            total, gamma = np.zeros((m, m)), np.empty((0, m))
            for low in range(part.start, part.stop, size):
                block = slice(low, min(low + size, part.stop))
                if form is None:
                    gamma = exponentiate(Request(log, f, g), block)[0]
                else:
                    gamma = np.empty((block.stop - block.start, m))
                    form.fill(block, size, gamma)
                for factor in factors:
                    B = factor[block] @ basis.T
                    B *= gamma
                    total += B.T @ B
            return total

        return np.add.reduce(self.each(visit, n, m))

    def assemble(self, matrix: Matrix) -> Double:
        if (held := matrix.held) is not None:
            return held
        terms, out = matrix.terms(bilinear=False) if self.compiled else None, np.empty(matrix.shape)
        if terms is None or not terms.x.size:
            return self._fill(matrix.rows, out)
        code, rows = compiled_code(), Rows.of(terms, terms.columns)
        zeros = np.zeros(len(out))
        self.each(
            lambda part: code.form_rows(part.start, part.stop, *rows, zeros, out[part]), *matrix.shape, blas=False
        )
        return out

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        n, m = arrays[0].shape

        def visit(part: slice) -> float:
            return sum(function(*(array[block] for array in arrays)) for block in self.blocks(part, m))

        return float(sum(self.each(visit, n, m)))

    def sums(self, gamma: Double, other: Double) -> tuple[Double, Double, float, float]:
        n, m = gamma.shape
        rows = np.empty(n)

        def visit(part: slice) -> tuple[Double, float, float]:
            columns, inner, entropy = np.zeros(m), 0.0, 0.0
            if self.compiled and is_plain(gamma) and is_plain(other):
                inner, entropy = compiled_code().sum_rows(part.start, part.stop, gamma, other, rows, columns)
                return columns, inner, entropy / LOG2E - rows[part].sum()
            for block in self.blocks(part, m):
                rows[block] = gamma[block].sum(axis=1)
                columns += gamma[block].sum(axis=0)
                inner += float(np.vdot(gamma[block], other[block]))
                entropy += entropy_of(gamma[block])
            return columns, inner, entropy

        columns, inner, entropy = (sum(part) for part in zip(*self.each(visit, n, m), strict=True))
        return rows, np.asarray(columns), float(inner), float(entropy)

    def scaled(self, gamma: Double, s: Double, t: Double, u: Double, v: Double) -> Double:
        out = np.empty(gamma.shape)

        def visit(part: slice) -> None:
            if self.compiled and is_plain(gamma):
                compiled_code().scale_and_add(part.start, part.stop, gamma, s, t, u, v, out)
                return
            np.multiply(gamma[part], s[part, None], out=out[part])
            out[part] *= t
            out[part] += np.multiply.outer(u[part], v)

        self.each(visit, *gamma.shape)
        return out

    def _fill(self, rows: Callable[[slice], Double], array: T) -> T:
        n, m = array.shape  # type: ignore[attr-defined]

        def visit(part: slice) -> None:
            for block in self.blocks(part, m):
                array[block] = rows(block)  # type: ignore[index]

        self.each(visit, n, m)
        return array


_Part = tuple[Double, Double, float, float, float]


def compiled_threads(engine: Engine) -> Threads | None:
    """The engine if it runs compiled code on threads of this machine, as some solvers do themselves; else `None`."""
    return engine if isinstance(engine, Threads) and engine.compiled else None


@dataclass(frozen=True, eq=False)
class _Sums:
    """Output arrays of a sweep that have a number per row: potentials, sums and right products."""

    f: Double
    rows: Double
    right: Double
    m: int
    c: int


class _Teller:
    """Counts the rows that a sweep has visited, and reports the share to a callback."""

    def __init__(self, watch: Callable[[float], None] | None, rows: int) -> None:
        self._watch, self._rows, self._done, self._lock = watch, rows, 0, Lock()

    def __call__(self, block: slice) -> None:
        if self._watch is None:
            return
        with self._lock:
            self._done += block.stop - block.start
            self._watch(self._done / self._rows)


def _columns(basis: Double | None, rows: int, real: type[np.floating]) -> npt.NDArray[np.floating]:
    return np.empty((rows, 0), real) if basis is None else np.ascontiguousarray(basis, dtype=real)
