"""What a regulariser is: a smooth function J of the plan, and what it may declare about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from driftway.parallel import free_blas
from driftway.plan import Plan
from driftway.validation import real_array, real_number

Double = npt.NDArray[np.float64]

# Entries from which the products of a regulariser may be large enough to be shared among threads.
SHARED = 2**16


class Regularizer(ABC):
    """A smooth function J(γ) of the plan.

    A subclass gives `value` and `gradient`. What else it declares is used where it helps:

    convex : whether J is convex, which is what makes a lower bound on the optimum possible
    minimum : a number that J never falls below, if one is known
    smoothness : L such that L·H − J is convex on the couplings, so that steps up to 1/L descend
    lipschitz : K such that J changes by at most K times the mass by which a plan changes
    conjugate : J*(G) = sup over γ of ⟨G, γ⟩ − J(γ)
    proven : whether all this is known to be true, as it is of the regularisers of this library; what is not is put to
        the test during a solve, at the plan a ⊗ b
    """

    __array_ufunc__ = None  # array * regularizer is an error, not an array of objects
    convex: bool = False
    minimum: float | None = None
    proven: bool = False

    def __init_subclass__(cls, **options: object) -> None:
        """What is proven of a class is not of those derived from it."""
        super().__init_subclass__(**options)
        cls.proven = vars(cls).get("proven", False)

    @abstractmethod
    def value(self, gamma: Double) -> float:
        """J(γ) for an n×m array."""

    @abstractmethod
    def gradient(self, gamma: Double) -> Double:
        """∇J(γ), an n×m array."""

    @property
    def smoothness(self) -> float | None:
        """The relative smoothness constant L, or `None` if it is not known."""
        return None

    @property
    def lipschitz(self) -> float | None:
        """K with |J(γ) − J(γ')| ≤ K ‖γ − γ'‖₁ for all non-negative plans, or `None` if none is known."""
        return None

    def conjugate(self, dual: Double) -> float | None:
        """J*(dual) for an n×m array, or `None` if it is not known."""
        return None

    def on(self, a: Double, b: Double) -> Self:
        """The regulariser on the couplings of a and b; raises if its arrays do not fit them."""
        return self

    def partials(self, plan: Plan) -> dict[str, Double]:
        """∂J/∂θ at the plan for the arrays θ that J is made of, by name; "a" and "b" are the problem's masses.

        It is what the derivative of the optimal value needs to know of J (see `driftway.sensitivity`). One whose
        `on` does not depend on the masses, and that has no arrays worth differentiating, has none.
        """
        return {}

    def __add__(self, other: object) -> Regularizer:
        from driftway.regularizers.algebra import add

        return add(self, other) if isinstance(other, Regularizer) else NotImplemented

    def __radd__(self, other: object) -> Regularizer:
        """For `sum`, which begins at zero."""
        return self if other == 0 else NotImplemented

    def __truediv__(self, divisor: object) -> Regularizer:
        return self * (1.0 / real_number("the divisor of a regularizer", divisor, minimum=0.0, strict=True))

    def __mul__(self, factor: object) -> Regularizer:
        from driftway.regularizers.algebra import scale

        return scale(self, factor)

    def __rmul__(self, factor: object) -> Regularizer:
        return self * factor


class RowQuadratic(NamedTuple):
    """A function φ that is a sum of squares of single right moments, by its conjugate.

    φ*(P) = ⟨P, centre⟩ + ½ Σ curvature·P², with infinite curvature where φ does not see a moment at all.
    """

    centre: Double
    curvature: Double


class MomentRegularizer(Regularizer):
    """A regulariser that sees the plan only through moments: J(γ) = φ(γR, γᵀL) with fixed R and L.

    Its gradient ∂₁φ Rᵀ + L ∂₂φᵀ lies in a fixed space of low rank, so forward-backward splitting never needs
    the plan as a matrix.
    """

    @property
    @abstractmethod
    def right_basis(self) -> Double:
        """R (m×r); r may be zero."""

    @property
    @abstractmethod
    def left_basis(self) -> Double:
        """L (n×c); c may be zero."""

    @abstractmethod
    def phi(self, right: Double, left: Double) -> float:
        """φ at the moments γR (n×r) and γᵀL (m×c)."""

    @abstractmethod
    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        """∂₁φ (n×r) and ∂₂φ (m×c)."""

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        """φ*(right, left), or `None` if it is not known."""
        return None

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        """φ as a sum of squares of single right moments, if that is what it is."""
        return None

    def value(self, gamma: Double) -> float:
        return self.phi(gamma @ self.right_basis, gamma.T @ self.left_basis)

    def gradient(self, gamma: Double) -> Double:
        right, left = self.phi_gradient(gamma @ self.right_basis, gamma.T @ self.left_basis)
        return right @ self.right_basis.T + self.left_basis @ left.T


class Zero(MomentRegularizer):
    """J = 0: plain entropic transport."""

    convex = True
    minimum = 0.0
    proven = True

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


def checked_value(J: Regularizer, gamma: Double) -> float:
    """J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        value = J.value(gamma)
    return _one_number("value", value)


def checked_gradient(J: Regularizer, gamma: Double) -> Double:
    """∇J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        gradient = J.gradient(gamma)
    return _finite("gradient", gradient, "the plan's", gamma.shape)


def checked_phi(J: MomentRegularizer, right: Double, left: Double) -> float:
    """φ at the moments, or an error that says what is wrong with it."""
    return _one_number("value", J.phi(right, left))


def checked_phi_gradient(J: MomentRegularizer, right: Double, left: Double) -> tuple[Double, Double]:
    """∂₁φ and ∂₂φ, or an error that says what is wrong with them."""
    parts = J.phi_gradient(right, left)
    if not isinstance(parts, tuple) or len(parts) != 2:
        raise TypeError(f"the regularizer's phi_gradient must be a pair of arrays, got {type(parts).__name__}")
    return (
        _finite("phi_gradient", parts[0], "the right moments'", right.shape),
        _finite("phi_gradient", parts[1], "the left moments'", left.shape),
    )


def _freely(gamma: Double) -> AbstractContextManager[None]:
    """Where J may be products as large as those of a Laplacian, BLAS may use its threads for them."""
    return free_blas() if gamma.size > SHARED else nullcontext()


def _one_number(name: str, value: object) -> float:
    number = real_array(f"the regularizer's {name}", value)
    if number.size != 1:
        raise ValueError(f"the regularizer's {name} must be one number, got an array of shape {number.shape}")
    if not np.isfinite(number).all():
        raise ValueError(f"the regularizer's {name} must be finite, got {value}")
    return float(number.reshape(()))


def _finite(name: str, value: object, whose: str, shape: tuple[int, ...]) -> Double:
    array = real_array(f"the regularizer's {name}", value)
    if array.shape != shape:
        raise ValueError(f"the regularizer's {name} must have {whose} shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the regularizer's {name} must be finite, but it contains NaN or infinity")
    return array.astype(np.float64, copy=False)
