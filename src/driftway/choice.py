"""Which solver a problem gets when none is asked for."""

from __future__ import annotations

from driftway.engine import Engine
from driftway.iteration import Solver
from driftway.problem import Problem
from driftway.regularizers.regularizer import Zero
from driftway.solvers import dual_newton, moment_dual
from driftway.solvers.dual_ascent import DualAscent
from driftway.solvers.dual_newton import DualNewton
from driftway.solvers.entropic import Sinkhorn
from driftway.solvers.forward_backward import ForwardBackward
from driftway.solvers.frank_wolfe import FrankWolfe

# Relative smoothness over ε below which forward-backward contracts by more than four in every step.
WEAK = 0.3


def choose(problem: Problem, engine: Engine, *, from_plan: bool) -> Solver:
    """The fastest safe solver; a start from a plan leaves only those that can use one."""
    if problem.epsilon == 0:
        return FrankWolfe()
    if from_plan:
        return ForwardBackward()
    if isinstance(problem.regularizer, Zero):
        return Sinkhorn()
    if moment_dual.fits(problem):
        return DualAscent()
    if dual_newton.fits(problem) and getattr(engine, "compiled", False) and not _weak(problem):
        return DualNewton()
    return ForwardBackward(accelerate=problem.regularizer.convex)


def _weak(problem: Problem) -> bool:
    """Whether J is so weak beside the entropy that a few forward-backward steps are all it takes."""
    smoothness = problem.regularizer.smoothness
    return smoothness is not None and smoothness < WEAK * problem.epsilon
