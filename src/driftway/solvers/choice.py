"""The automatic choice of a solver."""

from __future__ import annotations

import numpy as np

from driftway.engines.engine import Engine
from driftway.engines.threads.engine import compiled_threads
from driftway.problem.problem import Problem
from driftway.solvers.conditional_gradient.frank_wolfe import FrankWolfe
from driftway.solvers.dual_ascent.dual import fits as fits_dual_ascent
from driftway.solvers.dual_ascent.solver import DualAscent, is_small
from driftway.solvers.dual_newton.solver import DualNewton
from driftway.solvers.dual_newton.solver import fits as fits_dual_newton
from driftway.solvers.forward_backward.solver import ForwardBackward
from driftway.solvers.sinkhorn import Sinkhorn
from driftway.solvers.solver import Solver

# Below this share of the cost's range plain transport is left to Sinkhorn, which is made for any ε.
LEAST_STRENGTH = 1e-4


def choose(problem: Problem, engine: Engine, *, from_plan: bool) -> list[Solver]:
    """The fastest safe solver, and the solvers to try after it if rounding stops it.

    A start from a plan leaves only those that can use one.
    """
    if problem.epsilon == 0:
        return [FrankWolfe()]
    if from_plan:
        return [ForwardBackward()]
    splitting = ForwardBackward(accelerate=problem.regularizer.convex)
    if problem.regularizer.vanishes:
        return [DualAscent(), Sinkhorn()] if _by_newton(problem, engine) else [Sinkhorn()]
    if fits_dual_ascent(problem):
        return [DualAscent(), splitting]
    if fits_dual_newton(problem) and compiled_threads(engine) is not None:
        return [DualNewton(), splitting]
    return [splitting]


def _by_newton(problem: Problem, engine: Engine) -> bool:
    """Whether plain transport is small enough for compiled Newton steps, and ε large enough for them to be few."""
    if not is_small(problem.shape, engine):
        return False
    cost = problem.cost.rows(slice(None))
    with np.errstate(over="ignore"):
        return bool(problem.epsilon >= LEAST_STRENGTH * (np.max(cost) - np.min(cost)))
