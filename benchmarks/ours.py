"""driftway as an entrant of the race."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.clock import OverBudget, time_limit
from benchmarks.interleave import Entrant, Rung
from benchmarks.judge import Answer
from driftway import Plan, Problem, Solution, sinkhorn, solve
from driftway.engines import Threads
from driftway.engines.engine import Engine
from driftway.problem.solution import Iteration


def default_engine() -> Engine:
    """The engine that `solve` uses by default."""
    return Threads()


def solver_entrant(
    name: str,
    problem: Problem,
    make_solver: Callable[[], Any],
    *,
    tol: float,
    settings: str,
    reference: bool = False,
    share: float = 1.0,
) -> Entrant:
    """`solve(problem, solver, tol=tol)`, stopped when its time is over; a solver not written yet is unavailable."""
    try:
        solver = make_solver()
    except (TypeError, ValueError) as error:
        return Entrant(name, (), ours=True, reference=reference, unavailable=f"not available: {error}")

    def run(budget: float) -> Answer:
        deadline = Deadline(budget)
        try:
            return answer_of(solve(problem, solver, tol=tol, max_iter=10**6, callback=deadline))
        except OverBudget:
            return deadline.answer()

    return Entrant(name, [[Rung(f"{settings}, tol={tol:g}", run)]], ours=True, reference=reference, share=share)


def sinkhorn_entrant(cost: Any, epsilon: float, *, tol: float, with_plan: bool) -> Entrant:
    """`sinkhorn(cost, epsilon=epsilon, tol=tol)`; `with_plan` also makes the plan as an array in the timed section."""

    def run(budget: float) -> Answer:
        deadline = Deadline(budget)
        try:
            solution = sinkhorn(cost, epsilon=epsilon, tol=tol, callback=deadline)
            plan = solution.plan.dense() if with_plan else None
        except OverBudget:
            return deadline.answer()
        answer = answer_of(solution)
        return answer if plan is None else replace(answer, plan=lambda: plan)

    settings = f"sinkhorn(cost, epsilon, tol={tol:g}){'.plan.dense()' if with_plan else ''}"
    return Entrant("driftway", [[Rung(settings, run)]], ours=True, reference=True)


def tight_bound(problem: Problem, *, tol: float, budget: float) -> float:
    """A lower bound tighter than the target, untimed, so that nobody is judged by the slack of our certificate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deadline = Deadline(budget)
        try:
            with time_limit(1.5 * budget):
                return solve(problem, tol=tol, max_iter=10**6, callback=deadline).lower_bound
        except OverBudget:
            return -np.inf


def answer_of(solution: Solution) -> Answer:
    """A solution as an answer, with its certificate and its trace."""
    trace = solution.trace
    curve = tuple((float(line.seconds), float(line.gap)) for line in trace if np.isfinite(line.gap))
    return Answer(
        plan=solution.plan.dense,
        bound=solution.lower_bound,
        certified=solution.gap,
        curve=curve,
        notes={
            "iterations": float(solution.n_iter),
            "inner": float(sum(line.inner for line in trace)),
            "certified_marginal_error": float(solution.marginal_error),
        },
    )


def certified(tol: float) -> Callable[[Answer, Any, float], bool]:
    """Whether the target is reached: by the certificate for ours, by the judge for those who have none."""

    def reached(answer: Answer, verdict: Any, gap: float) -> bool:
        if not np.isnan(answer.certified):
            gap = answer.certified
        # The judge adds up the marginals in another order than the library.
        return bool(gap <= tol and verdict.marginal_error <= tol * (1 + 1e-6) + 1e-12)

    return reached


class Deadline:
    """A callback that stops a solve when its time is over, and remembers how far it had come.

    Where even the iteration it is in takes too long, what it remembers is all there is.
    """

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds
        self.lines: list[tuple[float, float]] = []
        self.plan: Plan | None = None

    def __call__(self, iteration: Iteration, plan: Plan) -> bool:
        self.plan = plan
        if np.isfinite(iteration.gap):
            self.lines.append((iteration.seconds, iteration.gap))
        return time.perf_counter() > self.end

    def answer(self) -> Answer:
        """The last iteration that was finished."""
        if self.plan is None:
            raise OverBudget("over budget before the first iteration was finished")
        return Answer(self.plan.dense, certified=np.inf, curve=tuple(self.lines))
