"""What an engine is: it executes the row-block sweep, the only place where n·m work happens.

An engine visits the plan  γ = exp(log + f ⊕ g)  in blocks of rows, each exponentiated once and reduced at
once to vectors. Only those vectors cross the boundary, so nothing above knows where the rows live.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from driftway.geometry.matrices import Matrix

Double = npt.NDArray[np.float64]

# A row sum in this range was computed without harmful under- or overflow; outside, the row is shifted by its maximum.
SAFE = (1e-200, 1e200)
# What stands for a zero where a logarithm or a quotient is taken: near the least number with all its digits.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of one pass over the plan.

    Attributes
    ----------
    f : row potentials, updated if the rows were normalised (n)
    rows, columns : marginals γ1 and γᵀ1 (n), (m)
    right : γ V (n×r), left : γᵀ U (m×c)
    inner : ⟨γ, M⟩
    entropy : H(γ) = Σ γ (log γ − 1), if asked for
    excess : Σ γ (log γ − log − f ⊕ g), which is zero but for a remainder

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.engines import Request, Threads
    >>> from driftway.geometry import Dense
    >>> sums = Threads().sweep(Request(Dense(np.zeros((2, 3))), np.zeros(2), np.zeros(3)))
    >>> sums.rows.round(6).tolist(), sums.columns.round(6).tolist()
    ([3.0, 3.0], [2.0, 2.0, 2.0])

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
    """A pass over the plan  γ = exp(log + f ⊕ g) + u vᵀ  for an engine, and the sums that it should return.

    Attributes
    ----------
    log : a Matrix (n×m)
    f, g : log-potentials (n), (m)
    row_mass : if given, each row is first scaled to this mass, which is Sinkhorn's update of f (n)
    right : V of the product γV (m×r)
    left : U of the product γᵀU (n×c)
    inner : the Matrix M of ⟨γ, M⟩
    remainder : the rank-one part (u, v) of a rounded plan; u = `None` stands for what the rows, as they are, lack of
        `row_mass`
    entropy : whether H(γ) is wanted
    single : whether the entries may be computed in float32

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.engines import Request, Threads
    >>> from driftway.geometry import Dense
    >>> log, masses = Dense(np.zeros((2, 3))), np.array([0.25, 0.75])
    >>> sums = Threads().sweep(Request(log, np.zeros(2), np.zeros(3), row_mass=masses, right=np.ones((3, 1))))
    >>> sums.rows.round(6).tolist(), sums.right.round(6).tolist()
    ([0.25, 0.75], [[0.25], [0.75]])

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


class Kernel(Protocol):
    """An n×m array K of non-negative numbers, and the few products with it that Sinkhorn and Newton need."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""

    @property
    def exact(self) -> bool:
        """Whether K is held in float64."""

    def scalings(self, v: Double, a: Double) -> tuple[Double, Double]:
        """u = a / Kv, zero where a is, and Kᵀu."""

    def normal(self, u: Double, v: Double) -> tuple[Double, Double]:
        """B = diag(u) K diag(v) and the smaller of BᵀB and BBᵀ."""

    def scaled(self, u: Double, v: Double) -> Double:
        """diag(u) K diag(v), in the place of K, which is gone afterwards."""


@runtime_checkable
class Engine(Protocol):
    """Executes sweeps."""

    def sweep(self, request: Request) -> Sweep:
        """One pass over all rows."""

    def log_columns(self, log: Matrix, f: Double) -> Double:
        """log Σᵢ exp(log + f) for every column, safe from under- and overflow."""

    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> Kernel | None:
        """exp(log + f ⊕ g) as an array if the engine is willing to hold it, else `None`."""

    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        """exp(log + f ⊕ g) as an array, whatever its size."""

    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        """Σ BᵀB over the factors F (n×k), where B = exp(log + f ⊕ g) ∘ (F basisᵀ) for a basis (m×k)."""

    def assemble(self, matrix: Matrix) -> Double:
        """The matrix as an array, whatever its size; it may be the one held and must not be written to."""

    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        """The sum of function(rows of every array) over blocks of rows."""

    def sums(self, gamma: Double, other: Double) -> tuple[Double, Double, float, float]:
        """Of an array: the sums of its rows and of its columns, ⟨γ, other⟩ and H(γ)."""

    def scaled(self, gamma: Double, s: Double, t: Double, u: Double, v: Double) -> Double:
        """diag(s) γ diag(t) + u vᵀ, in an array of its own."""


@runtime_checkable
class Watched(Protocol):
    """What an engine has besides if it tells how far a long sweep has come."""

    watch: Callable[[float], None] | None  # told the share that is done, while somebody watches


@runtime_checkable
class OnCluster(Protocol):
    """What an engine has besides if its workers are elsewhere."""

    @property
    def dashboard(self) -> str:
        """Where the cluster can be watched."""


def entropy_of(gamma: Double) -> float:
    """H(γ) = Σ γ (log γ − 1), zero where γ is."""
    return float(xlogy(gamma, gamma).sum() - gamma.sum())
