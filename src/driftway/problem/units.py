"""Units in which a problem is solved: masses of total about 1, and costs and ε of about 1.

Solvers compare numbers with each other, square them, and store some in float32. In these units nothing under- or
overflows by that. They are powers of four, so that scaling is exact and so is scaling back. Problems in ordinary units
are solved as they are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import on_host
from driftway.geometry.cost import Cost
from driftway.geometry.dense import LogOf
from driftway.plan.plan import Plan
from driftway.problem.problem import Problem
from driftway.problem.solution import Iteration, Solution, Trace
from driftway.regularizers.units import in_units

Double = npt.NDArray[np.float64]

# Total masses and costs within this factor of 1 are ordinary: their squares and ratios are within float32, too.
ORDINARY = 2.0**20
# Values whose unit is beyond this factor of 1 leave float64 within the digits that are certified.
REPRESENTABLE = 1e290
# Rows of a cost that are looked at for its size.
SAMPLE = 8


class Units(NamedTuple):
    """What a unit of cost and a unit of mass are in the user's units."""

    problem: Problem
    cost: float
    mass: float

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The units of a problem; 1 where it is ordinary, or its rows live elsewhere.

        Raises
        ------
        ValueError
            If the optimal value is beyond the range of float64.

        """
        if problem.cost.remote:
            return cls(problem, 1.0, 1.0)
        n = problem.shape[0]
        rows = problem.cost.rows(slice(0, n, max(1, n // SAMPLE)))
        size = max(float(np.max(np.abs(rows))), problem.epsilon)
        if size > 0 and not 1.0 / REPRESENTABLE < size * problem.mass < REPRESENTABLE:
            raise ValueError(
                f"the optimal value cannot be represented in float64: costs and epsilon are up to {size:.1e} and the "
                f"total mass is {problem.mass:.1e}; rescale them"
            )
        return cls(problem, _unit(size), _unit(problem.mass))

    @property
    def ordinary(self) -> bool:
        return self.cost == 1.0 and self.mass == 1.0

    def normalized(self) -> Problem:
        """The problem in these units."""
        if self.ordinary:
            return self.problem
        given = self.problem
        problem = Problem(
            given.cost.scaled(1.0 / self.cost, given.dtype),
            given.a / self.mass,
            given.b / self.mass,
            epsilon=given.epsilon / self.cost,
        )
        problem.regularizer = in_units(given.regularizer, self.mass, self.cost)
        # γ = mass·γ' adds this to the objective, to which gaps are relative.
        problem.offset = problem.epsilon * math.log(self.mass) * problem.mass
        return problem

    def value(self, value: float) -> float:
        """An objective in the user's units."""
        problem = self.problem
        return self.cost * self.mass * value + problem.epsilon * math.log(self.mass) * problem.mass

    def plan_out(self, plan: Plan) -> Plan:
        """A plan in the user's units."""
        if self.ordinary:
            return plan
        return _plan(plan, self.problem, self.problem.cost, self.cost, self.mass)

    def plan_in(self, plan: Plan, problem: Problem) -> Plan:
        """A plan of the user's in these units, in which the problem is `problem`."""
        if self.ordinary:
            return plan
        return _plan(plan, problem, problem.cost, 1.0 / self.cost, 1.0 / self.mass)

    def potentials_in(self, f: npt.ArrayLike, g: npt.ArrayLike) -> tuple[Double, Double]:
        """Potentials of the user's in these units."""
        shift = self.problem.epsilon * math.log(self.mass)
        f, g = (np.asarray(on_host(potential), np.float64) for potential in (f, g))
        return (f - shift) / self.cost, g / self.cost

    def iteration_out(self, iteration: Iteration, *, steps: bool) -> Iteration:
        """A line of the trace in the user's units, with its step size if that is one over a cost."""
        if self.ordinary:
            return iteration
        step = iteration.step / self.cost if steps else iteration.step
        return iteration._replace(objective=self.value(iteration.objective), step=step)

    def solution_out(self, solution: Solution, *, steps: bool) -> Solution:
        """A solution in the user's units."""
        if self.ordinary:
            return solution
        f, g = (np.asarray(potential, np.float64) for potential in solution.potentials)
        dtype, shift = self.problem.dtype, self.problem.epsilon * math.log(self.mass)
        return replace(
            solution,
            plan=self.plan_out(solution.plan),
            value=self.value(solution.value),
            lower_bound=self.value(solution.lower_bound),
            potentials=((self.cost * f + shift).astype(dtype), (self.cost * g).astype(dtype)),
            trace=Trace([self.iteration_out(iteration, steps=steps) for iteration in solution.trace]),
        )


def _unit(size: float) -> float:
    """The power of four nearest to a number, or 1 if the number is ordinary."""
    if size == 0.0 or 1.0 / ORDINARY <= size <= ORDINARY:
        return 1.0
    return 4.0 ** round(math.log(size, 4.0))


def _plan(plan: Plan, problem: Problem, cost: Cost, costs: float, masses: float) -> Plan:
    """The plan in the units of another problem; `costs` and `masses` are the old units in the new ones."""
    log, f = plan.log, plan.f
    if (gamma := log.exponential) is not None:
        log = LogOf(masses * gamma)
    else:
        f = f + math.log(masses)
        if (factored := log.factored) is not None:
            log = replace(factored, cost=cost, scale=factored.scale / costs)
    values = None if plan.values is None else masses * plan.values
    remainder = None if plan.remainder is None else (masses * plan.remainder[0], plan.remainder[1])
    return Plan(log, f, plan.g, problem.a, problem.b, plan.engine, problem.dtype, remainder, values)
