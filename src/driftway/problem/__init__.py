"""The problem, its solution, and the problem in the representation in which it is solved."""

from driftway.problem.problem import Problem
from driftway.problem.solution import Iteration, Solution, Trace

__all__ = ["Iteration", "Problem", "Solution", "Trace"]
