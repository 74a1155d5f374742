"""Solvers, one per file, all on the same problem."""

from driftway.solvers.conditional_gradient import ConditionalGradient
from driftway.solvers.dual_ascent import DualAscent
from driftway.solvers.dual_newton import DualNewton
from driftway.solvers.entropic import Sinkhorn
from driftway.solvers.forward_backward import ForwardBackward
from driftway.solvers.frank_wolfe import FrankWolfe

__all__ = ["ConditionalGradient", "DualAscent", "DualNewton", "ForwardBackward", "FrankWolfe", "Sinkhorn"]
