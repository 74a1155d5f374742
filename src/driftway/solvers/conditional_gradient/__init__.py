"""Conditional gradients: CGS, the paper's competitor, and Frank–Wolfe, which also solves ε = 0."""

from driftway.solvers.conditional_gradient.cgs import ConditionalGradient
from driftway.solvers.conditional_gradient.frank_wolfe import FrankWolfe

__all__ = ["ConditionalGradient", "FrankWolfe"]
