"""A plan with the values that solvers need there: sums, objective, and the linearisation of J."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.geometry.matrices import Matrix
from driftway.plan.plan import Plan

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point:
    """A plan with its marginals, its moments and its objective.

    Attributes
    ----------
    plan : the plan
    rows, columns : its marginals
    right, left : its moments γR and γᵀL, if the regulariser has a moment form
    penalty : J(γ)
    objective : ⟨γ, C⟩ + ε H(γ) + J(γ)
    error : ‖γ1 − a‖₁ + ‖γᵀ1 − b‖₁, relative to the mass

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import Problem, sinkhorn
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> solution = sinkhorn(cost, epsilon=0.5)
    >>> point = Model(Problem(cost, epsilon=0.5), Threads()).evaluate(solution.plan)
    >>> round(point.objective, 4) == round(solution.value, 4), point.penalty, bool(point.error < 1e-6)
    (True, 0.0, True)

    """

    plan: Plan
    rows: Double
    columns: Double
    right: Double
    left: Double
    penalty: float
    objective: float
    error: float


@dataclass(frozen=True, eq=False)
class Tangent:
    """The linearisation of J at a plan:  ⟨gradient, ·⟩ − offset,  which is below J everywhere if J is convex.

    Attributes
    ----------
    gradient : ∇J at the plan, in the representation of the model
    slope : ⟨gradient, γ⟩ at the plan
    offset : slope − J(γ)
    magnitude : the sum of the absolute values that make up the slope; its rounding error is relative to it

    Examples
    --------
    A norm equals its linearisation, so the offset of a group lasso is zero:

    >>> import numpy as np
    >>> from driftway import GroupLasso, Problem
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> problem = Problem(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.5, regularizer=GroupLasso([0, 1]))
    >>> model = Model(problem, Threads())
    >>> tangent = model.tangent(model.independent)
    >>> round(tangent.slope, 6), bool(abs(tangent.offset) < 1e-12)
    (1.0, True)

    """

    gradient: Matrix
    slope: float
    offset: float
    magnitude: float
