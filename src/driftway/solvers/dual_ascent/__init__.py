"""Quasi-Newton and Newton ascent on the dual, for regularisers that are sums of squares of right moments."""

from driftway.solvers.dual_ascent.solver import DualAscent

__all__ = ["DualAscent"]
