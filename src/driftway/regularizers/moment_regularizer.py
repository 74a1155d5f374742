"""Regularisers that see the plan only through moments, J(γ) = φ(γR, γᵀL), and their sums and multiples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from driftway.regularizers.checks import checked_factor, finite_like, one_number, total_of
from driftway.regularizers.forms import MomentForm, RowQuadratic
from driftway.regularizers.regularizer import Multiple, Regularizer, Sum

Double = npt.NDArray[np.float64]
T = TypeVar("T")


class MomentRegularizer(Regularizer):
    """Base class of regularisers that depend on the plan through moments: J(γ) = φ(γR, γᵀL) with fixed R and L.

    Its gradient ∂₁φ Rᵀ + L ∂₂φᵀ lies in a fixed space of low rank, so forward-backward splitting never needs
    the plan as a matrix. A subclass gives `right_basis` (R), `left_basis` (L), `phi` and `phi_gradient`; `value` and
    `gradient` follow from them.

    Examples
    --------
    A regulariser that pulls the barycentric images towards the origin:

    >>> import numpy as np
    >>> from driftway import PointCloudCost, Problem, solve
    >>> from driftway.regularizers import MomentRegularizer
    >>> class Shrink(MomentRegularizer):
    ...     convex = True
    ...     minimum = 0.0
    ...
    ...     def __init__(self, Y, n):
    ...         self.Y, self.n = Y, n
    ...
    ...     @property
    ...     def right_basis(self):
    ...         return self.Y
    ...
    ...     @property
    ...     def left_basis(self):
    ...         return np.empty((self.n, 0))
    ...
    ...     def phi(self, right, left):
    ...         return float((right**2).sum())
    ...
    ...     def phi_gradient(self, right, left):
    ...         return 2.0 * right, left
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[-2.0], [0.0], [2.0]])
    >>> def distances_from_origin(weight):
    ...     problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=weight * Shrink(Y, n=2))
    ...     return abs(solve(problem).plan.barycentric_map(Y)).ravel().round(1).tolist()
    >>> distances_from_origin(0.0), distances_from_origin(10.0)
    ([1.0, 1.0], [0.0, 0.0])

    """

    @property
    def moment_form(self) -> Self:
        return self

    @property
    @abstractmethod
    def right_basis(self) -> Double:
        """The matrix R (m×r) of the moments γR, one row per target point; r may be zero.

        Examples
        --------
        Of `TimeSmoothness` it is Y, centred:

        >>> from driftway import TimeSmoothness
        >>> TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0]]).right_basis.tolist()
        [[-1.0], [1.0]]

        """

    @property
    @abstractmethod
    def left_basis(self) -> Double:
        """The matrix L (n×c) of the moments γᵀL, one row per source point; c may be zero.

        Examples
        --------
        `TimeSmoothness` uses the moments γR only:

        >>> from driftway import TimeSmoothness
        >>> TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0]]).left_basis.shape
        (1, 0)

        """

    @abstractmethod
    def phi(self, right: Double, left: Double) -> float:
        """φ(γR, γᵀL), the value of the regulariser at given moments.

        Parameters
        ----------
        right : array (n, r)
            The moments γR.
        left : array (m, c)
            The moments γᵀL.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import TimeSmoothness
        >>> gamma, smooth = np.full((2, 2), 0.25), TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0], [2.0]])
        >>> smooth.phi(gamma @ smooth.right_basis, gamma.T @ smooth.left_basis), smooth.value(gamma)
        (1.0, 1.0)

        """

    @abstractmethod
    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        """The partial derivatives of φ in both of its arguments.

        Parameters
        ----------
        right : array (n, r)
            The moments γR.
        left : array (m, c)
            The moments γᵀL.

        Returns
        -------
        array (n, r) and array (m, c)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import TimeSmoothness
        >>> gamma, smooth = np.full((2, 2), 0.25), TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0], [2.0]])
        >>> P, Q = smooth.phi_gradient(gamma @ smooth.right_basis, gamma.T @ smooth.left_basis)
        >>> bool(np.allclose(P @ smooth.right_basis.T + smooth.left_basis @ Q.T, smooth.gradient(gamma)))
        True

        """

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        """The convex conjugate φ*(P, Q), or `None` if it is not known.

        Parameters
        ----------
        right : array (n, r)
            The point P.
        left : array (m, c)
            The point Q.

        Returns
        -------
        float or None
            It may be infinite.

        Examples
        --------
        At the gradient of φ, Fenchel's inequality φ(M) + φ*(P) ≥ ⟨M, P⟩ is an equality:

        >>> import numpy as np
        >>> from driftway import TimeSmoothness
        >>> gamma, smooth = np.full((2, 2), 0.25), TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0], [2.0]])
        >>> right, left = gamma @ smooth.right_basis, gamma.T @ smooth.left_basis
        >>> P, Q = smooth.phi_gradient(right, left)
        >>> bool(np.isclose(smooth.phi(right, left) + smooth.phi_conjugate(P, Q), np.vdot(right, P)))
        True

        """
        return None

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        """φ as a sum of squares of single right moments; `None` if it does not have this form.

        `DualAscent` and `DualNewton` solve problems with such regularisers.

        Examples
        --------
        >>> from driftway import Laplacian, TimeSmoothness
        >>> TimeSmoothness(Y=[[0.0], [2.0]], previous=[[1.0], [1.0]]).row_quadratic.curvature.tolist()
        [[0.25], [0.25]]
        >>> Laplacian([[0.0, 1.0], [1.0, 0.0]], points=[[0.0], [2.0]]).row_quadratic is None
        True

        """
        return None

    def value(self, gamma: Double) -> float:
        return self.phi(gamma @ self.right_basis, gamma.T @ self.left_basis)

    def gradient(self, gamma: Double) -> Double:
        right, left = self.phi_gradient(gamma @ self.right_basis, gamma.T @ self.left_basis)
        return right @ self.right_basis.T + self.left_basis @ left.T

    def __add__(self, other: object) -> Regularizer:
        """In moment form, too, if the other one is."""
        if isinstance(other, MomentRegularizer):
            return MomentSum([*_terms(self), *_terms(other)])
        return super().__add__(other)

    def __mul__(self, factor: object) -> Regularizer:
        return MomentMultiple(self, checked_factor(factor))


class MomentSum(Sum, MomentRegularizer):
    """A sum of moment regularisers: their moments stand side by side."""

    terms: list[MomentRegularizer]  # type: ignore[assignment]

    @property
    def right_basis(self) -> Double:
        return np.hstack([term.right_basis for term in self.terms])

    @property
    def left_basis(self) -> Double:
        return np.hstack([term.left_basis for term in self.terms])

    def phi(self, right: Double, left: Double) -> float:
        return sum(self._each(checked_phi, right, left))

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        parts = self._each(checked_phi_gradient, right, left)
        return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        return total_of(self._each(lambda term, r, c: term.phi_conjugate(r, c), right, left))

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        parts = [term.row_quadratic for term in self.terms]
        if any(part is None for part in parts):
            return None
        return RowQuadratic(*(np.hstack(arrays) for arrays in zip(*parts, strict=True)))

    def _each(self, function: Callable[[MomentRegularizer, Double, Double], T], right: Double, left: Double) -> list[T]:
        """`function` of every term and its own columns of the moments."""
        rights = np.cumsum([term.right_basis.shape[1] for term in self.terms])[:-1]
        lefts = np.cumsum([term.left_basis.shape[1] for term in self.terms])[:-1]
        columns = zip(self.terms, np.split(right, rights, axis=1), np.split(left, lefts, axis=1), strict=True)
        return [function(term, r, c) for term, r, c in columns]


class SameMoments(MomentRegularizer):
    """A regulariser that sees the moments of another one, its `term`."""

    term: MomentRegularizer

    @property
    def right_basis(self) -> Double:
        return self.term.right_basis

    @property
    def left_basis(self) -> Double:
        return self.term.left_basis


class MomentMultiple(Multiple, SameMoments):
    """factor · J for a moment regulariser."""

    term: MomentRegularizer

    def phi(self, right: Double, left: Double) -> float:
        return self.factor * checked_phi(self.term, right, left)

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        first, second = checked_phi_gradient(self.term, right, left)
        return self.factor * first, self.factor * second

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        if self.factor == 0.0:
            return 0.0 if not right.any() and not left.any() else np.inf
        conjugate = self.term.phi_conjugate(right / self.factor, left / self.factor)
        return None if conjugate is None else self.factor * conjugate

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        inner = self.term.row_quadratic
        if inner is None:
            return None
        if self.factor == 0.0:
            return RowQuadratic(inner.centre, np.full_like(inner.curvature, np.inf))
        return RowQuadratic(inner.centre, inner.curvature / self.factor)


def _terms(term: MomentRegularizer) -> Sequence[MomentRegularizer]:
    return term.terms if isinstance(term, MomentSum) else [term]


class Zero(MomentRegularizer):
    """J = 0: plain entropic transport."""

    convex = True
    minimum = 0.0
    proven = True
    vanishes = True

    def __init__(self, n: int, m: int) -> None:
        self.right_basis_, self.left_basis_ = np.empty((m, 0)), np.empty((n, 0))

    @property
    def right_basis(self) -> Double:
        return self.right_basis_

    @property
    def left_basis(self) -> Double:
        return self.left_basis_

    @property
    def smoothness(self) -> float:
        return 0.0

    @property
    def lipschitz(self) -> float:
        return 0.0

    def phi(self, right: Double, left: Double) -> float:
        return 0.0

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        return right, left

    def phi_conjugate(self, right: Double, left: Double) -> float:
        return 0.0

    @property
    def row_quadratic(self) -> RowQuadratic:
        nothing = np.empty((len(self.left_basis_), 0))
        return RowQuadratic(nothing, nothing)


def checked_phi(J: MomentForm, right: Double, left: Double) -> float:
    """φ at the moments, or an error that says what is wrong with it."""
    return one_number("value", J.phi(right, left), proven=J.proven)


def checked_phi_gradient(J: MomentForm, right: Double, left: Double) -> tuple[Double, Double]:
    """∂₁φ and ∂₂φ, or an error that says what is wrong with them."""
    parts = J.phi_gradient(right, left)
    if not isinstance(parts, tuple) or len(parts) != 2:
        raise TypeError(f"the regularizer's phi_gradient must be a pair of arrays, got {type(parts).__name__}")
    return (
        finite_like("phi_gradient", parts[0], "the right moments'", right.shape, proven=J.proven),
        finite_like("phi_gradient", parts[1], "the left moments'", left.shape, proven=J.proven),
    )
