"""The transport problem of one step: from where the source is expected to the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.marginals import Marginals, class_masses
from driftway.engines.engine import Engine
from driftway.geometry.costs import PointCloudCost
from driftway.geometry.matrices import Factored
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers import GroupLasso, Regularizer, TimeSmoothness
from driftway.solvers.silence import quietly
from driftway.solvers.solve import solve

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

SAMPLE = 1000  # points from which a cost's scale and the class masses are taken


@dataclass(frozen=True)
class Transport:
    """How a source is transported; units are those of the scaled features."""

    marginals: Marginals
    metric: Any
    static: bool
    epsilon: float
    relative: bool
    time_weight: float
    label_weight: float
    tol: float
    max_iter: int
    engine: Engine | None

    def solve(
        self, start: Double, expected: Double, weights: Double, groups: Groups, batch: Double, b: Double, first: bool
    ) -> tuple[Solution, Double]:
        """The plan from `start` to the batch that keeps images near `expected`, and the masses of its rows.

        As in the paper, the first step has no regulariser but the entropy.
        """
        cost = PointCloudCost(start, batch, self.metric)
        unit = self.unit(cost, weights, b)
        epsilon = self.epsilon * unit
        a = self.marginals.masses(cost, weights, b, groups, epsilon)
        terms: list[Regularizer] = []
        if self.time_weight and not first:
            terms.append(TimeSmoothness(batch, expected, self.time_weight))
        if self.label_weight and not first:
            terms.append(GroupLasso(groups, self.label_weight * unit))
        regularizer = sum(terms[1:], terms[0]) if terms else None
        problem = Problem(cost, a, b, epsilon=epsilon, regularizer=regularizer)
        with quietly():  # said in the history, with what it means here
            return solve(problem, tol=self.tol, max_iter=self.max_iter, engine=self.engine), a

    def cost_of(self, solution: Solution, start: Double, batch: Double) -> float:
        """⟨γ, C⟩ of a plan from `start` to the batch."""
        bases = np.empty((len(batch), 0)), np.empty((len(start), 0))
        cost = Factored.of_cost(PointCloudCost(start, batch, self.metric), *bases)
        return solution.plan.sweep(inner=cost).inner

    def class_masses(
        self, points: Double, weights: Double, groups: Groups, batch: Double, b: Double
    ) -> tuple[Double, float]:
        """The class masses that make the batch most likely if the source is at `points`, and the gain in likelihood.

        The gain is in log-likelihood per unit of mass. Of large samples an even part is looked at, unless that would
        miss a class.
        """
        i, j = _thinned(points), _thinned(batch)
        if np.unique(groups[i]).size < np.unique(groups).size:
            i = slice(None)
        cost, a = PointCloudCost(points[i], batch[j], self.metric), weights[i]
        return class_masses(cost, a, b[j], groups[i], self.epsilon * self.unit(cost, a, b[j]))

    def unit(self, cost: PointCloudCost, a: Double, b: Double) -> float:
        """What strengths are relative to: the mean cost over an even part of the points, or 1."""
        if not self.relative:
            return 1.0
        i, j = _thinned(cost.X), _thinned(cost.Y)
        sample = PointCloudCost(cost.X[i], cost.Y[j], cost.metric).rows(slice(None)).astype(np.float64)
        return float(a[i] @ sample @ b[j] / max(a[i].sum() * b[j].sum(), 1e-300)) or 1.0


def _thinned(points: npt.NDArray[Any]) -> slice:
    """An even part of a large sample."""
    return slice(None, None, -(-len(points) // SAMPLE))
