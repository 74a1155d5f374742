"""The linear space in which costs, gradients and log-plans live: n×m matrices known by their rows.

A `Factored` matrix is  scale·C + P Rᵀ + L Qᵀ  with a cost C and bases R, L that never change during a
solve, so that only the numbers in scale, P and Q do; `dense` has those that are arrays. They can be added,
subtracted and scaled, produce blocks of rows, and be paired with a plan of which only moments are known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from driftway.geometry.cost import Cost
from driftway.geometry.terms import Terms

Double = npt.NDArray[np.float64]

# Up to this many features and terms, forming a row entry by entry is faster than a matrix product.
FEW = 16


class Matrix(ABC):
    """Base class of n×m matrices that are known by their rows: costs, gradients and log-plans.

    They can be added, subtracted and multiplied by numbers. Two that are combined must be of the same kind.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.geometry import Dense
    >>> matrix = 2.0 * Dense(np.eye(2)) - Dense(np.ones((2, 2)))
    >>> matrix.shape, matrix.rows(slice(None)).tolist()
    ((2, 2), [[1.0, -1.0], [-1.0, 1.0]])

    How a matrix is held, which decides how its products with a plan are computed:

    >>> from driftway.geometry import Factored, MatrixCost
    >>> cost = Factored.of_cost(MatrixCost(np.eye(2)), R=np.ones((2, 1)), L=np.empty((2, 0)))
    >>> cost.factored is cost, cost.held.tolist(), (2.0 * cost).held, cost.exponential
    (True, [[1.0, 0.0], [0.0, 1.0]], None, None)
    >>> matrix.factored is None, matrix.held is matrix.values, matrix.terms().base is matrix.values
    (True, True, True)

    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape (n, m)."""

    @abstractmethod
    def rows(self, block: slice) -> Double:
        """Some rows of the matrix, as an array that may be written to.

        Parameters
        ----------
        block : slice
            Which rows.

        Returns
        -------
        array of shape (k, m)

        See the example of the class.

        """

    def terms(self, *, bilinear: bool = True) -> Terms | None:
        """The matrix as the arrays that compiled code forms it from, or `None` if blocks of rows are better.

        Parameters
        ----------
        bilinear : bool
            Whether squared distances may be expanded into a product, which is faster and loses digits.

        Returns
        -------
        Terms or None

        See the example of the class.

        """
        return None

    @property
    def factored(self) -> Factored | None:
        """The matrix itself if it is held by coefficients of fixed bases, else `None`.

        See the example of the class.
        """
        return None

    @property
    def held(self) -> Double | None:
        """The array that the matrix is, if it is nothing else; it must not be written to.

        See the example of the class.
        """
        return None

    @property
    def exponential(self) -> Double | None:
        """The array whose logarithm the matrix is, if it is held by that; else `None`.

        See the example of the class.
        """
        return None

    @abstractmethod
    def combined(self, own: float, other: Self, theirs: float) -> Self:
        """The linear combination own·self + theirs·other.

        Parameters
        ----------
        own : float
        other : Matrix of the same kind
        theirs : float

        Returns
        -------
        Matrix of the same kind

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import Dense
        >>> Dense(np.eye(2)).combined(2.0, Dense(np.ones((2, 2))), -1.0).values.tolist()
        [[1.0, -1.0], [-1.0, 1.0]]

        """

    @abstractmethod
    def __mul__(self, factor: float) -> Self: ...

    def __rmul__(self, factor: float) -> Self:
        return self * factor

    def __truediv__(self, divisor: float) -> Self:
        return self * (1.0 / divisor)

    def __add__(self, other: Matrix) -> Self:
        return self.combined(1.0, self._same(other), 1.0)

    def __sub__(self, other: Matrix) -> Self:
        return self.combined(1.0, self._same(other), -1.0)

    def _same(self, other: Matrix) -> Self:
        if not isinstance(other, type(self)):
            raise TypeError(f"a {type(self).__name__} matrix cannot be combined with a {type(other).__name__} one")
        return other


@dataclass(frozen=True, eq=False)
class Factored(Matrix):
    """The matrix  scale·C + P Rᵀ + L Qᵀ,  held in O((n+m)(d+r+c)) numbers.

    Attributes
    ----------
    cost : the cost C (n×m)
    R : basis of the right moments γR (m×r)
    L : basis of the left moments γᵀL (n×c)
    scale : multiple of C
    P : coefficients of R (n×r)
    Q : coefficients of L (m×c)

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import PointCloudCost
    >>> from driftway.geometry import Factored
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
    >>> cost = Factored.of_cost(PointCloudCost(X, Y), R=Y, L=np.empty((2, 0)))
    >>> (cost - cost).scale, (2.0 * cost).rows(slice(None)).tolist()
    (0.0, [[2.0, 6.0], [2.0, 2.0]])

    """

    cost: Cost
    R: Double
    L: Double
    scale: float
    P: Double
    Q: Double

    @classmethod
    def of_cost(cls, cost: Cost, R: Double, L: Double) -> Self:
        """The cost itself as a factored matrix: scale 1, and coefficients of the bases that are zero.

        Parameters
        ----------
        cost : Cost (n×m)
        R : array (m, r)
        L : array (n, c)
            The bases.

        Returns
        -------
        Factored

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import Factored, MatrixCost
        >>> cost = Factored.of_cost(MatrixCost(np.eye(2)), R=np.ones((2, 1)), L=np.empty((2, 0)))
        >>> cost.scale, cost.P.tolist(), cost.rows(slice(None)).tolist()
        (1.0, [[0.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]])

        """
        return cls(cost, R, L, 1.0, cost.constant(0.0, R.shape[1]), np.zeros((cost.shape[1], L.shape[1])))

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape

    @property
    def factored(self) -> Factored:
        return self

    def with_coefficients(self, scale: float, P: Double, Q: Double) -> Factored:
        """The matrix over the same cost and bases with other coefficients.

        Parameters
        ----------
        scale : float
        P : array (n, r)
        Q : array (m, c)

        Returns
        -------
        Factored

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import Factored, MatrixCost
        >>> cost = Factored.of_cost(MatrixCost(np.eye(2)), R=np.ones((2, 1)), L=np.empty((2, 0)))
        >>> cost.with_coefficients(0.0, np.array([[1.0], [2.0]]), np.empty((2, 0))).rows(slice(None)).tolist()
        [[1.0, 1.0], [2.0, 2.0]]

        """
        return replace(self, scale=scale, P=P, Q=Q)

    def paired(self, right: Double, left: Double) -> float:
        """The inner product ⟨P Rᵀ + L Qᵀ, γ⟩ with a plan of these moments; that of the cost is not in it.

        Parameters
        ----------
        right, left : array (n, r), (m, c)
            The moments γR and γᵀL.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import Factored, MatrixCost
        >>> R, gamma = np.array([[1.0], [3.0]]), np.full((2, 2), 0.25)
        >>> nothing = np.empty((2, 0))
        >>> matrix = Factored(MatrixCost(np.eye(2)), R, nothing, 0.0, np.array([[1.0], [2.0]]), nothing)
        >>> bool(np.isclose(matrix.paired(gamma @ R, nothing), np.vdot(matrix.rows(slice(None)), gamma)))
        True

        """
        return float(np.vdot(self.P, right) + np.vdot(self.Q, left))

    def combined(self, own: float, other: Factored, theirs: float) -> Factored:
        first, second = own * self.scale, theirs * other.scale
        scale = first + second
        # Equal and opposite multiples of the cost cancel exactly, so that nobody computes ⟨γ, 0·C⟩.
        if abs(scale) <= 1e-13 * (abs(first) + abs(second)):
            scale = 0.0
        return self.with_coefficients(scale, own * self.P + theirs * other.P, own * self.Q + theirs * other.Q)

    def __mul__(self, factor: float) -> Factored:
        return self.with_coefficients(self.scale * factor, self.P * factor, self.Q * factor)

    @property
    def held(self) -> Double | None:
        if self.scale != 1.0 or (values := self.cost.held) is None or self.P.any() or self.Q.any():
            return None
        return values

    def rows(self, block: slice) -> Double:
        left, right, over_rows, over_columns = self._product
        values: Double
        if over_rows is not None and over_columns is not None:
            values = left[block] @ right
            values += over_columns
            values += over_rows[block, None]
            return values
        if self.scale == 0.0:
            return left[block] @ right
        values = np.multiply(self.cost.rows(block), self.scale, dtype=np.float64)
        if left.shape[1]:
            values += left[block] @ right
        return values

    def terms(self, *, bilinear: bool = True) -> Terms | None:
        left, right, over_rows, over_columns = self._product
        if bilinear and over_rows is not None and over_columns is not None and left.shape[1] <= FEW:
            return Terms.of(self.shape, rows=over_rows, columns=over_columns, A=left, B=right)
        A, B = (left, right) if over_rows is None else self._moments
        if A.shape[1] > FEW:
            return None
        if self.scale == 0.0:
            return Terms.of(self.shape, A=A, B=B)
        if (cloud := self.cost.cloud) is not None and cloud.x.shape[1] <= FEW:
            return Terms.of(self.shape, *cloud, scale=self.scale, A=A, B=B)
        if (values := self.cost.held) is not None:
            return Terms.of(self.shape, base=values, scale=self.scale, A=A, B=B)
        return None

    @property
    def _moments(self) -> tuple[Double, Double]:
        """P Rᵀ + L Qᵀ as one product."""
        return np.hstack([self.P, self.L]), np.ascontiguousarray(np.hstack([self.R, self.Q]).T)

    @cached_property
    def _product(self) -> tuple[Double, Double, Double | None, Double | None]:
        """All that is a matrix product, as one product; a bilinear cost is absorbed into it."""
        bilinear = self.cost.bilinear
        if bilinear is None or self.scale == 0.0 or not bilinear.is_exact(self.scale):
            return *self._moments, None, None
        left = np.hstack([self.P, self.L, self.scale * bilinear.left])
        right = np.ascontiguousarray(np.hstack([self.R, self.Q, bilinear.right]).T)
        return left, right, self.scale * bilinear.rows, self.scale * bilinear.columns
