"""Certificates: how far from optimal a plan can be at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import DOUBLE
from driftway.problem.model import Model
from driftway.problem.point import Tangent
from driftway.solvers.solver import State

Double = npt.NDArray[np.float64]

# Rounding errors of a bound, in units of the machine's precision times the magnitudes that were added up.
ROUNDING = 64 * DOUBLE
# And those of the entries of a plan, which are relative to its log-potentials. They have both signs: a sum of them has
# this share of them at the most, which is five times what was seen with J up to 1e7 times as strong as the entropy.
ENTRIES = 0.01


@dataclass(frozen=True, eq=False)
class Certificate:
    """A feasible plan's objective, what bounds the optimum from below, and their relative distance.

    `contradiction` says that a bound came out above a value by more than rounding explains: J is not what its
    gradient or its convexity promised, and nothing is certified.
    """

    value: float
    lower_bound: float
    gap: float
    potentials: tuple[Double, Double]
    contradiction: bool = False


def certify(model: Model, state: State, best_bound: float, tol: float) -> Certificate:
    """The certificate of a state.

    The value is taken at the plan rounded onto the marginals, where it is an upper bound of the optimum. The
    lower bound is the solver's own if it has one that suffices, else the dual value of the problem linearised
    at the plan; either is lowered by what rounding may have added. Without convexity that value bounds nothing,
    but its distance from the objective still vanishes exactly at stationary points.
    """
    value = model.rounded(state.point, 0.01 * tol * max(abs(state.point.objective), model.epsilon * model.problem.mass))
    bound, potentials = -np.inf, state.potentials
    if state.bound is not None:
        bound = max(state.bound - _noise(model, state, potentials, value), best_bound)
    if relative_gap(model, value, bound) > tol and model.epsilon > 0 and state.tangent is not None:
        linearized, polished = linearized_bound(model, state, state.tangent)
        linearized -= _noise(model, state, polished, value)
        if linearized > bound:
            bound, potentials = linearized, polished
    if not model.J.convex:  # the bound may lie on either side of the value
        distance = relative_gap(model, value, value - abs(value - bound))
        return Certificate(value, -np.inf, distance, potentials)
    noise = _noise(model, state, potentials, value)
    if bound > value + noise or not (model.J.proven or _below(model, state, noise)):
        return Certificate(value, -np.inf, np.inf, potentials, contradiction=True)
    bound = min(max(bound, best_bound), value)
    return Certificate(value, bound, relative_gap(model, value, bound), potentials)


def linearized_bound(model: Model, state: State, tangent: Tangent) -> tuple[float, tuple[Double, Double]]:
    """min over couplings of ⟨γ', C + G⟩ + ε H(γ') − offset, from below by its dual, and the potentials used.

    Its potentials are those at hand, improved by no more Sinkhorn iterations than the last step took: that
    makes the bound tighter, but it is valid without.
    """
    epsilon, (f, g) = model.epsilon, state.potentials
    log = (model.cost + tangent.gradient) / -epsilon
    plan, _ = model.project(log, f / epsilon, g / epsilon, tol=state.point.error, max_iter=max(state.inner, 5))
    return model.dual_value(plan) - tangent.offset, (epsilon * plan.f, epsilon * plan.g)


def relative_gap(model: Model, value: float, bound: float) -> float:
    """(value − bound) / unit, where the unit is |value| unless that is nearly zero by cancellation.

    Then it is ε·mass, the entropy's own unit, or without entropy a thousandth of the cost's range.
    """
    unit = model.epsilon if model.epsilon > 0 else 1e-3 * model.spread
    scale = max(abs(value + model.problem.offset), unit * model.problem.mass)
    if scale == 0.0:
        return 0.0 if value <= bound else np.inf
    return float(max(value - bound, 0.0) / scale)


def _below(model: Model, state: State, noise: float) -> bool:
    """Whether the tangent of a J declared convex is below J at least at the independent coupling."""
    there, tangent = model.independent, state.tangent or model.tangent(state.point)
    noise += ROUNDING * (abs(there.penalty) + model.magnitude(tangent.gradient, there))
    return model.pair(tangent.gradient, there) - tangent.offset <= there.penalty + noise


def _noise(model: Model, state: State, potentials: tuple[Double, Double], value: float) -> float:
    """A bound on the rounding error of a lower bound made of these potentials."""
    f, g = (np.where(np.isfinite(potential), np.abs(potential), 0.0) for potential in potentials)
    tangent = state.tangent
    more = state.magnitude if tangent is None else abs(tangent.offset) + tangent.magnitude
    precision = max(ROUNDING, 0.5 * model.engine.precision, ENTRIES * state.point.plan.rounding)
    return precision * float(np.dot(f, model.a) + np.dot(g, model.b) + abs(value) + more)
