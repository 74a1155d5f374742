"""What a regulariser is: a smooth function J of the plan, and what it may declare about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


class Regularizer(ABC):
    """A smooth function J(γ) of the plan.

    A subclass gives `value` and `gradient`. What else it declares is used where it helps:

    convex : whether J is convex, which is what makes a lower bound on the optimum possible
    minimum : a number that J never falls below, if one is known
    smoothness : L such that L·H − J is convex on the couplings, so that steps up to 1/L descend
    conjugate : J*(G) = sup over γ of ⟨G, γ⟩ − J(γ)
    """

    convex: bool = False
    minimum: float | None = None

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

    def conjugate(self, dual: Double) -> float | None:
        """J*(dual) for an n×m array, or `None` if it is not known."""
        return None

    def on(self, a: Double, b: Double) -> Self:
        """The regulariser on the couplings of a and b; raises if its arrays do not fit them."""
        return self

    def __add__(self, other: object) -> Regularizer:
        from driftway.regularizers.algebra import add

        return add(self, other) if isinstance(other, Regularizer) else NotImplemented

    def __mul__(self, factor: object) -> Regularizer:
        from driftway.regularizers.algebra import scale

        return scale(self, factor)

    def __rmul__(self, factor: object) -> Regularizer:
        return self * factor


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

    def value(self, gamma: Double) -> float:
        return self.phi(gamma @ self.right_basis, gamma.T @ self.left_basis)

    def gradient(self, gamma: Double) -> Double:
        right, left = self.phi_gradient(gamma @ self.right_basis, gamma.T @ self.left_basis)
        return right @ self.right_basis.T + self.left_basis @ left.T


class Zero(MomentRegularizer):
    """J = 0: plain entropic transport."""

    convex = True
    minimum = 0.0

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

    def phi(self, right: Double, left: Double) -> float:
        return 0.0

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        return right, left

    def phi_conjugate(self, right: Double, left: Double) -> float:
        return 0.0
