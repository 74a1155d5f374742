"""The dual of transport with a sum of squares of right moments: a concave function of (g, P).

With φ*(P) = ⟨P, c⟩ + ½ Σ q P² and f eliminated it is

    D(g, P) = ⟨f(g, P), a⟩ + ⟨g, b⟩ − ε·mass − φ*(P),      γ = exp((f ⊕ g − C − P Rᵀ)/ε) with exact rows,

whose gradient is (b − γᵀ1, γR − c − qP). An evaluation is one sweep, which also brings the covariances of R
under the rows of the plan, and with them the diagonal blocks of the Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftway.arrays.rowwise import by_rows
from driftway.engines.engine import Request
from driftway.geometry.matrices import Factored
from driftway.plan.lbfgs import SUFFICIENT
from driftway.plan.newton import DUAL_ROUNDING, by_columns
from driftway.plan.plan import Plan
from driftway.plan.sinkhorn import dot
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.dual_ascent.blocks import blocks_of, inverse_blocks, inverse_roots_of, pairs, per_mass, times
from driftway.solvers.dual_ascent.continuation import LAST_RIDGE, NEXT_RIDGE, RIDGE, STARVED, Direction

Double = npt.NDArray[np.float64]

# Up to this many moments the preconditioner uses their covariances, beyond it their variances.
FEW_MOMENTS = 3
# Columns of a smaller share of the mass are below the rounding errors of the system for all of them.
NEGLIGIBLE = 1e-20
# A promised rise in units of ε that is not worth a step of a row; the sweeps that may settle rows between two steps.
SETTLED, SETTLING = 1e-2, 12


def fits(problem: Problem) -> bool:
    """Whether the regulariser is a sum of squares of right moments."""
    form = problem.regularizer.moment_form
    if form is None or not problem.regularizer.convex or form.left_basis.shape[1]:
        return False
    return form.row_quadratic is not None


@dataclass(frozen=True, eq=False)
class Space:
    """The fixed data of the dual: masses, moments and φ*.

    `seen` marks the coefficients P that are variables; the others belong to rows without mass or to moments
    that φ does not see, and are zero. `products` are R and the products of its columns whose means under the
    rows are needed.
    """

    a: Double
    b: Double
    R: Double
    centre: Double
    curvature: Double
    seen: npt.NDArray[np.bool_]
    products: Double
    every: bool

    @cached_property
    def mass(self) -> float:
        """The total mass."""
        return float(self.b.sum())

    @classmethod
    def of(cls, model: Model) -> Space:
        form = model.J.moment_form
        quadratic = None if form is None else form.row_quadratic
        assert form is not None
        assert quadratic is not None
        R = form.right_basis
        seen = np.isfinite(quadratic.curvature) & (model.a > 0)[:, None]
        curvature = np.where(seen, quadratic.curvature, 1.0)
        space = cls(model.a, model.b, R, quadratic.centre, curvature, seen, R, every=False)
        return space.with_pairs(every=R.shape[1] <= FEW_MOMENTS)

    def with_pairs(self, *, every: bool) -> Space:
        """This space with the products of every pair of moments, or only with their squares."""
        first, second = pairs(self.R.shape[1], every=every)
        return replace(self, products=np.hstack([self.R, self.R[:, first] * self.R[:, second]]), every=every)


@dataclass(frozen=True, eq=False)
class Place:
    """A point (g, P) of the dual in units of cost, and what a sweep tells of it; values are per unit of mass."""

    space: Space
    epsilon: float
    g: Double
    P: Double
    f: Double
    columns: Double
    means: Double
    value: float
    magnitude: float
    damping: float = 0.0

    @property
    def x(self) -> Double:
        return np.concatenate([np.where(self.space.b > 0, self.g, 0.0), self.P.ravel()])

    @cached_property
    def residual(self) -> Double:
        """γR − c − qP, the gradient in P."""
        space, r = self.space, self.P.shape[1]
        return np.where(space.seen, self.means[:, :r] - space.centre - space.curvature * self.P, 0.0)

    @cached_property
    def by_row(self) -> Double:
        """The contribution of every row to the dual."""
        space = self.space
        in_P = (self.P * (space.centre + 0.5 * space.curvature * self.P)).sum(axis=1)
        return self.epsilon * space.a * np.where(space.a > 0, self.f, 0.0) - in_P

    @cached_property
    def gradient(self) -> Double:
        in_g = np.where(self.space.b > 0, self.space.b - self.columns, 0.0)
        return np.concatenate([in_g, self.residual.ravel()]) / self.space.mass

    @cached_property
    def error(self) -> float:
        """‖γᵀ1 − b‖₁ relative to the mass."""
        return float(np.abs(self.columns - self.space.b).sum() / self.space.b.sum())

    @cached_property
    def mismatch(self) -> float:
        """φ(γR) + φ*(P) − ⟨P, γR⟩ ≥ 0, over the mass: what the gap owes to the moments."""
        # Without the square, which overflows long before.
        return 0.5 * float((self.residual * (self.residual / self.space.curvature)).sum()) / self.space.mass

    @cached_property
    def inverse(self) -> Double:
        """The inverses of Cov(R)/ε + q for every row: of minus the diagonal blocks of the Hessian in P (n×r×r).

        With variances only they are diagonal (n×r). Damping adds so much of the largest variance that a row can have.
        """
        return by_rows(inverse_blocks, self.means, *self._fixed, self.space.every)

    @property
    def inverse_roots(self) -> Double:
        """W with WᵀW the inverse of every block (n×r×r)."""
        return inverse_roots_of(blocks_of(self.means, *self._fixed))

    @property
    def _fixed(self) -> tuple[Any, ...]:
        """What the blocks are made of besides the means."""
        space = self.space
        return space.a, space.seen, space.curvature, self._damped, self.epsilon

    @property
    def _damped(self) -> Double:
        """What damping adds to the diagonal of a block, per unit of mass."""
        return np.asarray(self.damping / self.epsilon * (0.5 * np.ptp(self.space.R, axis=0)) ** 2)

    def precondition(self, direction: Double) -> Double:
        m, b, direction = self.space.b.size, self.space.b, self.space.mass * direction
        in_g = self.epsilon * by_columns(direction[:m], b, self.columns)
        return np.concatenate([in_g, self.solved(direction[m:].reshape(self.P.shape)).ravel()])

    def solved(self, right: Double) -> Double:
        """The inverse blocks times a vector per row."""
        if self.P.shape[1] == 0:
            return right
        return by_rows(times, self.inverse, self.space.seen, right)

    def reach(self, moved: Double, across: Double, in_P: Double) -> float:
        """The largest standard deviation over a row of the plan of what a Newton step (δ, P') adds to its logarithms.

        From γδ and γδ² in `moved` and the centred γ(Rδ) in `across`; that P' solves the equations of its row saves the
        covariances.
        """
        space = self.space
        held = np.where(space.seen, space.curvature + np.multiply.outer(space.a, self._damped), 0.0)
        pulled = self.epsilon * (self.residual - held * in_P)
        mean, square = per_mass(moved[:, :2], space.a).T  # first over a: products of masses may overflow
        variance = square - mean**2 + (per_mass(pulled - across, space.a) * in_P).sum(axis=1)
        return math.sqrt(max(float(variance.max()), 0.0)) / self.epsilon

    @property
    def distance(self) -> float:
        """The larger of column error and moment mismatch, the latter relative to the dual's value."""
        return max(self.error, self.mismatch / max(abs(self.value), self.epsilon))

    def under(self, model: Model, epsilon: float) -> Place:
        """The same (g, P) under another strength."""
        return at(model, self.space, epsilon, self.g, self.P, self.f * self.epsilon / epsilon)

    def plan(self, model: Model) -> Plan:
        """The plan of this point."""
        return model.plan(_log(model, self.epsilon, self.P), self.f, self.g / self.epsilon)


def _log(model: Model, epsilon: float, P: Double) -> Factored:
    cost = model.cost.factored
    assert cost is not None
    return cost.with_coefficients(-1.0 / epsilon, P / -epsilon, cost.Q)


def at(model: Model, space: Space, epsilon: float, g: Double, P: Double, f: Double) -> Place:
    """The dual at (g, P); f only helps the sweep to a safe shift."""
    a, b = space.a, space.b
    level = dot(g, b) / b.sum()
    g = np.where(b > 0, g - level, -np.inf)
    log = _log(model, epsilon, P)
    sums = model.engine.sweep(Request(log, np.where(a > 0, f, -np.inf), g / epsilon, row_mass=a, right=space.products))
    linear, square = P * space.centre, 0.5 * space.curvature * P**2
    value = epsilon * (dot(sums.f, a) - a.sum()) + dot(g, b) - float(linear.sum() + square.sum())
    magnitude = epsilon * dot(np.abs(sums.f), a) + dot(np.abs(g), b) + float(np.abs(linear).sum() + square.sum())
    return Place(space, epsilon, g, P, sums.f, sums.columns, sums.right, value / space.mass, magnitude / space.mass)


def evaluator(model: Model, here: Place) -> Callable[[Double], Place | None]:
    """The dual as a function of x, near a point whose potentials are good shifts."""
    m, shape, f = here.space.b.size, here.P.shape, here.f

    def evaluate(x: Double) -> Place | None:
        nonlocal f
        there = at(model, here.space, here.epsilon, x[:m], x[m:].reshape(shape), f)
        if not (np.isfinite(there.value) and np.isfinite(there.columns).all()):
            return None
        f = there.f
        return there

    return evaluate


def settled(model: Model, here: Place, limit: int) -> tuple[Place, int]:
    """The place where P is the optimum for the g that is here, or as near to it as some sweeps lead; and their number.

    For a given g the dual is a sum over the rows, so that each has a Newton step and a line search of its own.
    """
    space, P, t, spent = here.space, here.P, np.ones(len(here.P)), 0
    there, value, step = here, here.by_row, here.solved(here.residual)
    slope = (step * here.residual).sum(axis=1)
    while spent < limit and (slope > SETTLED * here.epsilon * space.a).any():
        trial = P + t[:, None] * step
        there, spent = at(model, space, here.epsilon, here.g, trial, there.f), spent + 1
        higher = there.by_row >= value + SUFFICIENT * t * slope - DUAL_ROUNDING * np.abs(value)
        following = there.solved(there.residual)
        P, step = (np.where(higher[:, None], new, old) for new, old in ((trial, P), (following, step)))
        value = np.where(higher, there.by_row, value)
        slope = np.where(higher, (following * there.residual).sum(axis=1), slope)
        t = np.where(higher, 1.0, 0.5 * t)
    if P is here.P or (t == 1.0).all():
        return there, spent
    return at(model, space, here.epsilon, here.g, P, there.f), spent + 1


def newton_direction(model: Model, here: Place, damping: float = 0.0) -> tuple[Double, float] | None:
    """The Newton step, from a system of size m for g after the elimination of P, and its reach, if there is one.

    In units of log it is  (diag(γᵀ1) − BᵀB) δ = b − γᵀ1 + Mᵀ A⁻¹ρ/ε,  where M are the centred moments of
    the rows, A the blocks, ρ the residual, and B stacks γ/√a and A^−½ M/√ε. Damping adds so much of diag(γᵀ1), and of
    what the blocks can be at the most.
    """
    if not here.space.every:
        here = at(model, here.space.with_pairs(every=True), here.epsilon, here.g, here.P, here.f)
    here = replace(here, damping=damping)
    space, epsilon, (n, r) = here.space, here.epsilon, here.P.shape
    a, b, R = space.a, space.b, space.R
    plan = here.plan(model)
    active = a > 0
    inverse_a = np.divide(1.0, a, out=np.zeros_like(a), where=active)
    mean = here.means[:, :r] * inverse_a[:, None]
    root = here.inverse_roots / math.sqrt(epsilon) * space.seen[:, None, :]
    # Each entry of B is γ times an affine function of R.
    factors = [np.column_stack([np.sqrt(inverse_a), np.zeros((n, r))])]
    factors += [np.column_stack([-(root[:, k] * mean).sum(axis=1), root[:, k]]) for k in range(r)]
    basis = np.column_stack([np.ones(b.size), R])
    gram = model.engine.gram(plan.log, plan.f, plan.g, factors, basis)
    solved = here.solved(here.residual)
    left = plan.sweep(left=np.column_stack([solved, (solved * mean).sum(axis=1)])).left
    right = np.where(b > 0, b - here.columns + ((left[:, :r] * R).sum(axis=1) - left[:, r]) / epsilon, 0.0)
    scale = np.sqrt(np.where(b > 0, np.maximum(here.columns, STARVED * b), 1.0))
    system = -gram / np.multiply.outer(scale, scale)
    top = np.where(b > 0, scale, 0.0)
    system += np.multiply.outer(top, top) / b.sum()  # the free constant in g
    more = RIDGE
    while True:
        try:
            factor = cho_factor(system + (1.0 + damping + more) * np.eye(b.size), check_finite=False)
            break
        except LinAlgError:
            if more > LAST_RIDGE:  # out of range: with numbers in it the system would be positive definite
                return None
            more = max(10.0 * more, NEXT_RIDGE)
    delta = epsilon * cho_solve(factor, right / scale, check_finite=False) / scale
    # The system tells nothing of columns that are lighter than its rounding errors, and they move nothing else.
    light = (b > 0) & (b < NEGLIGIBLE * b.sum()) & (here.columns > 0)
    delta[light] = epsilon * np.log(b[light] / here.columns[light])
    moved = plan.sweep(right=np.column_stack([delta, delta**2, R * delta[:, None]])).right
    across = moved[:, 2:] - mean * moved[:, :1]
    in_P = here.solved(here.residual + across / epsilon)
    return np.concatenate([delta, in_P.ravel()]), here.reach(moved, across, in_P)


@dataclass(frozen=True)
class SweptSteps:
    """Newton's continuation by sweeps of an engine: the steps of problems of any size."""

    model: Model

    def under(self, place: Place, epsilon: float, before: Place | None) -> Place:
        x, m, f = place.x, place.space.b.size, place.f * place.epsilon / epsilon
        if before is not None:
            x = x + (place.epsilon - epsilon) / (before.epsilon - place.epsilon) * (x - before.x)
        return at(self.model, place.space, epsilon, x[:m], x[m:].reshape(place.P.shape), f)

    def filled(self, place: Place) -> Place | None:
        b = place.space.b
        if not (place.columns < STARVED * b).any():
            return None
        log = _log(self.model, place.epsilon, place.P)
        sums = self.model.engine.log_columns(log, place.f)  # which do not underflow as the columns may
        g = place.epsilon * np.where(b > 0, np.log(np.where(b > 0, b, 1.0)) - sums, 0.0)
        return at(self.model, place.space, place.epsilon, g, place.P, place.f)

    def direction(self, place: Place, damping: float) -> Direction | None:
        found = newton_direction(self.model, place, damping)
        return found and Direction(found[0], float(np.dot(found[0], place.gradient)), found[1])

    def moved(self, place: Place, step: Double, t: float) -> Place | None:
        return evaluator(self.model, place)(place.x + t * step)

    def settled(self, place: Place) -> tuple[Place, int]:
        """A step takes as long as tens of sweeps, so that some of them are well spent on P alone."""
        return settled(self.model, place, SETTLING)
