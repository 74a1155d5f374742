"""Derivatives of the entropic plan in cost and masses, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftway.derivatives.differentiable import Floating, Shape, a_and_b
from driftway.problem.solution import Solution
from driftway.solvers.solve import sinkhorn

Double = npt.NDArray[np.float64]

# Eigenvalues below this, of a matrix whose largest is 1, are rounding.
SINGULAR = 1e-12


class Coupling(NamedTuple):
    """A plan, and b as it was given."""

    gamma: Double
    b: Double | None


@dataclass(frozen=True, eq=False)
class EntropicPlan:
    """The entropic plan as a function of arrays: the cost matrix; a and b where they are given."""

    given: tuple[bool, bool]
    epsilon: float
    tol: float
    max_iter: int
    init: Solution | None

    @classmethod
    def of(cls, floating: Floating, cost: Any, a: Any, b: Any, *options: Any) -> tuple[EntropicPlan, list[Any]]:
        """The arguments of a plan as a function, and the arrays of a library that it is a function of."""
        matrix = floating(cost, None)
        masses = [floating(mass, matrix) for mass in (a, b) if mass is not None]
        return cls((a is not None, b is not None), *options), [matrix, *masses]

    def solve(self, values: Sequence[Any]) -> Coupling:
        """The plan of these values, in float64."""
        cost, *masses = (np.asarray(value, dtype=np.float64) for value in values)
        a, b, _ = a_and_b(self.given, masses)
        solution = sinkhorn(cost, a, b, epsilon=self.epsilon, tol=self.tol, max_iter=self.max_iter, init=self.init)
        return Coupling(solution.plan.array(), b)

    def result(self, solved: Coupling) -> Double:
        """The plan."""
        return solved.gamma

    def shapes(self, arrays: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
        """Of the plan, and of the plan and b."""
        plan, *masses = arrays
        return plan, [plan, *masses[-1:]] if self.given[1] else [plan]

    def saved(self, solved: Coupling) -> list[Double]:
        """The plan, and b where it is given."""
        return [each for each in solved if each is not None]

    def pull_back_saved(self, saved: Sequence[Any], slope: Any) -> list[Any]:
        """The derivatives from the plan, and b where it is given."""
        return self.pull_back(Coupling(saved[0], saved[1] if self.given[1] else None), slope)

    def pull_back(self, solved: Coupling, slope: Any, wanted: Sequence[bool] | None = None) -> list[Double | None]:
        """The derivatives, all of which come from one linear system, of a function that has this slope in the plan."""
        gamma, upstream = (np.asarray(value, dtype=np.float64) for value in (solved.gamma, slope))
        b = gamma.sum(axis=0) if solved.b is None else np.asarray(solved.b, dtype=np.float64)
        along_c, *along = pull_back(gamma, self.epsilon, upstream, b)
        return [along_c, *(gradient for gradient, given in zip(along, self.given, strict=True) if given)]


def pull_back(gamma: Double, epsilon: float, slope: Double, b: Double) -> tuple[Double, Double, Double]:
    """The derivatives in C, a and b of a function of the entropic plan γ that has this slope there.

    By the implicit function theorem: γ = exp((f ⊕ g − C)/ε) with marginals a and b gives

        ∂C = γ ∘ (α ⊕ β − slope)/ε,      ∂a = α,      ∂b = β,
        a ∘ α + γβ = (slope ∘ γ)1,      γᵀα + b ∘ β = (slope ∘ γ)ᵀ1

    with b and its scale as in `optimal_value.masses`; the smaller half of the system is what remains to be solved.
    """
    if gamma.shape[0] < gamma.shape[1]:
        along_c, along_a, along_b = _pull_back(gamma.T, epsilon, slope.T)
        along_c, along_a, along_b = along_c.T, along_b, along_a
    else:
        along_c, along_a, along_b = _pull_back(gamma, epsilon, slope)
    columns = gamma.sum(axis=0)
    level = float(np.dot(along_b, columns)) / columns.sum()
    return along_c, along_a + level, (columns.sum() / b.sum()) * (along_b - level)


def _pull_back(gamma: Double, epsilon: float, slope: Double) -> tuple[Double, Double, Double]:
    """The derivatives where there are no more columns than rows, up to a constant that α and β may exchange."""
    rows, columns = gamma.sum(axis=1), gamma.sum(axis=0)
    inverse = np.divide(1.0, rows, out=np.zeros_like(rows), where=rows > 0)
    weighted = slope * gamma
    p, q = weighted.sum(axis=1), weighted.sum(axis=0)
    # The kernel, α and β exchanging a constant, is filled by a matrix of rank one; massless columns by ones.
    root = np.sqrt(np.where(columns > 0, columns, 1.0))
    schur = np.eye(root.size) - (gamma / root).T @ (inverse[:, None] * gamma / root)
    schur += np.multiply.outer(columns / root, columns / root) / columns.sum()
    beta = _solved(schur, (q - gamma.T @ (inverse * p)) / root) / root
    alpha = inverse * (p - gamma @ beta)
    return gamma * (np.add.outer(alpha, beta) - slope) / epsilon, alpha, beta


def _solved(matrix: Double, right: Double) -> Double:
    """The minimum-norm solution of a consistent positive semidefinite system with eigenvalues up to 1.

    Block-diagonal plans make the matrix singular. The solution has no component in its null space.
    """
    with suppress(LinAlgError):
        factor = cho_factor(matrix, check_finite=False)
        if np.diag(factor[0]).min() ** 2 > SINGULAR:
            return np.asarray(cho_solve(factor, right, check_finite=False))
    values, vectors = np.linalg.eigh(matrix)
    kept = vectors[:, values > SINGULAR]
    return np.asarray(kept @ ((kept.T @ right) / values[values > SINGULAR]))
