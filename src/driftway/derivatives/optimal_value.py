"""How the optimal value answers to a change of the data: the envelope theorem.

At the optimum the plan itself contributes nothing to first order, so with γ and its potentials f, g

    ∂V/∂C = γ,      ∂V/∂θ = ⟨γ, ∂C/∂θ⟩ + ∂J/∂θ,      ∂V/∂a = f + ∂J/∂a,      ∂V/∂b = g + ∂J/∂b,

where θ are the positions of the points, and J may see positions and masses itself. A problem rescales b to the
total of a, and the derivatives below are those of that function: they do not depend on the constant that f and g
may exchange, that in b vanishes along b, and that in a contains what a change of the total mass does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftway.arrays.validation import one_of
from driftway.derivatives.deferred_regularizers import Deferred
from driftway.engines.engine import Engine
from driftway.geometry.costs import PointCloudCost
from driftway.plan.plan import Plan
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import leaves
from driftway.solvers.solve import solve
from driftway.solvers.solver import Solver

Double = npt.NDArray[np.float64]

# Rows of the plan that are looked at together where a derivative needs them one by one.
BLOCK = 512
# Eigenvalues below this, of a matrix whose largest is 1, are rounding.
SINGULAR = 1e-12


class Optimum(NamedTuple):
    """A solved problem, and the arrays it was made of."""

    problem: Problem
    solution: Solution
    values: list[Double]


@dataclass(frozen=True, eq=False)
class OptimalValue:
    """The optimal value as a function of arrays, in this order.

    The cost matrix, or X and Y where a metric is named; a and b where they are given; the arrays of J.
    """

    metric: str | None
    given: tuple[bool, bool]
    regularizer: Deferred
    epsilon: float
    solver: Solver | None = None
    tol: float = 1e-8
    max_iter: int = 1000
    engine: Engine | None = None

    def __post_init__(self) -> None:
        if self.metric is not None:
            one_of("metric", self.metric, ("euclidean", "sqeuclidean"))

    def solve(self, values: Sequence[Any]) -> Optimum:
        """The problem made of these values, solved in float64."""
        doubles = [np.asarray(value, dtype=np.float64) for value in values]
        rest = doubles if self.metric is None else doubles[1:]
        cost = rest[0] if self.metric is None else PointCloudCost(doubles[0], rest[0], self.metric)
        masses = iter(rest[1:])
        a, b = (next(masses) if given else None for given in self.given)
        J = self.regularizer.build(list(masses))
        problem = Problem(cost, a, b, epsilon=self.epsilon, regularizer=J)
        solution = solve(problem, self.solver, tol=self.tol, max_iter=self.max_iter, engine=self.engine)
        return Optimum(problem, solution, doubles)

    def gradients(self, optimum: Optimum, wanted: Sequence[bool] | None = None) -> list[Double | None]:
        """The derivative in every array, or in those that are wanted."""
        problem, solution, values = optimum
        count = (1 if self.metric is None else 2) + sum(self.given)
        wanted = [True] * len(values) if wanted is None else list(wanted)
        gradients: list[Double | None] = []
        if self.metric is None:
            gradients.append(solution.plan.array().copy() if wanted[0] else None)
        else:
            gradients += positions(problem.cost, solution.plan) if any(wanted[:2]) else (None, None)
        if any(self.given):
            both = masses(problem, solution, values[count - 1] if self.given[1] else problem.b)
            gradients += [gradient for gradient, given in zip(both, self.given, strict=True) if given]
        if any(wanted[count:]):
            gradients += self.regularizer.partials(problem, solution.plan, values[count:])
        else:
            gradients += [None] * (len(values) - count)
        return gradients


def positions(cost: object, plan: Plan) -> tuple[Double, Double]:
    """Σⱼ γᵢⱼ ∂c(xᵢ, yⱼ)/∂xᵢ and Σᵢ γᵢⱼ ∂c(xᵢ, yⱼ)/∂yⱼ for Euclidean distances, squared or not.

    Where two points coincide, a distance has no derivative; it is taken to be zero, which is a subgradient.
    """
    assert isinstance(cost, PointCloudCost)
    centre = cost.Y.mean(axis=0)
    x, y = cost.X - centre, cost.Y - centre
    if cost.metric == "sqeuclidean":
        sums = plan.sweep(right=y, left=x)
        return 2.0 * (sums.rows[:, None] * x - sums.right), 2.0 * (sums.columns[:, None] * y - sums.left)
    along_x, along_y = np.zeros_like(x), np.zeros_like(y)
    for low in range(0, len(x), BLOCK):
        block = slice(low, low + BLOCK)
        distance = cost.rows(block)
        weight = np.divide(plan.rows(block), distance, out=np.zeros_like(distance), where=distance > 0)
        along_x[block] = weight.sum(axis=1)[:, None] * x[block] - weight @ y
        along_y += weight.sum(axis=0)[:, None] * y - weight.T @ x[block]
    return along_x, along_y


def masses(problem: Problem, solution: Solution, b: Double) -> tuple[Double, Double]:
    """The derivatives in a and b, where b is as it was given, before the problem rescaled it to the total of a.

    Masses that are zero count as fixed: the entropy's slope there is −∞.
    """
    f, g = (np.where(np.isfinite(potential), potential, 0.0) for potential in solution.potentials)
    for factor, leaf in leaves(problem.regularizer):
        partials = leaf.partials(solution.plan)
        f, g = f + factor * partials.get("a", 0.0), g + factor * partials.get("b", 0.0)
    # V(a, s b) with s = Σa/Σb: the total of b does not matter, that of a is a factor of b.
    level = float(np.dot(g, problem.b)) / problem.mass
    along_b = (problem.mass / b.sum()) * (g - level)
    return np.where(problem.a > 0, f + level, 0.0), np.where(problem.b > 0, along_b, 0.0)


def pull_back(gamma: Double, epsilon: float, slope: Double, b: Double) -> tuple[Double, Double, Double]:
    """The derivatives in C, a and b of a function of the entropic plan γ that has this slope there.

    By the implicit function theorem: γ = exp((f ⊕ g − C)/ε) with marginals a and b gives

        ∂C = γ ∘ (α ⊕ β − slope)/ε,      ∂a = α,      ∂b = β,
        a ∘ α + γβ = (slope ∘ γ)1,      γᵀα + b ∘ β = (slope ∘ γ)ᵀ1

    with b and its scale as in `masses`; the smaller half of the system is what remains to be solved.
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
    """The same with the columns as the smaller side, up to a constant that α and β may exchange."""
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
    """The solution of a system that is positive semidefinite, of eigenvalues up to 1, and consistent.

    A plan that falls into blocks has a kernel for each of them: in it, nothing is what the solution has.
    """
    with suppress(LinAlgError):
        factor = cho_factor(matrix, check_finite=False)
        if np.diag(factor[0]).min() ** 2 > SINGULAR:
            return np.asarray(cho_solve(factor, right, check_finite=False))
    values, vectors = np.linalg.eigh(matrix)
    kept = vectors[:, values > SINGULAR]
    return np.asarray(kept @ ((kept.T @ right) / values[values > SINGULAR]))
