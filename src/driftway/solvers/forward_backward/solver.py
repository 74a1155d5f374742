"""Bregman forward-backward splitting: Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from driftway.arrays.validation import flag, real_number
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.forward_backward.acceleration import Momentum, accelerated
from driftway.solvers.forward_backward.step import (
    GROW,
    SHRINK,
    Memory,
    bregman,
    first_offset,
    first_step,
    forward_backward,
    movement,
    next_offset,
    notch,
    state_of,
    too_short,
)
from driftway.solvers.sinkhorn import scaled_potentials
from driftway.solvers.solver import INNER_ITERATIONS, Solver, Start, State, require_entropy


@dataclass(frozen=True)
class ForwardBackward(Solver):
    """Bregman forward-backward splitting: Algorithm 1 of the paper, for any smooth J.

        γ ← sinkhorn(αC + α∇J(γ) − log γ, 1 + αε)

    The forward step linearises J, the backward step is Sinkhorn's algorithm. Factored regularisers
    (`driftway.regularizers.MomentRegularizer`) are solved without the n×m matrix. It needs ε > 0.

    Parameters
    ----------
    step : float or "auto"
        α in units of 1/cost. A number is used as it is in every iteration, as in the paper; it descends if
        α ≤ 1/L for J of relative smoothness L. "auto" needs no such knowledge: a step is accepted when
        D_J(γ⁺, γ) ≤ KL(γ⁺|γ)/α, which implies descent, and shortened otherwise; accepted steps grow.
    accelerate : bool
        Whether to linearise J at mixtures of past plans instead of the last one, which takes in the order of
        √(L/ε) iterations instead of L/ε, each as expensive as before. J must be convex. The objective need not
        fall in every iteration.
    inner_tol : float, optional
        Marginal error, relative to the mass, to which every backward step is solved at least, from the first one on.
        Without it backward steps are solved roughly at first and more closely as the gap falls, which is faster.
        `ForwardBackward(step=alpha, inner_tol=1e-12)` is Algorithm 1 to the letter: its plans are those of exact
        backward steps. γ₀ is then the entropic plan, or the array given as `init`, which should have the marginals.

    Examples
    --------
    Steps up to 1/L lower the objective, as far as the accuracy of the backward step allows:

    >>> import numpy as np
    >>> from driftway import ForwardBackward, GroupLasso, PointCloudCost, Problem, solve
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 20, 2))
    >>> lasso = GroupLasso(np.repeat([0, 1], 10), weight=0.5)
    >>> problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=lasso)
    >>> solution = solve(problem, ForwardBackward(step=1.0 / lasso.smoothness))
    >>> solution.converged, bool((np.diff(solution.trace.objective[:10]) < 0.0).all())
    (True, True)

    """

    step: float | Literal["auto"] = "auto"
    accelerate: bool = False
    inner_tol: float | None = None

    steps_in_inverse_cost = True
    expense = ", slow where J is much stronger than the entropy"

    def __post_init__(self) -> None:
        if not self._adapts:
            real_number("step", self.step, minimum=0.0, strict=True)
        flag("accelerate", self.accelerate)
        if self.inner_tol is not None:
            real_number("inner_tol", self.inner_tol, minimum=0.0, strict=True)

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)
        if self.accelerate and not problem.regularizer.convex:
            raise ValueError(
                f"accelerate=True needs a convex regularizer, got {problem.regularizer!r}, which does not declare "
                "itself convex; use accelerate=False"
            )

    def in_units(self, cost: float) -> Self:
        return self if self._adapts else replace(self, step=float(self.step) * cost)

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        epsilon, accuracy = model.epsilon, self._inner(accuracy)
        if start.log is None:
            log, (f, g, scaled) = model.cost / -epsilon, scaled_potentials(model, start)
        else:
            log, f, g, scaled = start.log, start.f / epsilon, start.g / epsilon, 0
        plan, inner = model.project(log, f, g, tol=accuracy, max_iter=INNER_ITERATIONS)
        point = model.evaluate(plan)
        alpha, offset = first_step(model) if self._adapts else float(self.step), first_offset(model, start)
        if self.accelerate:
            memory: Memory = Momentum(alpha, offset, np.inf, x=point, y=point, weight=np.inf)
        else:
            memory = Memory(alpha, offset, np.inf)
        return state_of(model, point, model.tangent(point), memory, step=np.nan, inner=scaled + inner)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        accuracy = self._inner(accuracy)
        if self.accelerate:
            return accelerated(model, state, accuracy, adapt=self._adapts)
        gamma, tangent, memory = state.point, state.tangent, state.memory
        assert tangent is not None
        alpha, inner = memory.alpha, 0
        while True:
            point, count = forward_backward(model, gamma.plan, tangent, alpha, memory.accuracy(accuracy))
            inner += count
            divergence = model.divergence(point, gamma)
            if not self._adapts or too_short(model, divergence, alpha, memory.alpha):
                following = memory.alpha
                break
            ratio = alpha * bregman(model, point, gamma, tangent, divergence) / divergence
            if ratio <= 1.0:
                following = alpha * GROW
                break
            alpha *= notch(np.clip(0.9 / ratio, SHRINK[1], SHRINK[0]))
        offset = next_offset(model, memory.offset, tangent, alpha)
        memory = Memory(following, offset, movement(model, divergence))
        return state_of(model, point, model.tangent(point), memory, alpha, inner)

    def _inner(self, accuracy: float) -> float:
        """The accuracy of inner problems that is wanted, given what the loop asks for."""
        return accuracy if self.inner_tol is None else min(accuracy, self.inner_tol)

    @property
    def _adapts(self) -> bool:
        return isinstance(self.step, str) and self.step == "auto"
