"""Solvers of a `Problem`. `Solver` is the base class for one of your own."""

from driftway.solvers.conditional_gradient import ConditionalGradient, FrankWolfe
from driftway.solvers.dual_ascent import DualAscent
from driftway.solvers.dual_newton import DualNewton
from driftway.solvers.forward_backward import ForwardBackward
from driftway.solvers.sinkhorn import Sinkhorn
from driftway.solvers.solver import Solver, Start, State

__all__ = [
    "ConditionalGradient",
    "DualAscent",
    "DualNewton",
    "ForwardBackward",
    "FrankWolfe",
    "Sinkhorn",
    "Solver",
    "Start",
    "State",
]
