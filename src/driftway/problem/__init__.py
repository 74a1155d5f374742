"""The problem, its solution, and `Model`, the form of the problem that solvers compute with."""

from driftway.problem.annotated import AnnotatedPair
from driftway.problem.model import Model
from driftway.problem.point import Point, Tangent
from driftway.problem.problem import Problem
from driftway.problem.solution import Iteration, Solution, Trace

__all__ = ["AnnotatedPair", "Iteration", "Model", "Point", "Problem", "Solution", "Tangent", "Trace"]
