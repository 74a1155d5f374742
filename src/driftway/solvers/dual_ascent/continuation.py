"""Newton's continuation: a path of strengths that ends at the one asked for, followed near the optimum.

This file decides; `Steps` computes. The decisions and their constants are the same whether steps are computed by sweeps
of an engine (`dual.SweptSteps`) or by compiled code on arrays (`small.CompiledSteps`).

A stride begins where the last two strengths lead to. How far the first Newton step goes from there tells how good that
was: as the rows of a plan are exponentials, what counts is the largest standard deviation of what it adds to the
logarithms of a row, its `reach`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from driftway.plan.lbfgs import ROUNDING, SUFFICIENT
from driftway.solvers.solver import STAGE_LIMIT

# Levenberg–Marquardt: the damping after a step that had to be halved twice, the most, the factor from one to the next.
DAMPING, MOST_DAMPING, DAMPING_FACTOR = 1e-4, 1e3, 10.0
# The line search gives up below this share of a Newton step: a damped one is better then.
SHORTEST_STEP = 0.05
# A strength is passed after a whole step of at most this reach, where a quadratic model is good to a few per cent, with
# so little damping that it is Newton's.
NEAR_REACH = 0.4
# The first stride and the shortest, in log ε, and the reach that the first step after one is meant to have.
FIRST_STRIDE, SHORTEST_STRIDE, AIMED_REACH = math.log(2.0), 0.2, 0.3
# A stride was too long if the first step has more reach than this, or if so many evaluations do not suffice.
LONGEST_REACH, STRIDE_EVALUATIONS = 2.0, 8
# A column with less than this share of its mass is filled by an update of Sinkhorn's: a Newton step would be too long.
STARVED = 0.1
# What is added to a unit diagonal before a system is factored; what is tried next, ten times as much
# each time, if rounding has made it indefinite; and what only a system out of range needs.
RIDGE, NEXT_RIDGE, LAST_RIDGE = 1e-12, 1e-10, 1.0


def ahead(strength: float, last: float, stride: float) -> tuple[float, float]:
    """The next strength on the way to the last, by equal strides no longer than this one; and their length."""
    distance = math.log(strength / last)
    count = math.ceil(distance / stride - 1e-9)
    return (last, distance) if count <= 1 else (strength * math.exp(-distance / count), distance / count)


def longer(stride: float, reach: float) -> float:
    """The stride after one at whose end the first step had this reach, which grows with its square."""
    return max(SHORTEST_STRIDE, stride * min(max(math.sqrt(AIMED_REACH / max(reach, 1e-9)), 0.5), 2.0))


def shorter(stride: float) -> float:
    """A shorter stride, in the place of one that was too long."""
    return max(SHORTEST_STRIDE, 0.5 * stride)


def damped(damping: float, tries: int) -> float:
    """The damping of the next step, by how many lengths of the last were tried: the model promised too much."""
    if tries == 1:
        return damping / DAMPING_FACTOR
    return damping if tries == 2 else max(DAMPING_FACTOR * damping, DAMPING)


class Place(Protocol):
    """A point of the dual at one strength, with its value and gradient."""

    @property
    def epsilon(self) -> float: ...

    @property
    def value(self) -> float: ...

    @property
    def magnitude(self) -> float:
        """The absolute values that the value is the sum of, to which its rounding error is relative."""

    @property
    def distance(self) -> float:
        """The larger of column error and moment mismatch, the latter relative to the value."""


P = TypeVar("P", bound=Place)


class Direction(NamedTuple):
    """A Newton step, the rise per length that it begins with, and its reach."""

    step: Any
    slope: float
    reach: float


class Steps(Protocol[P]):
    """How points of the dual and Newton steps are computed."""

    def under(self, place: P, epsilon: float, before: P | None) -> P:
        """Where the path leads to at another strength, from this place and the one before it."""

    def filled(self, place: P) -> P | None:
        """The place after an update of Sinkhorn's, which always ascends; `None` if no column is starved."""

    def direction(self, place: P, damping: float) -> Direction | None:
        """The Newton step, or `None` if its system is out of range."""

    def moved(self, place: P, step: Any, t: float) -> P | None:
        """The place after a share of a step, or `None` if it is out of range."""

    def settled(self, place: P) -> tuple[P, int]:
        """The place with better moments, if there is a cheaper way to them than a step; and the evaluations it took."""


@dataclass
class Continuation(Generic[P]):
    """The path: where it is, where it goes, and the last two strengths that were solved.

    Attributes
    ----------
    near : whether this strength was followed by a whole step of little reach, so that the next one can be begun
    failed : whether Newton's method has to give up here
    stuck : whether the strength asked for is solved as far as rounding allows
    spent : the evaluations at this strength
    reach : that of the first step at this strength

    """

    here: P
    goal: float
    reached: P | None = None
    before: P | None = None
    stride: float = field(default_factory=lambda: FIRST_STRIDE)
    near: bool = False
    failed: bool = False
    stuck: bool = False
    spent: int = 1
    damping: float = 0.0
    reach: float = math.nan
    earlier: float = math.inf
    just_filled: bool = False

    @property
    def last(self) -> bool:
        """Whether this is the strength asked for."""
        return self.here.epsilon <= self.goal

    def run(self, steps: Steps[P], accuracy: float, limit: float) -> int:
        """Goes on until the last strength is solved to `accuracy`, or for so many evaluations; those it took."""
        total = 0
        while total < limit and not (self.failed or self.stuck or self._solved(accuracy)):
            total += self._follow(steps)
        return total

    def begin(self) -> None:
        """Resets the state of a strength, before its first step."""
        self.near, self.failed, self.spent, self.just_filled = False, False, 1, False
        self.damping, self.reach, self.earlier = 0.0, math.nan, math.inf

    def _solved(self, accuracy: float) -> bool:
        # Where rows have a single column good marginals may be far from the optimum: a path has to be near it.
        return self.last and self.here.distance <= accuracy and (self.near or self.reached is None)

    @property
    def _can_return(self) -> bool:
        return not self.near and self.reached is not None and self.stride > SHORTEST_STRIDE

    def _follow(self, steps: Steps[P]) -> int:
        """The next strength if this is passed, a nearer one if it was too far, or a step; the evaluations spent."""
        if self.near and not self.last:
            return self._pass(steps)
        if self.spent >= (STRIDE_EVALUATIONS if self._can_return else STAGE_LIMIT):
            return self._give_up(steps) if self.last or self._can_return else self._pass(steps)
        if not self.just_filled and (there := steps.filled(self.here)) is not None:
            self.here, self.spent, self.just_filled = there, self.spent + 1, True
            return 1
        found = steps.direction(self.here, self.damping)
        self.just_filled = False
        # A slope that is negative beyond rounding, or no number, is that of no Newton step.
        if found is None or not found.slope > -ROUNDING * self.here.magnitude:
            return self._give_up(steps)
        if math.isnan(self.reach):
            self.reach = found.reach
            if self.reach > LONGEST_REACH and self._can_return:
                return self._give_up(steps)
        return self._step(steps, found)

    def _step(self, steps: Steps[P], found: Direction) -> int:
        """A line search along a Newton step; the evaluations spent. Where nothing is higher, the next is damped."""
        here, damping, t, tries = self.here, self.damping, 1.0, 0
        there: P | None = None
        while t > SHORTEST_STEP and there is None:
            there, tries = steps.moved(here, found.step, t), tries + 1
            lost = t * found.slope < ROUNDING * here.magnitude
            if lost and here.distance > 0.5 * self.earlier:  # as far as rounding allows
                self.near, self.stuck = True, self.last
                return tries
            if there is not None and not lost and there.value < here.value + SUFFICIENT * t * found.slope:
                there = None
            t *= 0.5
        self.spent, self.damping = self.spent + tries, damped(damping, tries)
        if there is None:
            return tries + (self._give_up(steps) if self.damping > MOST_DAMPING else 0)
        self.here, self.earlier = there, here.distance
        if not self.near and tries == 1 and found.reach <= NEAR_REACH and damping <= DAMPING / DAMPING_FACTOR:
            self.near, self.damping, self.earlier = True, 0.0, math.inf
        self.here, more = steps.settled(there)
        return tries + more

    def _pass(self, steps: Steps[P]) -> int:
        """Accepts this strength as solved, and moves on to the next."""
        if self.reached is not None:
            self.stride = longer(self.stride, self.reach)
        self.reached, self.before = self.here, self.reached
        return self._leap(steps, self.reached)

    def _give_up(self, steps: Steps[P]) -> int:
        """Returns to the last solved strength with a shorter stride; fails if there is none."""
        if self._can_return and self.reached is not None:
            self.stride = shorter(self.stride)
            return self._leap(steps, self.reached)
        self.failed = True
        return 0

    def _leap(self, steps: Steps[P], reached: P) -> int:
        """Goes from the last strength that was solved to where the path leads to at the next."""
        epsilon, self.stride = ahead(reached.epsilon, self.goal, self.stride)
        self.begin()
        self.here, more = steps.settled(steps.under(reached, epsilon, self.before))
        return 1 + more
