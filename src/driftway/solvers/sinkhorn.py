"""Plain entropic transport: Sinkhorn's algorithm as a solver, and the starting point of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import flag, positive_integer, real_number
from driftway.plan.sinkhorn import Relaxation, balance
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.solver import NO_PROGRESS, Solver, Start, State, require_entropy

Double = npt.NDArray[np.float64]

# What an intermediate strength of an ε-scaling schedule is solved to: it only has to lead to the next.
STAGE_ACCURACY, STAGE_ITERATIONS = 1e-2, 100
# Where "auto" begins to use a schedule, as a multiple of ε in the cost's range, and by which factor.
AUTO_RATIO, AUTO_FACTOR = 1000.0, 0.25


@dataclass(frozen=True)
class Sinkhorn(Solver):
    """Sinkhorn's algorithm, for entropic transport without a regulariser (J = 0).

    It alternates between scaling rows and columns to their masses, with logarithms throughout. It needs ε > 0.

    Parameters
    ----------
    scaling : float in (0, 1), "auto" or None
        Start with ε at the cost's range and multiply it by this factor until the ε asked for is reached.
        Whatever the schedule, the last problem is the one asked for. "auto" does so where it pays: for ε
        below a thousandth of the range, unless potentials to start from were given.
    relax : bool
        Whether column updates may be over-relaxed, which is safeguarded by the dual value.
    round_length : int
        An iteration of this solver is a round of at most so many updates of f and g.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import Problem, solve
    >>> from driftway.solvers import Sinkhorn
    >>> problem = Problem(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.5)
    >>> solve(problem, Sinkhorn(relax=False)).plan.dense().round(3)
    array([[0.44, 0.06],
           [0.06, 0.44]])

    """

    scaling: float | Literal["auto"] | None = "auto"
    relax: bool = True
    round_length: int = 1000
    direct = True

    def __post_init__(self) -> None:
        if self.scaling is not None and not (isinstance(self.scaling, str) and self.scaling == "auto"):
            real_number("scaling", self.scaling, minimum=0.0, maximum=1.0, strict=True)
        flag("relax", self.relax)
        positive_integer("round_length", self.round_length)

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)
        if not problem.regularizer.vanishes:
            raise ValueError(
                f"Sinkhorn solves problems without a regularizer, got {problem.regularizer!r}; use ForwardBackward"
            )

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        if start.log is not None:
            raise ValueError("Sinkhorn starts from potentials: init must be a pair (f, g) or a Solution")
        f, g, inner = scaled_potentials(model, start, self.scaling)
        return self._round(model, f, g, Relaxation() if self.relax else None, accuracy, inner)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        # Nothing but the marginals is wrong with a plan here, so each round has to improve them.
        plan, accuracy = state.point.plan, min(accuracy, 0.1 * state.point.error)
        after = self._round(model, plan.f, plan.g, state.memory, accuracy)
        # A round that ended before its time, no nearer, is as near as rounding allows.
        idle = after.inner < self.round_length and after.point.error > NO_PROGRESS * state.point.error
        return replace(after, exhausted=idle)

    def _round(
        self, model: Model, f: Double, g: Double, relaxation: Relaxation | None, accuracy: float, inner: int = 0
    ) -> State:
        epsilon, log = model.epsilon, model.cost / -model.epsilon
        solved = balance(
            log,
            model.a,
            model.b,
            f,
            g,
            tol=accuracy,
            max_iter=self.round_length,
            engine=model.engine,
            relaxation=relaxation,
        )
        plan = model.plan(log, solved.f, solved.g, solved.values)
        point = model.evaluate(plan, solved.columns)
        return State(
            point,
            None,
            model.dual_value(plan),
            (epsilon * plan.f, epsilon * plan.g),
            np.nan,
            inner + solved.n_iter,
            solved.relaxation,
        )


def scaled_potentials(
    model: Model, start: Start, factor: float | Literal["auto"] | None = "auto"
) -> tuple[Double, Double, int]:
    """Log-potentials to start from, reached by way of larger strengths ε·factor⁻¹, ε·factor⁻², … and their cost.

    The largest strength is the range of the cost over a sample of its rows.
    """
    f, g, inner = start.f, start.g, 0
    ratio = model.spread / model.epsilon
    if factor == "auto":
        factor = AUTO_FACTOR if ratio > AUTO_RATIO and not (f.any() or g.any()) else None
    count = 0 if factor is None else max(0, int(np.ceil(np.log(max(ratio, 1.0)) / -np.log(factor))))
    for k in range(count, 0, -1):
        strength = model.epsilon * float(factor or 1.0) ** -k
        solved = balance(
            model.cost / -strength,
            model.a,
            model.b,
            f / strength,
            g / strength,
            tol=STAGE_ACCURACY,
            max_iter=STAGE_ITERATIONS,
            engine=model.engine,
        )
        f, g, inner = _finite(strength * solved.f), _finite(strength * solved.g), inner + solved.n_iter
    return f / model.epsilon, g / model.epsilon, inner


def _finite(potential: Double) -> Double:
    return np.where(np.isfinite(potential), potential, 0.0)
