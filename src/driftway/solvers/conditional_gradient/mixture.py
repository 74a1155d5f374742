"""Mixtures of plans, and the line search between two of them: what both conditional gradients share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from driftway.engines.engine import Sweep, entropy_of
from driftway.geometry.dense import LogOf
from driftway.problem.model import Model
from driftway.problem.point import Point
from driftway.solvers.solver import Start

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A plan held as an array, with what is linear in it: ⟨γ, C⟩ and, where J sees only those, the moments."""

    gamma: Double
    transport: float
    right: Double
    left: Double

    @classmethod
    def of(cls, model: Model, cost: Double, gamma: Double) -> Self:
        transport = model.engine.total(lambda c, g: float(np.vdot(c, g)), cost, gamma)
        if (form := model.J.moment_form) is None:
            return cls(gamma, transport, np.empty((gamma.shape[0], 0)), np.empty((gamma.shape[1], 0)))
        return cls(gamma, transport, gamma @ form.right_basis, gamma.T @ form.left_basis)

    def towards(self, other: Mixture, t: float) -> Mixture:
        """(1 − t) γ + t γ'."""
        return Mixture(
            np.maximum(self.gamma + t * (other.gamma - self.gamma), 0.0),
            (1.0 - t) * self.transport + t * other.transport,
            (1.0 - t) * self.right + t * other.right,
            (1.0 - t) * self.left + t * other.left,
        )

    def point(self, model: Model) -> Point:
        """The objective at the mixture."""
        gamma, form = self.gamma, model.J.moment_form
        n, m = gamma.shape
        rows, columns = gamma @ np.ones(m), np.ones(n) @ gamma
        penalty = model.J.value(gamma) if form is None else form.phi(self.right, self.left)
        entropy = model.engine.total(entropy_of, gamma) if model.epsilon else 0.0
        plan = model.plan(LogOf(gamma), np.zeros(n), np.zeros(m), gamma)
        sums = Sweep(plan.f, rows, columns, self.right, self.left)
        return model.point_of(plan, sums, self.transport, entropy, penalty)


def line_search(model: Model, old: Mixture, target: Mixture) -> float:
    """The minimiser t ∈ [0, 1] of the objective at (1 − t) γ + t γ', where its slope is zero.

    The slope of the entropy needs n·m logarithms each time, which is what makes these methods expensive.
    """
    gamma, direction = old.gamma, target.gamma - old.gamma
    linear = target.transport - old.transport

    def slope(t: float) -> float:
        entropy = model.engine.total(lambda g, d: _entropy_slope(g, d, t), gamma, direction) if model.epsilon else 0.0
        total = linear + model.epsilon * entropy + _penalty_slope(model, old, target, direction, t)
        return float(np.clip(total, -1e300, 1e300))

    if slope(1.0) <= 0:
        return 1.0
    if slope(0.0) >= 0:
        return 0.0
    return float(brentq(slope, 0.0, 1.0, xtol=1e-12, rtol=1e-4))


def given_plan(model: Model, start: Start) -> Double | None:
    """The plan a user gave to start from, on the exact marginals, if there is one."""
    if start.plan is not None:
        return start.plan.on(model.a, model.b).round().array()
    if start.log is None or start.log.held is None:
        return None
    f, g = (np.where(mass > 0, 0.0, -np.inf) for mass in (model.a, model.b))
    return model.plan(start.log, f, g).round().array()


def _entropy_slope(gamma: Double, direction: Double, t: float) -> float:
    """d/dt H(γ + t d) = Σ d log(γ + t d); infinite where the segment ends at zero."""
    mixed = gamma + t * direction
    np.log(mixed, out=mixed)
    mixed *= direction
    mixed[direction == 0] = 0.0
    return float(mixed.sum())


def _penalty_slope(model: Model, old: Mixture, target: Mixture, direction: Double, t: float) -> float:
    """d/dt J(γ + t d), by moments where J has them."""
    if (form := model.J.moment_form) is None:
        return float(np.vdot(model.J.gradient(old.gamma + t * direction), direction))
    right, left = target.right - old.right, target.left - old.left
    slope_right, slope_left = form.phi_gradient(old.right + t * right, old.left + t * left)
    return float(np.vdot(slope_right, right) + np.vdot(slope_left, left))
