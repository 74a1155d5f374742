"""Generalised conditional gradient splitting (CGS): the paper's competitor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.plan.lbfgs import ROUNDING
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.conditional_gradient.mixture import Mixture, given_plan, line_search
from driftway.solvers.sinkhorn import scaled_potentials
from driftway.solvers.solver import INNER_ITERATIONS, Solver, Start, State, require_entropy

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Memory:
    """The present plan as a mixture, the log-potentials of the last oracle call, and C as an array."""

    here: Mixture
    f: Double
    g: Double
    cost: Double


@dataclass(frozen=True)
class ConditionalGradient(Solver):
    """Generalised conditional gradient splitting, CGS (Rakotomamonjy et al. 2015): the paper's competitor.

    J is linearised, the rest is solved by Sinkhorn's algorithm, and a line search mixes the result with the present
    plan:

        γ' = argmin ⟨γ', C + ∇J(γ)⟩ + ε H(γ')  over the couplings,      γ ← (1 − t) γ + t γ',

    with t minimising the whole objective. The oracle's dual value gives the certified gap. Sinkhorn is
    warm-started from one call to the next. A mixture of plans has no factored form, so this solver holds the
    plan as an array whatever J is. It needs ε > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ConditionalGradient, Custom, Problem, solve
    >>> cost = np.random.default_rng(0).random((6, 5))
    >>> square = Custom(lambda gamma: (gamma**2).sum(), lambda gamma: 2.0 * gamma, convex=True)
    >>> solution = solve(Problem(cost, epsilon=0.1, regularizer=square), ConditionalGradient())
    >>> solution.converged, bool(solution.gap <= 1e-6)
    (True, True)

    """

    expense = ", each a Sinkhorn solve and a line search, and slow where J is strong: the gap falls like 1/iterations"

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        cost = model.engine.assemble(model.cost)
        f, g, inner = scaled_potentials(model, start)
        gamma = given_plan(model, start)
        if gamma is None:
            plan, more = model.project(model.cost / -model.epsilon, f, g, tol=accuracy, max_iter=INNER_ITERATIONS)
            f, g, gamma, inner = plan.f, plan.g, plan.round().array(), inner + more
        return self._state(model, Memory(Mixture.of(model, cost, gamma), f, g, cost), None, np.nan, inner)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        memory, tangent = state.memory, state.tangent
        assert tangent is not None
        log = (model.cost + tangent.gradient) / -model.epsilon
        f, g, inner, t = memory.f, memory.g, 0, 0.0
        # Only exactly feasible plans are mixed, or the search would trade feasibility for objective. An oracle
        # that offers no descent was not accurate enough.
        while t == 0.0 and accuracy >= ROUNDING:
            oracle, count = model.project(log, f, g, tol=accuracy, max_iter=INNER_ITERATIONS)
            f, g, inner, accuracy = oracle.f, oracle.g, inner + count, 0.01 * accuracy
            there = Mixture.of(model, memory.cost, oracle.round().array())
            t = line_search(model, memory.here, there)
        bound = model.dual_value(oracle) - tangent.offset if model.J.convex else None
        memory = Memory(memory.here.towards(there, t), f, g, memory.cost)
        # If the finest oracle offers no descent, the next one will be the same.
        return self._state(model, memory, bound, t, inner, exhausted=t == 0.0)

    def _state(
        self, model: Model, memory: Memory, bound: float | None, step: float, inner: int, *, exhausted: bool = False
    ) -> State:
        point = memory.here.point(model)
        potentials = (model.epsilon * memory.f, model.epsilon * memory.g)
        return State(point, model.tangent(point), bound, potentials, step, inner, memory, exhausted=exhausted)
