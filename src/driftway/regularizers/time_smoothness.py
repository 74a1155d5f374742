"""The time regulariser of the paper: the mapped source should move little from one step to the next."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import one_of, points, real_number, weights
from driftway.plan.plan import Plan
from driftway.regularizers.forms import RowQuadratic
from driftway.regularizers.moment_regularizer import MomentRegularizer

Double = npt.NDArray[np.float64]
Normalization = Literal["mean", "sum", "coupling"]


class TimeSmoothness(MomentRegularizer):
    """Smoothness in time: each source point should be mapped near to where it was mapped before.

    J(γ) = weight · Σᵢ wᵢ ‖T(xᵢ) − zᵢ‖²  with T(xᵢ) = (γY)ᵢ / aᵢ and zᵢ the previous image of xᵢ (R_t in Section 3 of
    the paper).

    Parameters
    ----------
    Y : array (m, d)
        The target points X_t.
    previous : array (n, d)
        Where the source points were mapped before, Z = T_{t−1}(X⁰).
    weight : float
        η_t ≥ 0.
    normalization : "mean", "sum" or "coupling"
        wᵢ = aᵢ (a mean square per sample, the same for any n), 1 (the paper's formula ‖nγX − Z‖² read
        literally) or aᵢ² (‖γX − γ'X'‖² without the factors n, which is what the paper's η_t = 50 and α = 10
        are compatible with).
    a : array (n,), optional
        Row masses, for use outside a problem; a problem uses its own.

    Examples
    --------
    The cost alone would map each point to the target nearest to it. With the regulariser the points stay in the order
    in which they were mapped before:

    >>> import numpy as np
    >>> from driftway import PointCloudCost, Problem, TimeSmoothness, solve
    >>> X, Y = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])
    >>> previous = np.array([[1.0], [0.0]])
    >>> def images(weight):
    ...     problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=TimeSmoothness(Y, previous, weight))
    ...     return solve(problem).plan.barycentric_map(Y).ravel().round(1).tolist()
    >>> images(0.0), images(10.0)
    ([0.0, 1.0], [0.9, 0.1])

    """

    convex = True
    minimum = 0.0
    proven = True

    def __init__(
        self,
        Y: npt.ArrayLike,
        previous: npt.ArrayLike,
        weight: float = 1.0,
        normalization: Normalization = "mean",
        a: npt.ArrayLike | None = None,
    ) -> None:
        self.Y = points("Y", Y)
        self.previous = points("previous", previous, (None, self.Y.shape[1]))
        self.weight = real_number("weight", weight, minimum=0.0)
        self.normalization = one_of("normalization", normalization, get_args(Normalization))
        self._own_masses = a is not None
        n = len(self.previous)
        self.a = weights("a", np.full_like(self.previous[:, 0], 1.0 / n) if a is None else a, n)
        # Rows have exact sums, so only displacements matter; about the centre of Y they lose the fewest digits.
        self._centre = self.Y.mean(axis=0)
        self._basis, self._target = self.Y - self._centre, self.previous - self._centre
        self._inverse = np.divide(1.0, self.a, out=np.zeros_like(self.a), where=self.a > 0)
        power = self.a ** {"mean": 1, "sum": 0, "coupling": 2}[self.normalization]
        self._w = self.weight * np.where(self.a > 0, power, 0.0)

    def __repr__(self) -> str:
        return f"TimeSmoothness(weight={self.weight:g}, normalization={self.normalization!r})"

    def on(self, a: Double, b: Double) -> Self:
        check_fit("previous", self.previous, "Y", self.Y, a, b)
        if self._own_masses:
            check_masses("a", self.a, a)
            return self
        return type(self)(self.Y, self.previous, self.weight, self.normalization, a)  # type: ignore[arg-type]

    @property
    def right_basis(self) -> Double:
        return self._basis

    @property
    def left_basis(self) -> Double:
        return np.empty((len(self.previous), 0))

    @cached_property
    def smoothness(self) -> float:
        """2 r² maxᵢ wᵢ/aᵢ for Y in a ball of radius r, by Pinsker's inequality in each row."""
        return 2.0 * radius(self.Y) ** 2 * float((self._w * self._inverse).max())

    def phi(self, right: Double, left: Double) -> float:
        return float(np.dot(self._w, (self._displacement(right) ** 2).sum(axis=1)))

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        return (2.0 * self._w * self._inverse)[:, None] * self._displacement(right), left

    def phi_conjugate(self, right: Double, left: Double) -> float:
        """Σᵢ ⟨Qᵢ, aᵢzᵢ⟩ + aᵢ²‖Qᵢ‖² / 4wᵢ over the rows with mass; the others have no moments at all."""
        if np.any((self.a > 0) & (self._w == 0) & right.any(axis=1)):
            return np.inf
        squares = self.a * (right**2).sum(axis=1)
        quadratic = np.divide(squares, 4.0 * self._w * self._inverse, out=np.zeros_like(squares), where=self._w > 0)
        return float(np.vdot(right, self.a[:, None] * self._target) + quadratic.sum())

    @cached_property
    def row_quadratic(self) -> RowQuadratic:
        """wᵢ ‖(γY)ᵢ/aᵢ − zᵢ‖² has centre aᵢzᵢ and curvature aᵢ²/2wᵢ."""
        # Without aᵢ², which over- or underflows long before.
        stiffness = 2.0 * self._w * self._inverse
        curvature = np.divide(self.a, stiffness, out=np.full_like(self.a, np.inf), where=self._w > 0)
        return RowQuadratic(self.a[:, None] * self._target, np.tile(curvature[:, None], self._basis.shape[1]))

    def partials(self, plan: Plan) -> dict[str, Double]:
        right = plan.sweep(right=self._basis).right
        displacement = self._displacement(right)
        pull = (2.0 * self._w * self._inverse)[:, None] * displacement
        power = {"mean": np.ones_like(self.a), "sum": np.zeros_like(self.a), "coupling": 2.0 * self.a}
        heavier = self.weight * power[self.normalization] * (displacement**2).sum(axis=1)
        return {
            "Y": plan.sweep(left=pull).left,
            "previous": -2.0 * self._w[:, None] * displacement,
            "a": np.where(self.a > 0, heavier - self._inverse * (pull * right).sum(axis=1), 0.0),
        }

    def _displacement(self, right: Double) -> Double:
        """T(xᵢ) − zᵢ."""
        return self._inverse[:, None] * right - self._target


def radius(points: Double) -> float:
    """The radius of a ball around the centroid that holds all points."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).max()))


def check_fit(row_name: str, rows: Double, column_name: str, columns: Double, a: Double, b: Double) -> None:
    """Raises unless there is one row point per entry of a and one column point per entry of b."""
    if len(rows) != a.size:
        raise ValueError(f"{row_name} must have one row per row of the cost ({a.size}), got {len(rows)}")
    if len(columns) != b.size:
        raise ValueError(f"{column_name} must have one row per column of the cost ({b.size}), got {len(columns)}")


def check_masses(name: str, own: Double, masses: Double) -> None:
    """Raises unless the masses a regulariser was given are those of the problem."""
    if own.shape != masses.shape or not np.allclose(own, masses, rtol=1e-6, atol=0.0):
        raise ValueError(f"{name} of the regularizer must be the problem's masses, or be left out; it got others")
