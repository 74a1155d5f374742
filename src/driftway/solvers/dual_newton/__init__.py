"""Newton's method on the semi-dual, for a group lasso and sums of squares of right moments beside it."""

from driftway.solvers.dual_newton.solver import DualNewton

__all__ = ["DualNewton"]
