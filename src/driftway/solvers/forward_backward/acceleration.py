"""Accelerated Bregman forward-backward splitting (Hanzely, Richtárik & Xiao 2021), for convex J.

    y  = (1 − θ) x + θ z
    z⁺ = sinkhorn(sC + s∇J(y) − log z, 1 + sε),   s = α/θ
    x⁺ = (1 − θ) x + θ z⁺

The steps act on z, which is log-linear as a plan of the plain method is. Of the mixtures x and y only J and ∇J
are needed: where J sees the plan through moments, so do we, and nothing of size n×m is formed.

A step is accepted if  D_J(x⁺, y) ≤ θ² KL(z⁺|z)/α.  As ⟨·, C⟩ + εH is strongly convex relative to H, then

    F(x⁺) − F* + A⁺ KL(γ*|z⁺) ≤ (1 − θ)(F(x) − F*) + (θ²/α) KL(γ*|z),        A⁺ = θ²/α + θε,

so with θ²/α = (1 − θ)A the sum on the left contracts by 1 − θ in every step, whatever the step sizes, and θ does
not fall below about √(αε). For quadratic J the test is that of the plain method, and for J of relative smoothness L
it holds at the latest when α ≤ θ/L, by the joint convexity of KL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from driftway.geometry.dense import LogOf
from driftway.problem.model import Model
from driftway.problem.point import Point
from driftway.regularizers.evaluation import checked_value
from driftway.regularizers.moment_regularizer import checked_phi
from driftway.solvers.forward_backward.step import (
    GROW,
    SHRINK,
    Memory,
    bregman,
    forward_backward,
    movement,
    next_offset,
    notch,
    state_of,
    too_short,
)
from driftway.solvers.solver import State

# The share of the test that the next step should use up: rejected steps cost as much as accepted ones.
TARGET = 0.5


@dataclass(frozen=True, eq=False)
class Momentum(Memory):
    """What the accelerated method carries along besides: the mixtures x and y, and the weight A of KL(γ*|z).

    y is the next one, and the tangent of a state is the one there; only a rejected step has to draw them again.
    """

    x: Point
    y: Point
    weight: float


def mixing(alpha: float, weight: float) -> float:
    """The root θ in (0, 1] of  θ²/α = (1 − θ)A;  infinite A, at the start, gives 1 and with it a plain step."""
    return float(2.0 / (1.0 + np.sqrt(1.0 + 4.0 / (alpha * weight))))


def accelerated(model: Model, state: State, accuracy: float, *, adapt: bool) -> State:
    """The next state; with `adapt` the step size follows from what is measured, without it never changes."""
    z, tangent, memory = state.point, state.tangent, state.memory
    assert tangent is not None
    x, y, alpha, inner = memory.x, memory.y, memory.alpha, 0
    theta = mixing(alpha, memory.weight)
    while True:
        point, count = forward_backward(model, z.plan, tangent, alpha / theta, memory.accuracy(accuracy))
        inner += count
        average = mixture(model, x, point, theta)
        divergence = model.divergence(point, z)
        if not adapt or too_short(model, divergence, alpha, memory.alpha):
            following = memory.alpha
            break
        ratio = alpha * bregman(model, average, y, tangent, theta**2 * divergence) / (theta**2 * divergence)
        if ratio <= 1.0:
            following = alpha * notch(max(TARGET / max(ratio, TARGET / GROW), 1.0))
            break
        alpha *= notch(np.clip(TARGET / ratio, SHRINK[1], SHRINK[0]))
        theta = mixing(alpha, memory.weight)
        y = mixture(model, x, z, theta)
        tangent = model.tangent(y)
    step, weight = alpha / theta, theta**2 / alpha + theta * model.epsilon
    offset = next_offset(model, memory.offset, tangent, step)
    y = mixture(model, average, point, mixing(following, weight))
    momentum = Momentum(following, offset, movement(model, divergence), average, y, weight)
    return state_of(model, point, model.tangent(y), momentum, step, inner)


def mixture(model: Model, x: Point, z: Point, theta: float) -> Point:
    """(1 − θ) x + θ z as J sees it: by its moments, or as an array if J has none.

    Its objective is left out, and so is its plan where the moments suffice: there stands that of z.
    """
    if theta == 1.0:
        return z
    if (form := model.moments) is not None:
        right, left = x.right + theta * (z.right - x.right), x.left + theta * (z.left - x.left)
        return replace(z, right=right, left=left, penalty=checked_phi(form, right, left), objective=np.nan)
    gamma = (1.0 - theta) * x.plan.array() + theta * z.plan.array()
    plan = model.plan(LogOf(gamma), np.zeros_like(model.a), np.zeros_like(model.b), gamma)
    return replace(z, plan=plan, penalty=checked_value(model.J, gamma), objective=np.nan)
