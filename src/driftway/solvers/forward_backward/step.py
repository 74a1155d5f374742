"""One step of Bregman forward-backward splitting, and what it carries along: shared by plain and accelerated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftway.engines.engine import FEW_ROUNDINGS
from driftway.plan.lbfgs import ROUNDING
from driftway.plan.plan import Plan
from driftway.problem.model import Model
from driftway.problem.point import Point, Tangent
from driftway.solvers.solver import INNER_ITERATIONS, Start, State

# Factors by which an accepted step grows, and a rejected one shrinks at the least and at the most; and how many of the
# factors in use lie between two powers of two.
GROW, SHRINK, NOTCHES = 2.0, (0.5, 0.01), 4
# Below this share of its terms a sum has lost all but four digits to rounding.
LOST_DIGITS = 1e-10
SECOND_ORDER = 1e-8  # plans of a smaller divergence, relative to the mass, are taken to see J to second order
# What asks for steps so much shorter than the first is rounding.
SHORTEST_STEP = 1e-10


@dataclass(frozen=True)
class Memory:
    """What forward-backward carries along.

    The plan is  exp((f ⊕ g − C − Ḡ)/ε)  where Ḡ is an average of past gradients. Since each past gradient is
    the slope of a tangent of J, ⟨Ḡ, ·⟩ − offset with the same average of their offsets is below J if J is
    convex, and the plan's own potentials give a lower bound on the optimum, for nothing. `offset` is `None`
    where that does not hold: J not convex, or a start from a plan of another form.

    `alpha` is the next step size; `movement` bounds how far the plan moved in the last step, in L1 and relative
    to the mass. Backward steps are solved to a tenth of it, or their error would drown the progress.
    """

    alpha: float
    offset: float | None
    movement: float

    def accuracy(self, wanted: float) -> float:
        """The marginal error to which the next backward step is solved."""
        return max(min(wanted, 0.1 * self.movement), ROUNDING)


def forward_backward(model: Model, gamma: Plan, tangent: Tangent, alpha: float, accuracy: float) -> tuple[Point, int]:
    """γ⁺ = sinkhorn(αC + αG − log γ, 1 + αε)  for the slope G of a tangent, and the inner iterations it took."""
    forward = gamma.log - alpha * (model.cost + tangent.gradient)  # −C_k
    backward, inner = model.project(
        forward / (1.0 + alpha * model.epsilon), gamma.f, gamma.g, tol=accuracy, max_iter=INNER_ITERATIONS
    )
    return model.evaluate(backward), inner


def bregman(model: Model, new: Point, old: Point, tangent: Tangent, divergence: float) -> float:
    """D_J(γ⁺, γ) = J(γ⁺) − J(γ) − ⟨∇J(γ), γ⁺ − γ⟩, less what may be rounding error.

    For plans of so small a divergence that it would be mostly that, J is its expansion to second order, and D_J is half
    of ⟨∇J(γ⁺) − ∇J(γ), γ⁺ − γ⟩, in which nothing cancels.
    """
    difference = new.penalty - old.penalty - (model.pair(tangent.gradient, new) - tangent.slope)
    terms = abs(new.penalty) + abs(old.penalty) + tangent.magnitude
    if difference > LOST_DIGITS * terms or divergence > SECOND_ORDER * model.problem.mass:
        return difference - ROUNDING * terms
    return 0.5 * model.product(model.tangent(new).gradient - tangent.gradient, new, old)


def notch(factor: float) -> float:
    """The next smaller factor in use: steps that depend on rounding only by chance are the same on every engine."""
    return float(2.0 ** (np.floor(NOTCHES * np.log2(factor)) / NOTCHES))


def too_short(model: Model, divergence: float, alpha: float, first: float) -> bool:
    """Whether a step is too short to judge it by: rounding decides nothing."""
    return divergence <= FEW_ROUNDINGS * model.problem.mass or alpha < SHORTEST_STEP * first


def movement(model: Model, divergence: float) -> float:
    """A bound on ‖γ⁺ − γ‖₁, relative to the mass, by Pinsker's inequality."""
    return float(np.sqrt(2.0 * divergence / model.problem.mass))


def first_step(model: Model) -> float:
    """1/L, or 1/ε if J does not know its relative smoothness L."""
    smoothness = model.J.smoothness
    return 1.0 / (smoothness if smoothness is not None and smoothness > 0 else model.epsilon)


def first_offset(model: Model, start: Start) -> float | None:
    """The offset of the first tangent below J: of slope zero, or of the slope that a given factored plan has."""
    J, form = model.J, model.J.moment_form
    if not J.convex:
        return None
    if start.log is None:
        return None if J.minimum is None else -J.minimum
    if form is not None and (log := start.log.factored) is not None and log.scale == -1.0 / model.epsilon:
        offset = form.phi_conjugate(-model.epsilon * log.P, -model.epsilon * log.Q)
        return offset if offset is not None and np.isfinite(offset) else None
    return None


def next_offset(model: Model, offset: float | None, tangent: Tangent, alpha: float) -> float | None:
    """The offset averaged as the step of size α averages the slopes:  Ḡ⁺ = (1 − ω)Ḡ + ω G,  ω = αε/(1 + αε)."""
    if offset is None:
        return None
    omega = alpha * model.epsilon / (1.0 + alpha * model.epsilon)
    return (1.0 - omega) * offset + omega * tangent.offset


def state_of(model: Model, point: Point, tangent: Tangent, memory: Memory, step: float, inner: int) -> State:
    """The state at a plan, with the lower bound that its own potentials give."""
    plan = point.plan
    bound = None if memory.offset is None else model.dual_value(plan) - memory.offset
    return State(point, tangent, bound, (model.epsilon * plan.f, model.epsilon * plan.g), step, inner, memory)
