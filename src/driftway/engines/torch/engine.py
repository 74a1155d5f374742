"""The torch engine: row blocks on a GPU, or on whatever device torch knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import flag, one_of, positive_integer
from driftway.engines.engine import LEAST_SINGLE_SHARE, SAFE, Engine, Kernel, Request, Sweep
from driftway.engines.threads.engine import LONG_SWEEP, SINGLE_SAFE, Threads
from driftway.engines.torch.blocks import COPIES, Blocks, Place, Tensor
from driftway.geometry.matrices import Matrix

Double = npt.NDArray[np.float64]

# Bytes of a kernel up to which products on the host take less than the launches of a sweep, some 0.2 ms.
SMALL_KERNEL = 2**18


class Torch(Engine):
    """Row blocks on a torch device.

    Columns live on the device during a sweep; rows are sent block by block, and only vectors come back. Metrics
    other than (squared) Euclidean, and matrices that are arrays by nature, are sent from the host in blocks.

    Parameters
    ----------
    device : str
        What `torch.device` understands: "cpu", "cuda", "cuda:1", "mps", …
    dtype : "float64" or "float32"
        The precision of the plan's entries. In float32 certificates hold to about 1e-6, so smaller tolerances
        are not reached.
    memory : int
        Bytes on the device at the most. A block has as many rows as fit; a plan is never held.
    mixed : bool
        Whether with dtype "float64" entries may be computed in float32 while that is far more accurate than
        what is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import PointCloudCost, Problem, solve
    >>> from driftway.engines import Torch
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 40, 2))
    >>> bool(solve(Problem(PointCloudCost(X, Y), epsilon=0.1), engine=Torch("cpu")).converged)  # doctest: +SKIP
    True

    """

    def __init__(
        self, device: str = "cpu", dtype: str = "float64", memory: int = 512 * 2**20, mixed: bool = True
    ) -> None:
        self.device, self.dtype = device, one_of("dtype", dtype, ("float64", "float32"))
        self.memory = positive_integer("memory", memory)
        self.mixed = flag("mixed", mixed)
        self._torch = _import_torch()
        self._device = _device(self._torch, device)
        if self._device.type == "mps" and self.dtype == "float64":
            raise ValueError('dtype must be "float32" on device "mps", which has no float64; got "float64"')
        self._host = Threads(memory=SMALL_KERNEL)  # for what is an array on the host by nature

    def __repr__(self) -> str:
        return f"Torch(device={self.device!r}, dtype={self.dtype!r}, memory={self.memory}, mixed={self.mixed})"

    def __reduce__(self) -> tuple[type[Torch], tuple[Any, ...]]:
        return Torch, (self.device, self.dtype, self.memory, self.mixed)

    @property
    def precision(self) -> float:
        return float(np.finfo(self.dtype).eps)

    def holding(self, *masses: Double) -> Engine:
        """Itself, or in float64 if some mass is too small a share of its total for float32."""
        shares = [float(mass[mass > 0].min() / mass.sum()) for mass in masses if mass.any()]
        if self.dtype == "float64" or min(shares, default=1.0) >= LEAST_SINGLE_SHARE:
            return self
        if self._device.type == "mps":
            raise ValueError(
                f"masses cannot be represented in float32: the least is {min(shares):.1e} of the total, and device "
                f'"mps" has no float64; leave out points of less than {LEAST_SINGLE_SHARE:g}'
            )
        return Torch(self.device, "float64", self.memory, self.mixed)

    def sweep(self, request: Request) -> Sweep:
        n, m = request.log.shape
        with self._torch.inference_mode():
            pass_ = _Pass(self._place(single=request.single and request.remainder is None), request)
            for block in self._blocks(n, m, pass_.columns, pass_.copies, pass_.place):
                pass_.visit(block)
                if self.watch is not None and n * m >= LONG_SWEEP:
                    self.watch(block.stop / n)
            return pass_.result()

    def log_columns(self, log: Matrix, f: Double) -> Double:
        n, m = log.shape
        torch, place = self._torch, self._place()
        with torch.inference_mode():
            rows = Blocks(place, log)
            total = torch.full((m,), -math.inf, dtype=place.wide, device=place.device)
            for block in self._blocks(n, m, rows.columns + 4, COPIES + 2, place):
                values = rows[block].add_(place.send(f[block])[:, None])
                total = torch.logaddexp(total, torch.logsumexp(values, dim=0).to(place.wide))
            return place.fetch(total)

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> Kernel | None:
        """On the host for a small problem in float64, whose launches take longer than its entries; else `None`.

        What is held on a device does not come back to the host, and sweeps are what a device is for.
        """
        n, m = log.shape
        if self.dtype == "float32" or 8 * n * m > min(SMALL_KERNEL, self.memory):
            return None
        return self._host.stored(log, f, g, single=False)

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        n, m = log.shape
        out, place = np.empty((n, m)), self._place()
        with self._torch.inference_mode():
            rows, columns = Blocks(place, log), place.send(g)
            for block in self._blocks(n, m, rows.columns + 4, COPIES, place):
                out[block] = place.fetch(_exponential(place, rows, f, columns, block))
        return out

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        n, m = log.shape
        torch, place = self._torch, self._place()
        with torch.inference_mode():
            rows, columns, transposed = Blocks(place, log), place.send(g), place.send(basis.T)
            total = torch.zeros((m, m), dtype=place.real, device=place.device)
            held = rows.columns + basis.shape[1] + 4 + m
            for block in self._blocks(n, m, held, COPIES + 1, place):
                gamma = _exponential(place, rows, f, columns, block)
                for factor in factors:
                    B = (place.send(factor[block]) @ transposed).mul_(gamma)
                    total.addmm_(B.T, B)
            return place.fetch(total)

    def assemble(self, matrix: Matrix) -> Double:
        return self._host.assemble(matrix)

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        return self._host.total(function, *arrays)

    def sums(self, gamma: Double, other: Double) -> tuple[Double, Double, float, float]:
        return self._host.sums(gamma, other)

    def scaled(self, gamma: Double, s: Double, t: Double, u: Double, v: Double) -> Double:
        return self._host.scaled(gamma, s, t, u, v)

    def _place(self, *, single: bool = False) -> Place:
        torch = self._torch
        rough = self.dtype == "float32" or (single and self.mixed)
        return Place(torch, self._device, torch.float32 if rough else torch.float64)

    def _blocks(self, n: int, m: int, columns: int, copies: int, place: Place) -> Iterator[slice]:
        """Blocks of so many rows that the budget holds `copies` of them and `columns` numbers per column."""
        size = np.dtype(place.host_real).itemsize
        fixed, per_row = 8 * m * columns, size * (copies * m + 4 * columns)
        if fixed + per_row > self.memory:
            raise ValueError(
                f"memory must be at least {fixed + per_row} bytes to hold the columns and one row of a problem of "
                f"shape {(n, m)}, got {self.memory}"
            )
        rows = (self.memory - fixed) // per_row
        for low in range(0, n, rows):
            yield slice(low, min(low + rows, n))


class _Pass:
    """One sweep: tensors on the device, and sums on the host."""

    def __init__(self, place: Place, request: Request) -> None:
        n, m = request.log.shape
        self.place, self.request, self.m = place, request, m
        self.log = Blocks(place, request.log)
        self.inner = None if request.inner is None else Blocks(place, request.inner)
        self.g = place.send(request.g)
        self.V = None if request.right is None else place.send(request.right)
        self.v = None if request.remainder is None else place.send(request.remainder[1])
        self.f, self.rows = request.f.copy(), np.empty(n)
        self.right = np.empty((n, 0 if request.right is None else request.right.shape[1]))
        c = 0 if request.left is None else request.left.shape[1]
        zeros, kind = place.torch.zeros, {"dtype": place.wide, "device": place.device}
        self.column_sums, self.left = zeros(m, **kind), zeros((m, c), **kind)
        self.totals = zeros(3, **kind)  # inner, entropy, excess

    @property
    def columns(self) -> int:
        """Numbers per column on the device, at the most."""
        inner = 0 if self.inner is None else self.inner.columns
        return self.log.columns + inner + self.right.shape[1] + 2 * self.left.shape[1] + 6

    @property
    def copies(self) -> int:
        """Blocks of entries that exist at the same time, at the most."""
        request = self.request
        return COPIES + (0 if request.inner is None else COPIES) + (2 if request.remainder else 0) + request.entropy

    def visit(self, block: slice) -> None:
        request, torch = self.request, self.place.torch
        gamma = self._normalised(block)
        if request.remainder is not None:
            gamma, excess = self._completed(block, gamma)
            self.totals[2] += excess
        self.rows[block] = self.place.fetch(gamma.sum(dim=1))
        self.column_sums += gamma.sum(dim=0)
        if self.V is not None:
            self.right[block] = self.place.fetch(gamma @ self.V)
        if request.left is not None:
            self.left += gamma.T @ self.place.send(request.left[block])
        if self.inner is not None:
            self.totals[0] += self.inner[block].mul_(gamma).sum()
        if request.entropy:
            self.totals[1] += torch.xlogy(gamma, gamma).sum() - gamma.sum()

    def _normalised(self, block: slice) -> Tensor:
        """The rows γ(block), scaled to their mass if asked for; their potentials are kept."""
        request, place = self.request, self.place
        gamma = _exponential(place, self.log, request.f, self.g, block)
        if request.row_mass is None or request.remainder is not None:
            return gamma
        mass, shift = place.send(request.row_mass[block]), place.send(request.f[block])
        active, total = mass > 0, gamma.sum(dim=1)
        low, high = SAFE if place.host_real is np.float64 else (1.0 / SINGLE_SAFE, SINGLE_SAFE)
        if not bool(((total > low) & (total < high) | ~active).all()):
            # The last potential was no safe shift for some row: shift every row of the block by its maximum.
            del gamma
            gamma = self.log[block].add_(self.g)
            shift = -gamma.amax(dim=1)
            gamma.add_(shift[:, None]).exp_()
            total = gamma.sum(dim=1)
        factor = place.torch.where(active, mass / total, 0.0)
        gamma.mul_(factor[:, None])
        with np.errstate(divide="ignore"):
            self.f[block] = place.fetch(shift) + np.log(place.fetch(factor))
        return gamma

    def _completed(self, block: slice, gamma: Tensor) -> tuple[Tensor, Tensor]:
        """The rows with the rank-one remainder added, and Σ γ' log(γ'/γ)."""
        request, place, torch = self.request, self.place, self.place.torch
        assert request.remainder is not None
        u, _ = request.remainder
        if u is None:
            assert request.row_mass is not None
            lacking = (place.send(request.row_mass[block]) - gamma.sum(dim=1)).clamp_(min=0.0)
        else:
            lacking = place.send(u[block])
        gamma.addr_(lacking, self.v)
        excess = self.log[block].add_(self.g).add_(place.send(request.f[block])[:, None]).neg_()
        excess.add_(torch.log(gamma)).mul_(gamma)
        return gamma, excess.masked_fill_(gamma <= 0, 0.0).sum()

    def result(self) -> Sweep:
        inner, entropy, excess = (float(number) for number in self.totals)
        columns, left = self.place.fetch(self.column_sums), self.place.fetch(self.left)
        return Sweep(self.f, self.rows, columns, self.right, left, inner, entropy, excess)


def _exponential(place: Place, rows: Blocks, f: Double, g: Tensor, block: slice) -> Tensor:
    """exp(log + f ⊕ g) of a block of rows."""
    return rows[block].add_(g).add_(place.send(f[block])[:, None]).exp_()


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError("the Torch engine needs torch: pip install 'driftway[torch]'") from None
    return torch


def _device(torch: Any, name: object) -> Any:
    """The device of this name, checked to be usable."""
    if not isinstance(name, str):
        raise TypeError(f'device must be a string such as "cpu" or "cuda", got {type(name).__name__} {name!r}')
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device must be one that torch can use here, got {name!r} ({error})") from None
    return device
