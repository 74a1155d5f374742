"""Derivatives of the optimal value in the data, by the envelope theorem.

At the optimum the plan itself contributes nothing to first order, so with γ and its potentials f, g

    ∂V/∂C = γ,      ∂V/∂θ = ⟨γ, ∂C/∂θ⟩ + ∂J/∂θ,      ∂V/∂a = f + ∂J/∂a,      ∂V/∂b = g + ∂J/∂b,

where θ are the positions of the points, and J may see positions and masses itself. A problem rescales b to the
total of a, and the derivatives below are those of that function: they do not depend on the constant that f and g
may exchange, that in b vanishes along b, and that in a contains what a change of the total mass does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import one_of
from driftway.derivatives import deferred_costs
from driftway.derivatives.deferred_regularizers import Deferred
from driftway.derivatives.differentiable import Floating, Shape, a_and_b
from driftway.engines.engine import Engine
from driftway.geometry.costs import PointCloudCost
from driftway.plan.plan import Plan
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import Regularizer, leaves
from driftway.solvers.solve import solve
from driftway.solvers.solver import Solver

Double = npt.NDArray[np.float64]

# Rows of the plan that are looked at together where a derivative needs them one by one.
BLOCK = 512


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

    @classmethod
    def of(
        cls,
        floating: Floating,
        cost: Any,
        a: Any,
        b: Any,
        epsilon: float,
        regularizer: Deferred | Regularizer | None,
        *options: Any,
    ) -> tuple[OptimalValue, list[Any]]:
        """The arguments of a loss as a function, and the arrays of a library that it is a function of.

        A callable metric is the library's own: it is called here, and its matrix is the array.
        """
        metric = None
        if isinstance(cost, deferred_costs.PointCloudCost):
            X = floating(cost.X, None)
            Y = floating(cost.Y, X)
            if callable(cost.metric):
                arrays = [cost.metric(X, Y)]
            else:
                arrays, metric = [X, Y], cost.metric
        else:
            arrays = [floating(cost, None)]
        deferred = Deferred.of(regularizer)
        given = [mass for mass in (a, b) if mass is not None]
        arrays += [floating(array, arrays[0]) for array in (*given, *deferred.arrays)]
        return cls(metric, (a is not None, b is not None), deferred, epsilon, *options), arrays

    def shape(self, arrays: Sequence[Any]) -> tuple[int, int]:
        """The shape of the plan."""
        n, m = arrays[0].shape if self.metric is None else (len(arrays[0]), len(arrays[1]))
        return n, m

    def solve(self, values: Sequence[Any]) -> Optimum:
        """The problem made of these values, solved in float64."""
        doubles = [np.asarray(value, dtype=np.float64) for value in values]
        rest = doubles if self.metric is None else doubles[1:]
        cost = rest[0] if self.metric is None else PointCloudCost(doubles[0], rest[0], self.metric)
        a, b, arrays = a_and_b(self.given, rest[1:])
        J = self.regularizer.build(arrays)
        problem = Problem(cost, a, b, epsilon=self.epsilon, regularizer=J)
        solution = solve(problem, self.solver, tol=self.tol, max_iter=self.max_iter, engine=self.engine)
        return Optimum(problem, solution, doubles)

    def result(self, solved: Optimum) -> float:
        """The optimal value."""
        return solved.solution.value

    def plan(self, values: Sequence[Any]) -> Double:
        """The optimal plan of these values."""
        return self.solve(values).solution.plan.array()

    def shapes(self, arrays: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
        """Of the value, which is a number, and of its gradients."""
        return (), list(arrays)

    def saved(self, solved: Optimum) -> list[Double]:
        """The gradients in all arrays."""
        return [gradient for gradient in self.gradients(solved) if gradient is not None]

    def pull_back_saved(self, saved: Sequence[Any], slope: Any) -> list[Any]:
        """The derivatives from the gradients."""
        return [slope * gradient for gradient in saved]

    def pull_back(self, solved: Optimum, slope: Any, wanted: Sequence[bool] | None = None) -> list[Double | None]:
        """The derivatives of a function that has this slope in the optimal value."""
        scale = float(slope)
        return [None if along is None else scale * along for along in self.gradients(solved, wanted)]

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
