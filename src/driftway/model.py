"""A problem in the representation in which it is solved: what solvers compute with.

Factored if the regulariser has a moment form, dense otherwise. Either way a solver sees the cost C, the
log-plan and the gradient ∇J as elements of one linear space, and a plan through a few sums over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from driftway.balancing import balance, dot
from driftway.engine import Engine
from driftway.matrices import Dense, Factored, LogOf, Matrix
from driftway.plan import Plan
from driftway.problem import Problem
from driftway.regularizers.regularizer import (
    MomentRegularizer,
    checked_gradient,
    checked_phi,
    checked_phi_gradient,
    checked_value,
)
from driftway.validation import real_array

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point:
    """A plan and what is known of it.

    Attributes
    ----------
    rows, columns : its marginals
    right, left : its moments γR and γᵀL, if the regulariser has a moment form
    penalty : J(γ)
    objective : ⟨γ, C⟩ + ε H(γ) + J(γ)
    error : ‖γ1 − a‖₁ + ‖γᵀ1 − b‖₁, relative to the mass

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

    `slope` is ⟨gradient, γ⟩ at that plan, `magnitude` the same sum of absolute values: what its rounding error
    is relative to.
    """

    gradient: Matrix
    slope: float
    offset: float
    magnitude: float


class Model:
    """A problem on an engine, factored where possible."""

    def __init__(self, problem: Problem, engine: Engine, *, dense: bool = False) -> None:
        self.problem, self.engine = problem, engine
        self.a, self.b, self.epsilon = problem.a, problem.b, problem.epsilon
        self.J = problem.regularizer
        self._dense = dense or not isinstance(self.J, MomentRegularizer)
        if isinstance(self.J, MomentRegularizer):
            n, m = problem.shape
            _check_moments("right_basis", self.J.right_basis, m)
            _check_moments("left_basis", self.J.left_basis, n)

    @cached_property
    def cost(self) -> Matrix:
        """C."""
        cost, J = self.problem.cost, self.J
        if isinstance(J, MomentRegularizer) and not self._dense:
            return Factored.of_cost(cost, J.right_basis, J.left_basis)
        n, m = cost.shape
        return Dense(self.engine.assemble(Factored.of_cost(cost, np.empty((m, 0)), np.empty((n, 0)))))

    def check(self) -> None:
        """Raises if cost/ε overflows, or J or ∇J at the independent coupling is not finite or of the wrong shape."""
        _ = self.spread
        self.tangent(self.independent)

    @cached_property
    def independent(self) -> Point:
        """The coupling a ⊗ b, at which J is known without a look at the cost; its objective is left out."""
        a, b, J = self.a, self.b / self.problem.mass, self.J
        if isinstance(self.cost, Factored):
            right, left = np.multiply.outer(a, b @ self.cost.R), np.multiply.outer(b, a @ self.cost.L)
            assert isinstance(J, MomentRegularizer)
            with np.errstate(divide="ignore"):
                plan, penalty = self.plan(0.0 * self.cost, np.log(a), np.log(b)), checked_phi(J, right, left)
        else:
            gamma, right, left = np.multiply.outer(a, b), np.empty((a.size, 0)), np.empty((b.size, 0))
            plan = self.plan(LogOf(gamma), np.zeros_like(a), np.zeros_like(b), gamma)
            penalty = checked_value(J, gamma)
        return Point(plan, a, self.b, right, left, penalty, np.nan, 0.0)

    @cached_property
    def spread(self) -> float:
        """The range of the cost over a sample of its rows."""
        n = self.cost.shape[0]
        rows = [self.cost.rows(slice(i, i + 1)) for i in range(0, n, max(1, n // 8))]
        with np.errstate(over="ignore"):
            spread = float(np.max(rows) - np.min(rows))
            ratio = spread / self.epsilon if self.epsilon > 0 else spread
        if not np.isfinite(4.0 * ratio):
            raise ValueError(
                f"epsilon must be large enough for cost/epsilon to be finite, got {self.epsilon:g} for a cost of "
                f"range {spread:g}"
            )
        return spread

    def plan(self, log: Matrix, f: Double, g: Double, values: Double | None = None) -> Plan:
        """The plan exp(log + f ⊕ g)."""
        return Plan(log, f, g, self.a, self.b, self.engine, self.problem.dtype, None, values)

    def project(self, log: Matrix, f: Double, g: Double, *, tol: float, max_iter: int) -> tuple[Plan, int]:
        """The plan exp(log + f ⊕ g) with f and g such that its marginals are a and b, and the iterations taken.

        This is Sinkhorn's algorithm, and the backward step: the minimiser over the couplings of
        −⟨γ, log⟩ + H(γ). In the paper's words it is sinkhorn(−s·log, s) for any s > 0.
        """
        solved = balance(log, self.a, self.b, f, g, tol=tol, max_iter=max_iter, engine=self.engine)
        return self.plan(log, solved.f, solved.g, solved.values), solved.n_iter

    def evaluate(self, plan: Plan) -> Point:
        """The objective at a plan, and the sums it is made of."""
        direct = plan.remainder is not None or isinstance(plan.log, LogOf)
        # C + ε log γ: what multiplies the plan in the objective. A factored plan usually has no C left in it.
        potential = self.cost if direct else self.cost + self.epsilon * plan.log
        without_cost = isinstance(potential, Factored) and potential.scale == 0.0
        inner = None if without_cost else potential
        J = self.J
        if isinstance(J, MomentRegularizer) and not self._dense:
            sums = plan.sweep(J.right_basis, J.left_basis, inner, entropy=direct)
            penalty = checked_phi(J, sums.right, sums.left)
        else:
            sums = plan.sweep(inner=inner, entropy=direct)
            penalty = checked_value(J, plan.array())
        linear = sums.inner
        if isinstance(potential, Factored) and without_cost:
            linear = float(np.vdot(potential.P, sums.right) + np.vdot(potential.Q, sums.left))
        entropy = sums.entropy
        if not direct:
            entropy = dot(plan.f, sums.rows) + dot(plan.g, sums.columns) - float(sums.rows.sum())
        objective = linear + self.epsilon * entropy + penalty
        if not np.isfinite(objective):
            raise FloatingPointError(f"the objective overflowed ({objective}); rescale the cost")
        error = np.abs(sums.rows - self.a).sum() + np.abs(sums.columns - self.b).sum()
        return Point(
            plan,
            sums.rows,
            sums.columns,
            sums.right,
            sums.left,
            penalty,
            objective,
            float(error / self.problem.mass),
        )

    def tangent(self, point: Point) -> Tangent:
        """The linearisation of J at a plan."""
        J = self.J
        gradient: Matrix
        if isinstance(self.cost, Factored):
            assert isinstance(J, MomentRegularizer)
            P, Q = checked_phi_gradient(J, point.right, point.left)
            gradient = self.cost.with_coefficients(0.0, P, Q)
        else:
            gradient = Dense(checked_gradient(J, point.plan.array()))
        slope = self.pair(gradient, point)
        return Tangent(gradient, slope, slope - point.penalty, self.magnitude(gradient, point))

    def pair(self, matrix: Matrix, point: Point) -> float:
        """⟨matrix, γ⟩."""
        if not isinstance(matrix, Factored):
            return float(np.vdot(self.engine.assemble(matrix), point.plan.array()))
        transport = 0.0
        if matrix.scale != 0.0:
            transport = matrix.scale * point.plan.sweep(inner=self.cost).inner
        return transport + float(np.vdot(matrix.P, point.right) + np.vdot(matrix.Q, point.left))

    def magnitude(self, gradient: Matrix, point: Point) -> float:
        """The absolute values that ⟨gradient, γ⟩ adds up, to which its rounding error is relative."""
        if isinstance(gradient, Factored):
            terms = ((gradient.P, point.right), (gradient.Q, point.left))
            return float(sum(np.vdot(np.abs(first), np.abs(second)) for first, second in terms))
        values = self.engine.assemble(gradient)
        return self.engine.total(lambda G, gamma: float(np.vdot(np.abs(G), gamma)), values, point.plan.array())

    def divergence(self, new: Point, old: Point) -> float:
        """KL(γ_new | γ_old) = Σ γ_new log(γ_new/γ_old) − γ_new + γ_old, from the difference of their logarithms."""
        difference = self.pair(new.plan.log - old.plan.log, new)
        with np.errstate(invalid="ignore"):  # −∞ − −∞, where there is no mass
            difference += dot(new.plan.f - old.plan.f, new.rows) + dot(new.plan.g - old.plan.g, new.columns)
        return max(difference - float(new.rows.sum() - old.rows.sum()), 0.0)

    def dual_value(self, plan: Plan) -> float:
        """ε (⟨f, a⟩ + ⟨g, b⟩ − Σ exp(log + f ⊕ g)) for a plan with exact rows.

        If log = −(C + G)/ε this is at most the minimum over couplings of ⟨γ, C + G⟩ + ε H(γ).
        """
        return self.epsilon * (dot(plan.f, self.a) + dot(plan.g, self.b) - self.problem.mass)


def _check_moments(name: str, basis: object, rows: int) -> None:
    array = real_array(f"the regularizer's {name}", basis)
    if array.ndim != 2 or len(array) != rows:
        raise ValueError(f"the regularizer's {name} must have shape ({rows}, any), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the regularizer's {name} must be finite, but it contains NaN or infinity")
