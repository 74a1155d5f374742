"""Conditional gradients, the paper's competitors: CGS, and Frank–Wolfe for ε = 0."""

from driftway.solvers.conditional_gradient.cgs import ConditionalGradient
from driftway.solvers.conditional_gradient.frank_wolfe import FrankWolfe

__all__ = ["ConditionalGradient", "FrankWolfe"]
