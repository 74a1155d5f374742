"""Solvers tried one after another, until rounding stops none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from driftway.problem.model import Model
from driftway.problem.solution import Solution
from driftway.solvers.solver import Solver

# A relative smoothness of so many times ε takes all digits from the differences of potentials.
NO_DIGITS = 1e15


def first_to_succeed(
    model: Model, solvers: Sequence[Solver], attempt: Callable[[Solver], tuple[Solution, bool]]
) -> Solution:
    """The solution of the first solver if rounding does not stop it, else the first that converges or the best.

    Raises
    ------
    ValueError
        If float64 cannot represent what the problem is made of.

    """
    found: list[Solution] = []
    failure: FloatingPointError | None = None
    for solver in solvers:
        try:
            solution, exhausted = attempt(solver)
        except FloatingPointError as error:
            failure = error
            continue
        found.append(solution)
        if solution.converged or not (exhausted or found[1:] or failure):
            return solution
    if not found or _strength(model) > NO_DIGITS:
        raise ValueError(_unrepresentable(model, failure)) from failure
    return min(found, key=lambda solution: (solution.gap, solution.value))


def _strength(model: Model) -> float:
    """Relative smoothness over ε, zero if it is not known."""
    smoothness = model.J.smoothness if model.J.proven else None
    return smoothness / model.epsilon if smoothness is not None and model.epsilon > 0 else 0.0


def _unrepresentable(model: Model, failure: FloatingPointError | None) -> str:
    """The error message for problems that float64 cannot represent."""
    least = min(float(np.asarray(mass)[np.asarray(mass) > 0].min()) for mass in (model.a, model.b))
    strength = _strength(model)
    stiff = f", and J is up to {strength:.0e} times as strong as the entropy" if strength > 1.0 else ""
    why = f" ({failure})" if failure is not None else ""
    return (
        f"the problem cannot be represented in float64{why}: masses are from {least:.1e} to a total of "
        f"{model.problem.mass:.1e}, costs have a range of {model.spread:.1e}, epsilon is {model.epsilon:.1e}{stiff}; "
        "leave out points of tiny mass, lower the weight of the regularizer, or raise epsilon"
    )
