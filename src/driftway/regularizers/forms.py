"""Forms that a regulariser may have, and that solvers look for: moments, sums of squares, norms of groups."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


class GroupNorms(NamedTuple):
    """A sum of norms, weight · Σⱼ Σ_ℓ ‖γ(I_ℓ, j)‖₂, over columns j and groups I_ℓ of rows.

    Attributes
    ----------
    groups : list of array
        The row indices I_ℓ of every group; each row is in one of them.
    weight : float

    Examples
    --------
    >>> from driftway import GroupLasso
    >>> groups, weight = GroupLasso(["b", "a", "b"], weight=2.0).group_norms
    >>> [rows.tolist() for rows in groups], weight
    ([[0, 2], [1]], 2.0)

    """

    groups: list[npt.NDArray[np.intp]]
    weight: float


class RowQuadratic(NamedTuple):
    """A sum of squares of single right moments, given by its conjugate φ*(P) = ⟨P, centre⟩ + ½ Σ curvature·P².

    Attributes
    ----------
    centre : array (n, r)
        The moments at which φ is zero.
    curvature : array (n, r)
        The inverse of the second derivative of φ in each moment; infinite where φ does not depend on a moment.

    Examples
    --------
    A map that should stay at 1 gives centres a·1, here relative to the mean of Y:

    >>> from driftway import TimeSmoothness
    >>> quadratic = TimeSmoothness(Y=[[-1.0], [1.0]], previous=[[1.0], [1.0]], weight=2.0).row_quadratic
    >>> quadratic.centre.tolist(), quadratic.curvature.tolist()
    ([[0.5], [0.5]], [[0.125], [0.125]])

    """

    centre: Double
    curvature: Double


class MomentForm(Protocol):
    """J(γ) = φ(γR, γᵀL): what `MomentRegularizer` has, which says what each member is."""

    @property
    def proven(self) -> bool: ...

    @property
    def right_basis(self) -> Double: ...

    @property
    def left_basis(self) -> Double: ...

    @property
    def row_quadratic(self) -> RowQuadratic | None: ...

    def phi(self, right: Double, left: Double) -> float: ...

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]: ...

    def phi_conjugate(self, right: Double, left: Double) -> float | None: ...
