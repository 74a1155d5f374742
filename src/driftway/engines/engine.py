"""The base class of engines, which execute the row-block sweep: the only place where n·m work happens.

An engine visits the plan  γ = exp(log + f ⊕ g)  in blocks of rows, each exponentiated once and reduced at
once to vectors. Only those vectors cross the boundary, so nothing above knows where the rows live.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from driftway.geometry.matrices import Matrix

Double = npt.NDArray[np.float64]

# A row sum in this range was computed without harmful under- or overflow; outside, the row is shifted by its maximum.
SAFE = (1e-200, 1e200)
# The relative precision of float64.
DOUBLE = 2.2e-16
# A few roundings of float64, as a share of the numbers that a difference was taken of.
FEW_ROUNDINGS = 1e-15
# Masses that are a smaller share of the total are computed with in float64: products of theirs leave float32's range.
LEAST_SINGLE_SHARE = 1e-25
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
    """An n×m array K of non-negative numbers, and the few products with it that Sinkhorn and Newton need.

    `Engine.stored` returns one; its example shows what it is for.
    """

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


class Engine(ABC):
    """Base class of engines, which execute passes over plans: all that knows where the rows are.

    A subclass gives the nine abstract methods. `Threads(compiled=False)` is the reference to test one against.

    Attributes
    ----------
    watch : callable, optional
        Told the share of a long pass that is done, while somebody watches.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.engines import Engine, Request, Threads
    >>> from driftway.geometry import Dense
    >>> engine, log, zeros = Threads(), Dense(np.log([[1.0, 2.0], [3.0, 4.0]])), np.zeros(2)
    >>> engine.sweep(Request(log, zeros, zeros)).rows.round(6).tolist()
    [3.0, 7.0]
    >>> isinstance(engine, Engine), engine.exponential(log, zeros, zeros).round(6).tolist()
    (True, [[1.0, 2.0], [3.0, 4.0]])
    >>> engine.log_columns(log, zeros).round(6).tolist() == np.log([4.0, 6.0]).round(6).tolist()
    True
    >>> engine.gram(log, zeros, zeros, [np.ones((2, 1))], np.ones((2, 1))).round(6).tolist()  # of exp(log)
    [[10.0, 14.0], [14.0, 20.0]]
    >>> gamma = engine.assemble(Dense(np.full((2, 2), 0.25)))
    >>> engine.total(np.sum, gamma), engine.sums(gamma, gamma)[2]
    (1.0, 0.25)
    >>> engine.scaled(gamma, np.ones(2), 2.0 * np.ones(2), np.ones(2), np.zeros(2)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]

    """

    watch: Callable[[float], None] | None = None

    @property
    def precision(self) -> float:
        """The relative precision of a plan's entries: that of float64 unless the engine says otherwise.

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> Threads().precision
        2.2e-16

        """
        return DOUBLE

    def knows(self, rows: object) -> bool:
        """Whether rows that live elsewhere are within reach of the engine.

        Parameters
        ----------
        rows : object
            An array of remote rows, such as those that `Dask.rows` returns.

        Returns
        -------
        bool

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> Threads().knows(object())
        False

        """
        return False

    def holding(self, *masses: Double) -> Engine:
        """The engine that computes with these masses: itself, unless their range is beyond that of its numbers.

        Parameters
        ----------
        *masses : array

        Returns
        -------
        Engine

        Raises
        ------
        ValueError
            If the device has no numbers of that range.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.engines import Threads
        >>> engine = Threads()
        >>> engine.holding(np.array([1.0, 1e-85])) is engine
        True

        """
        return self

    def notice(self) -> str:
        """What to tell somebody who watches a solve before it begins, such as where; empty if there is nothing.

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> Threads().notice()
        ''

        """
        return ""

    @abstractmethod
    def sweep(self, request: Request) -> Sweep:
        """One pass over all rows of a plan.

        See the example of the class.

        Parameters
        ----------
        request : Request

        Returns
        -------
        Sweep

        """

    @abstractmethod
    def log_columns(self, log: Matrix, f: Double) -> Double:
        """The logarithm of the column sums, log Σᵢ exp(log + f), safe from under- and overflow.

        See the example of the class.

        Parameters
        ----------
        log : Matrix (n×m)
        f : array (n,)

        Returns
        -------
        array (m,)

        """

    @abstractmethod
    def stored(self, log: Matrix, f: Double, g: Double, *, single: bool) -> Kernel | None:
        """The kernel exp(log + f ⊕ g) as an array, if the engine is willing to hold it; else `None`.

        Parameters
        ----------
        log : Matrix (n×m)
        f, g : array (n,), (m,)
        single : bool
            Whether it may be held in float32.

        Returns
        -------
        Kernel or None

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.engines import Threads
        >>> from driftway.geometry import Dense
        >>> kernel = Threads().stored(Dense(np.zeros((2, 2))), np.zeros(2), np.zeros(2), single=False)
        >>> kernel.shape, kernel.exact, [each.tolist() for each in kernel.scalings(np.ones(2), np.ones(2))]
        ((2, 2), True, [[0.5, 0.5], [1.0, 1.0]])

        """

    @abstractmethod
    def exponential(self, log: Matrix, f: Double, g: Double) -> Double:
        """The plan exp(log + f ⊕ g) as an array, whatever its size.

        See the example of the class.

        Parameters
        ----------
        log : Matrix (n×m)
        f, g : array (n,), (m,)

        Returns
        -------
        array (n, m)

        """

    @abstractmethod
    def gram(self, log: Matrix, f: Double, g: Double, factors: list[Double], basis: Double) -> Double:
        """The sum Σ BᵀB over the factors F, where B = exp(log + f ⊕ g) ∘ (F basisᵀ).

        See the example of the class.

        Parameters
        ----------
        log : Matrix (n×m)
        f, g : array (n,), (m,)
        factors : list of array (n, k)
        basis : array (m, k)

        Returns
        -------
        array (m, m)

        """

    @abstractmethod
    def assemble(self, matrix: Matrix) -> Double:
        """The matrix as an array, whatever its size; it may be the one held and must not be written to.

        See the example of the class.

        Parameters
        ----------
        matrix : Matrix (n×m)

        Returns
        -------
        array (n, m)

        """

    @abstractmethod
    def total(self, function: Callable[..., float], *arrays: Double) -> float:
        """The sum of a function of blocks of rows.

        See the example of the class.

        Parameters
        ----------
        function : callable
            Receives the same rows of every array and returns a number.
        arrays : array (n, …)

        Returns
        -------
        float

        """

    @abstractmethod
    def sums(self, gamma: Double, other: Double) -> tuple[Double, Double, float, float]:
        """Of a plan that is an array: the sums of its rows and of its columns, ⟨γ, other⟩ and H(γ).

        See the example of the class.

        Parameters
        ----------
        gamma, other : array (n, m)

        Returns
        -------
        array (n,), array (m,), float and float

        """

    @abstractmethod
    def scaled(self, gamma: Double, s: Double, t: Double, u: Double, v: Double) -> Double:
        """The array diag(s) γ diag(t) + u vᵀ, which may be written to.

        See the example of the class.

        Parameters
        ----------
        gamma : array (n, m)
        s, u : array (n,)
        t, v : array (m,)

        Returns
        -------
        array (n, m)

        """


def entropy_of(gamma: Double) -> float:
    """H(γ) = Σ γ (log γ − 1), zero where γ is."""
    return float(xlogy(gamma, gamma).sum() - gamma.sum())
