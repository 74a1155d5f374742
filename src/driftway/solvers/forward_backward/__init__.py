"""Bregman forward-backward splitting: Algorithm 1 of the paper, plain and accelerated."""

from driftway.solvers.forward_backward.solver import ForwardBackward

__all__ = ["ForwardBackward"]
