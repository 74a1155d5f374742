"""Quasi-Newton ascent on a concave function (L-BFGS), with a preconditioner that may change at every point."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]

MEMORY = 20  # steps that the Hessian is learned from
SUFFICIENT = 1e-4  # the share of the promised rise that a step must keep
# The shortest share of a step that is tried, and how steeply the gradient may point back where the rise is lost.
SHORTEST, OVERSHOOT = 1e-8, 0.8
FLAT_STEPS = 40  # steps without a flatter gradient that are taken for the end
ROUNDING = 1e-14  # of a value, relative to its `magnitude`


class Place(Protocol):
    """A point and the function there."""

    @property
    def x(self) -> Double: ...

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> Double: ...

    @property
    def magnitude(self) -> float:
        """The absolute values that the value is the sum of, to which its rounding error is relative."""

    def precondition(self, direction: Double) -> Double:
        """An approximation of the inverse of minus the Hessian, times a vector."""


P = TypeVar("P", bound=Place)


class Ascent:
    """L-BFGS: the last steps and the changes of the gradient along them."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Double, Double, float]] = deque(maxlen=MEMORY)

    def forget(self) -> None:
        """Forgets all steps."""
        self._pairs.clear()

    def run(
        self, here: P, evaluate: Callable[[Double], P | None], done: Callable[[P], bool], limit: int
    ) -> tuple[P, int, bool]:
        """The point reached from another, the evaluations spent, and whether it went as far as rounding allows.

        `evaluate` returns `None` where the function is out of range; `done` ends the ascent.
        """
        spent, steepness, idle = 0, np.inf, 0
        while spent < limit and not done(here):
            direction = self._direction(here)
            # Where rounding decides, the slope goes up and down without end.
            now = float(np.dot(direction, here.gradient))
            idle, steepness = (0, now) if now < 0.9 * steepness else (idle + 1, steepness)
            if idle > FLAT_STEPS and now < ROUNDING * here.magnitude:
                return here, spent, True
            there, count = search(here, direction, evaluate)
            spent += count
            if there is None:
                if not self._pairs:
                    return here, spent, True
                self.forget()
                continue
            self._learn(there.x - here.x, here.gradient - there.gradient)
            here = there
        return here, spent, False

    def _direction(self, here: Place) -> Double:
        """The ascent direction, by the two-loop recursion of L-BFGS."""
        q, weights = here.gradient.copy(), []
        for step, change, curvature in reversed(self._pairs):
            weight = np.dot(step, q) / curvature
            q -= weight * change
            weights.append(weight)
        direction = here.precondition(q)
        if self._pairs:
            _, change, curvature = self._pairs[-1]
            direction *= curvature / np.dot(change, here.precondition(change))
        for (step, change, curvature), weight in zip(self._pairs, reversed(weights), strict=True):
            direction += (weight - np.dot(change, direction) / curvature) * step
        if np.dot(direction, here.gradient) > 0 and np.isfinite(direction).all():
            return direction
        self.forget()
        return here.precondition(here.gradient)

    def _learn(self, step: Double, change: Double) -> None:
        curvature = float(np.dot(step, change))
        if curvature > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))


def search(
    here: P, direction: Double, evaluate: Callable[[Double], P | None], shortest: float = SHORTEST
) -> tuple[P | None, int]:
    """The first point along a direction that is high enough, halving the step; `None` if there is none."""
    slope, t, count = float(np.dot(direction, here.gradient)), 1.0, 0
    while t > shortest:
        there, count = evaluate(here.x + t * direction), count + 1
        if there is not None:
            if t * slope < ROUNDING * here.magnitude:
                # The rise is lost in rounding, the gradient is not: it must not point back too steeply.
                if float(np.dot(direction, there.gradient)) >= -OVERSHOOT * slope:
                    return there, count
            elif there.value >= here.value + SUFFICIENT * t * slope:
                return there, count
        t *= 0.5
    return None, count


def remaining(before: float, now: float, target: float, count: int) -> float:
    """How many more steps bring an error to its target, at the rate of the last `count`."""
    if not 0 < now < before or target <= 0:
        return math.inf
    return count * math.log(max(now / target, 1.0)) / math.log(before / now)
