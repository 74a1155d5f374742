"""Plain conditional gradient (Frank–Wolfe): everything linearised, an exact transport problem as oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import TINY
from driftway.problem.model import Model
from driftway.solvers.conditional_gradient.exact import exact_transport
from driftway.solvers.conditional_gradient.mixture import Mixture, given_plan, line_search
from driftway.solvers.solver import Solver, Start, State

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Memory:
    """The present plan as a mixture, the vertex that the oracle answered there, and C as an array."""

    here: Mixture
    vertex: Double
    cost: Double


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Conditional gradient (Frank–Wolfe) on the transport polytope, with or without entropy.

    See Jaggi (2013) and Bertsekas (1999). Everything is linearised, and an exact transport problem is solved at every
    step:

        γ' = argmin ⟨γ', C + ε log γ + ∇J(γ)⟩  over the couplings,      γ ← (1 − t) γ + t γ',

    with t minimising the whole objective. ε = 0 is allowed: it is the only solver here for transport without
    entropy. The gap is certified by the oracle's potentials, made feasible by a c-transform, so it does not
    rely on the oracle's accuracy.

    Examples
    --------
    Exact optimal transport without a regulariser is an assignment here:

    >>> import numpy as np
    >>> from driftway import Problem, solve
    >>> from driftway.solvers import FrankWolfe
    >>> cost = np.array([[0.0, 2.0, 2.0], [2.0, 2.0, 0.0], [2.0, 0.0, 2.0]])
    >>> solution = solve(Problem(cost, epsilon=0.0), FrankWolfe())
    >>> solution.plan.dense().argmax(axis=1).tolist(), bool(abs(solution.value) < 1e-9)
    ([0, 2, 1], True)

    """

    expense = ", each an exact transport problem, and slow: the gap falls like 1/iterations"

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        if start.plan is None and (start.f.any() or start.g.any()):
            raise ValueError("FrankWolfe starts from a plan: init must be a plan, an array or a Solution")
        cost = model.engine.assemble(model.cost)
        gamma = given_plan(model, start)
        if gamma is None:  # the independent coupling, in the interior
            gamma = np.multiply.outer(model.a, model.b) / model.problem.mass
        return self._state(model, Mixture.of(model, cost, gamma), cost, np.nan)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        memory = state.memory
        there = Mixture.of(model, memory.cost, memory.vertex)
        t = line_search(model, memory.here, there)
        return self._state(model, memory.here.towards(there, t), memory.cost, t)

    def _state(self, model: Model, here: Mixture, cost: Double, step: float) -> State:
        point = here.point(model)
        tangent = model.tangent(point)
        slope = cost + model.engine.assemble(tangent.gradient)
        if model.epsilon > 0:  # an entry that underflowed to zero still has a finite slope
            slope += model.epsilon * np.log(np.maximum(here.gamma, TINY))
        vertex, f, g = exact_transport(slope, model.a, model.b)
        least = float(np.dot(f, model.a) + np.dot(g, model.b))
        bound = point.objective + least - float(np.vdot(slope, here.gamma))
        f, g = np.where(model.a > 0, f, -np.inf), np.where(model.b > 0, g, -np.inf)
        return State(point, tangent, bound, (f, g), step, 0, Memory(here, vertex, cost))
