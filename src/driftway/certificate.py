"""How far from optimal a plan can be at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.iteration import State
from driftway.model import Model

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Certificate:
    """A feasible plan's objective, what bounds the optimum from below, and their relative distance."""

    value: float
    lower_bound: float
    gap: float
    potentials: tuple[Double, Double]


def certify(model: Model, state: State, best_bound: float, tol: float) -> Certificate:
    """The certificate of a state.

    The value is taken at the plan rounded onto the marginals, where it is an upper bound of the optimum. The
    lower bound is the solver's own if it has one that suffices, else the dual value of the problem linearised
    at the plan. Without convexity that value bounds nothing, but its distance from the objective still
    vanishes exactly at stationary points.
    """
    value = model.evaluate(state.point.plan.round()).objective
    bound, potentials = -np.inf if state.bound is None else max(state.bound, best_bound), state.potentials
    if relative_gap(model, value, bound) > tol and model.epsilon > 0:
        linearized, polished = linearized_bound(model, state)
        if linearized > bound:
            bound, potentials = linearized, polished
    if not model.J.convex:
        return Certificate(value, -np.inf, relative_gap(model, value, bound), potentials)
    bound = max(bound, best_bound)
    return Certificate(value, bound, relative_gap(model, value, bound), potentials)


def linearized_bound(model: Model, state: State) -> tuple[float, tuple[Double, Double]]:
    """min over couplings of ⟨γ', C + G⟩ + ε H(γ') − offset, from below by its dual, and the potentials used.

    Its potentials are those at hand, improved by no more Sinkhorn iterations than the last step took: that
    makes the bound tighter, but it is valid without.
    """
    epsilon, (f, g) = model.epsilon, state.potentials
    log = (model.cost + state.tangent.gradient) / -epsilon
    plan, _ = model.project(log, f / epsilon, g / epsilon, tol=state.point.error, max_iter=max(state.inner, 5))
    return model.dual_value(plan) - state.tangent.offset, (epsilon * plan.f, epsilon * plan.g)


def relative_gap(model: Model, value: float, bound: float) -> float:
    """(value − bound) / max(|value|, ε·mass): an objective may cross zero, the entropy's unit does not."""
    difference = value - bound
    if difference <= 0:
        return 0.0
    scale = max(abs(value), model.epsilon * model.problem.mass)
    return difference / scale if scale > 0 else np.inf
