"""Timing of a solver's iterations, without the time of evaluating them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

from driftway.plan.plan import Plan
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.problem.solution import Iteration
from driftway.solvers import ConditionalGradient
from driftway.solvers.conditional_gradient.mixture import line_search
from driftway.solvers.solver import Solver, Start, State

SEARCHES = 3  # line searches that are timed per run


class TimedSolver(Solver):
    """A solver that runs another one and records, per iteration, the time so far and the objective of the rounded plan.

    `seconds` is processor time of all threads, which other work on the machine hardly affects; `wall` is wall time.
    Both exclude certificates, which the loop computes for every solver, and the evaluation of the objective here. The
    plan is rounded onto the marginals first, since an infeasible plan may have an objective below the optimum.

    `certified` has the certified gaps, and `counted` the processor time to them with all certificates before: what a
    user waits for who stops at a certified gap.
    """

    def __init__(self, solver: Solver, budget: float) -> None:
        self.solver, self.budget = solver, budget
        self.direct = solver.direct
        self.seconds: list[float] = []
        self.wall: list[float] = []
        self.objective: list[float] = []
        self.searches: list[float] = []
        self.certified: list[float] = []
        self.counted: list[float] = []
        self._began = self._aside = 0.0

    def check(self, problem: Problem) -> None:
        self.solver.check(problem)

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        began = process_time(), perf_counter()
        self._began = began[0]
        state = self.solver.start(model, start, accuracy)
        self._note(model, state, process_time() - began[0], perf_counter() - began[1])
        return state

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        began = process_time(), perf_counter()
        following = self.solver.advance(model, state, accuracy)
        self._note(model, following, process_time() - began[0], perf_counter() - began[1])
        if isinstance(self.solver, ConditionalGradient) and len(self.searches) < SEARCHES and following.step > 0:
            self.searches.append(self._apart(_search_again, model, state.memory, following.memory, following.step))
        return following

    def is_over(self, iteration: Iteration, plan: Plan) -> bool:
        """Callback for `solve` that stops when the budget is spent."""
        self.certified.append(iteration.gap)
        self.counted.append(process_time() - self._began - self._aside)
        return self.seconds[-1] > self.budget

    def _note(self, model: Model, state: State, seconds: float, wall: float) -> None:
        self.seconds.append(seconds + (self.seconds[-1] if self.seconds else 0.0))
        self.wall.append(wall + (self.wall[-1] if self.wall else 0.0))
        self.objective.append(self._apart(model.rounded, state.point, 0.0))

    def _apart(self, function: Callable[..., float], *arguments: Any) -> float:
        """What a function returns; its time is not counted."""
        began = process_time()
        result = float(function(*arguments))
        self._aside += process_time() - began
        return result


def _search_again(model: Model, before: Any, after: Any, step: float) -> float:
    """The seconds of the line search between two mixtures, measured by repeating it.

    The other end of the segment lies 1/t times as far as the step of size t went.
    """
    there = before.here.towards(after.here, 1.0 / step)
    began = process_time()
    line_search(model, before.here, there)
    return process_time() - began
