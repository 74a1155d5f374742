"""Bregman forward-backward splitting: Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftway.iteration import Start, State, require_entropy
from driftway.matrices import Factored
from driftway.model import Model, Point, Tangent
from driftway.problem import Problem
from driftway.regularizers.regularizer import MomentRegularizer
from driftway.solvers.entropic import scaled_potentials
from driftway.validation import real_number

# Sinkhorn iterations of one backward step at the most; an unfinished one is carried on by the next.
INNER_ITERATIONS = 1_000
# Factors by which an accepted step grows, and a rejected one shrinks at the least and at the most.
GROW, SHRINK = 2.0, (0.5, 0.01)
FINEST = 1e-14  # marginal errors below this are rounding
# A divergence below this share of the mass is rounding, and so is what asks for steps so much shorter.
STILL, SHORTEST = 1e-15, 1e-10


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


@dataclass(frozen=True)
class ForwardBackward:
    """Algorithm 1:  γ ← sinkhorn(αC + α∇J(γ) − log γ, 1 + αε).

    Parameters
    ----------
    step : float or "auto"
        α in units of 1/cost. A number is used as it is in every iteration, as in the paper; it descends if
        α ≤ 1/L for J of relative smoothness L. "auto" needs no such knowledge: a step is accepted when
        D_J(γ⁺, γ) ≤ KL(γ⁺|γ)/α, which implies descent, and shortened otherwise; accepted steps grow.

    """

    step: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if not (isinstance(self.step, str) and self.step == "auto"):
            real_number("step", self.step, minimum=0.0, strict=True)

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        epsilon = model.epsilon
        if start.log is None:
            log, (f, g, scaled) = model.cost / -epsilon, scaled_potentials(model, start)
        else:
            log, f, g, scaled = start.log, start.f / epsilon, start.g / epsilon, 0
        plan, inner = model.project(log, f, g, tol=accuracy, max_iter=INNER_ITERATIONS)
        point = model.evaluate(plan)
        tangent = model.tangent(point)
        memory = Memory(self._first_step(model), _first_offset(model, start), movement=np.inf)
        return _state(model, point, tangent, memory, step=np.nan, inner=scaled + inner)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        epsilon, gamma, tangent = model.epsilon, state.point.plan, state.tangent
        alpha, inner = state.memory.alpha, 0
        accuracy = max(min(accuracy, 0.1 * state.memory.movement), FINEST)
        while True:
            # Forward: −C_k = log γ − αC − α∇J(γ).  Backward: γ⁺ = sinkhorn(C_k, 1 + αε).
            forward = gamma.log - alpha * (model.cost + tangent.gradient)
            backward, count = model.project(
                forward / (1.0 + alpha * epsilon), gamma.f, gamma.g, tol=accuracy, max_iter=INNER_ITERATIONS
            )
            inner += count
            point = model.evaluate(backward)
            divergence = model.divergence(point, state.point)
            if self.step != "auto":
                following = alpha
                break
            if divergence <= STILL * model.problem.mass or alpha < SHORTEST * state.memory.alpha:
                following = state.memory.alpha  # too short a step to judge it by: rounding decides nothing
                break
            ratio = alpha * _bregman(model, point, state.point, tangent) / divergence
            if ratio <= 1.0:
                following = alpha * GROW
                break
            alpha *= np.clip(0.9 / ratio, SHRINK[1], SHRINK[0])
        omega = alpha * epsilon / (1.0 + alpha * epsilon)
        offset = state.memory.offset
        if offset is not None:
            offset = (1.0 - omega) * offset + omega * tangent.offset
        movement = np.sqrt(2.0 * divergence / model.problem.mass)  # Pinsker
        return _state(model, point, model.tangent(point), Memory(following, offset, movement), alpha, inner)

    def _first_step(self, model: Model) -> float:
        if self.step != "auto":
            return float(self.step)
        smoothness = model.J.smoothness
        if smoothness is None or smoothness <= 0:
            return 1.0 / model.epsilon
        return 1.0 / smoothness


def _bregman(model: Model, new: Point, old: Point, tangent: Tangent) -> float:
    """D_J(γ⁺, γ) = J(γ⁺) − J(γ) − ⟨∇J(γ), γ⁺ − γ⟩, less what may be rounding error."""
    difference = new.penalty - old.penalty - (model.pair(tangent.gradient, new) - tangent.slope)
    return difference - 1e-14 * (abs(new.penalty) + abs(old.penalty) + tangent.magnitude)


def _first_offset(model: Model, start: Start) -> float | None:
    """The offset of the first tangent below J: of slope zero, or of the slope that a given factored plan has."""
    J, log = model.J, start.log
    if not J.convex:
        return None
    if log is None:
        return None if J.minimum is None else -J.minimum
    if isinstance(log, Factored) and isinstance(J, MomentRegularizer) and np.isclose(log.scale, -1.0 / model.epsilon):
        offset = J.phi_conjugate(-model.epsilon * log.P, -model.epsilon * log.Q)
        return offset if offset is not None and np.isfinite(offset) else None
    return None


def _state(model: Model, point: Point, tangent: Tangent, memory: Memory, step: float, inner: int) -> State:
    plan = point.plan
    bound = None if memory.offset is None else model.dual_value(plan) - memory.offset
    return State(point, tangent, bound, (model.epsilon * plan.f, model.epsilon * plan.g), step, inner, memory)
