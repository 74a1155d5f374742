"""Newton's method on the semi-dual, for a group lasso and sums of squares of right moments beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import positive_integer
from driftway.engines.compiled.loading import numba_installed
from driftway.engines.engine import LEAST_SINGLE_SHARE, TINY
from driftway.engines.threads.engine import compiled_threads
from driftway.geometry.dense import LogOf
from driftway.plan.lbfgs import SUFFICIENT
from driftway.plan.newton import CLEARLY_NEARER, LONGEST_CHANGE
from driftway.plan.plan import Plan
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.dual_newton.dual import FINE, ROUGH, USUAL, Penalty, Place, Precision, SemiDual, compiled_kernels
from driftway.solvers.sinkhorn import STAGE_ITERATIONS
from driftway.solvers.solver import WORTHLESS_START, Solver, Start, State, require_entropy

Double = npt.NDArray[np.float64]

# The path of strengths: from this share of the problem's scale, each a third of the last, solved to a rough accuracy.
EASY, RATIO, STAGE_ACCURACY = 0.2, 3.0, 2e-2
# A solve ends where the gap that is expected of the rounded plan, or what its rows are off by, is so many times the
# accuracy asked for, which is a tenth of the tolerance.
ENOUGH = 3.0
# Up to this many entries everything that is kept is kept in float64; accuracies below the second number need that, too.
DOUBLE_ENTRIES, FINE_ACCURACY = 2**16, 1e-9
# Far from the optimum evaluations are rough, if no score is larger than the first number. A step squares the gap, times
# the second, and the step that is to be the last is not rough; nor is one from where rows are off by no more than the
# third, of which a rough evaluation knows little.
ROUGH_SCORES, SQUARED, ROUGH_ERROR = 1e3, 3.0, 1e-3
# The damping of the first step, and its least.
DAMPING, LEAST_DAMPING = 1e-3, 1e-9
# Limits of the line search and of the conjugate gradients.
TRIES, PRODUCTS = 20, 200
# Sinkhorn updates that follow a step that failed.
UPDATES = 5
# Weights below this share of ε underflow when squared.
NEGLIGIBLE = 1e-100


@dataclass(frozen=True)
class DualNewton(Solver):
    """Newton's method on the semi-dual, for a `GroupLasso` with or without `TimeSmoothness`.

    J is a `GroupLasso` of positive weight, also with sums of squares of single right moments beside it, such as
    `TimeSmoothness`. The dual is a function of the row potentials, from which columns and group norms are eliminated;
    Newton steps are computed by conjugate gradients. Small ε are reached along a path of larger ones. Plans are held as
    arrays. It runs compiled code on the threads of this machine, not on other engines, and needs the extra
    `driftway[fast]` and ε > 0.

    Parameters
    ----------
    round_length : int
        An iteration of this solver is a round of Newton steps, the last of which is the one that brings it to so
        many evaluations of the dual; those of the path come on top.

    Examples
    --------
    >>> import numpy as np
    >>> from importlib.util import find_spec
    >>> from driftway import ForwardBackward, GroupLasso, PointCloudCost, Problem, solve
    >>> from driftway.solvers import DualNewton
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 30, 2))
    >>> problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=GroupLasso(np.repeat([0, 1], 15)))
    >>> solver = DualNewton() if find_spec("numba") else ForwardBackward(accelerate=True)
    >>> solution = solve(problem, solver)
    >>> solution.converged, bool(solution.gap <= 1e-6)
    (True, True)

    """

    round_length: int = 100
    direct = True

    def __post_init__(self) -> None:
        positive_integer("round_length", self.round_length)

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)
        if not fits(problem):
            raise ValueError(
                f"DualNewton solves problems whose regularizer is a GroupLasso of positive weight, alone or beside "
                f"sums of squares of right moments such as TimeSmoothness, got {problem.regularizer!r}; "
                f"use ForwardBackward"
            )

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        engine = compiled_threads(model.engine)
        if engine is None:
            remedy = "use driftway.engines.Threads()" if numba_installed() else "install driftway[fast]"
            raise ValueError(
                f"DualNewton runs compiled code on the threads of this machine, which {model.engine!r} does not; "
                f"{remedy}, or use ForwardBackward"
            )
        penalty = _penalty(model.problem)
        assert penalty is not None
        rough = engine.mixed and model.spread <= ROUGH_SCORES * model.epsilon
        rough = rough and model.a[model.a > 0].min() > LEAST_SINGLE_SHARE * model.problem.mass
        dual = SemiDual.of(model, penalty, rough=rough)
        last = FINE if not engine.mixed or dual.cost.size <= DOUBLE_ENTRIES or accuracy < FINE_ACCURACY else USUAL
        first = ROUGH if rough else last
        if start.log is not None and start.plan is None:
            raise ValueError("DualNewton starts from potentials: init must be a pair (f, g) or a Solution")
        climb = None
        if (f := (start.f if start.dual is None else start.dual[0])).any():
            theta = _given(dual, model, penalty, start.plan, f)
            climb = _Climb(dual.at(model.epsilon, theta, precision=last), last, spent=1)
        if climb is None or not climb.here.error <= WORTHLESS_START:
            climb = _path(dual, model.epsilon, first, last)
        climb.run(ENOUGH * accuracy, climb.spent + self.round_length, last=True)
        return self._state(model, climb)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        climb = state.memory  # which may be asked for the same again
        climb = replace(climb, spent=0, left=None, origin=climb.here)
        climb.run(min(accuracy, 0.1 * climb.here.error), self.round_length)
        return self._state(model, climb)

    def _state(self, model: Model, climb: _Climb) -> State:
        if climb.here.precision is ROUGH:  # which bounds nothing
            climb.refine(climb.final)
        here, gamma = climb.here, climb.here.plan(model, climb.left)
        climb.left = None
        plain = np.zeros_like(model.a), np.zeros_like(model.b)
        point = model.evaluate(model.plan(LogOf(gamma), *plain, gamma))
        return State(
            point,
            None,
            here.bound,
            here.potentials(model),
            np.nan,
            climb.spent,
            climb,
            here.dual.mass * here.epsilon * here.magnitude,
            exhausted=climb.stuck,
        )


def fits(problem: Problem) -> bool:
    """Whether J is a group lasso of positive weight, alone or beside sums of squares of right moments; and ε > 0."""
    penalty = _penalty(problem) if problem.epsilon > 0 else None
    return penalty is not None and penalty.weight > NEGLIGIBLE * problem.epsilon


def _penalty(problem: Problem) -> Penalty | None:
    return Penalty.of(problem.regularizer, problem.a, problem.shape[1])


def _given(dual: SemiDual, model: Model, penalty: Penalty, plan: Plan | None, f: Double) -> Double:
    """Θ from given potentials; P is the gradient of φ at the plan they came with, or zero."""
    P = np.zeros_like(dual.linear[1:])
    if plan is not None and len(P):
        right = plan.sweep(right=penalty.basis).right
        P = ((right - penalty.centre)[dual.rows] / penalty.curvature[dual.rows]).T
    return np.ascontiguousarray(np.vstack([f[dual.rows] - dual.middle @ P, P]) / model.epsilon)


def _path(dual: SemiDual, epsilon: float, first: Precision, final: Precision) -> _Climb:
    """A point near the optimum for ε, reached along a path of strengths that begins where the problem is easy."""
    ratio = EASY * dual.scale / epsilon
    count = max(0, math.floor(math.log(ratio) / math.log(RATIO))) if ratio > 1 else 0
    strengths = [epsilon * RATIO**k for k in range(count, -1, -1)]
    theta = np.zeros_like(dual.linear)
    theta[0] = dual.lowest / strengths[0]
    climb, last = _Climb(dual.at(strengths[0], theta, precision=first), final, spent=1), None
    for following in strengths[1:]:
        climb.run(STAGE_ACCURACY, climb.spent + STAGE_ITERATIONS)
        here, unit = climb.here, climb.here.epsilon / following
        theta = unit * here.theta
        if last is not None:  # potentials are smooth in ε: go on as they went
            rate = (following - here.epsilon) / (here.epsilon - last.epsilon)
            theta = theta + rate * (unit * here.theta - last.epsilon / following * last.theta)
        # The norms stay what they were, so log N − g changes with g alone.
        roots = here.roots + ((1.0 - unit) * here.g)[:, None]
        there = dual.at(following, theta, roots, precision=first, spare=climb.left)
        climb, last = _Climb(there, final, spent=climb.spent + 1, left=here), here
    return climb


@dataclass
class _Climb:
    """An ascent: where it is, the damping of its next step, and the evaluations it has spent.

    The arrays of a place that it has `left` are used again, but not those of its `origin`.
    """

    here: Place
    final: Precision
    damping: float = DAMPING
    spent: int = 0
    stuck: bool = False
    left: Place | None = None
    origin: Place | None = None

    def run(self, accuracy: float, limit: int, *, last: bool = False) -> None:
        """Newton steps until row error and slack are `accuracy`, or so many evaluations are spent, or no step helps.

        If it is to be the `last` run, the gap of the rounded plan may be that instead, and the step that is expected
        to lead there is not rough.
        """
        while self.spent < limit and not self._reached(accuracy):
            enough = accuracy * self._unit
            if last and self._expects(enough):
                return
            if self.step(fine=last and self._expects(math.sqrt(enough / SQUARED))):
                continue
            if self.balance(UPDATES):
                self.damping = 1.0
            elif self.here.precision is not FINE:
                self.refine(self.final if self.here.precision is ROUGH else FINE)
            else:
                self.stuck = True  # as far as rounding allows
                return

    def refine(self, precision: Precision) -> None:
        """Evaluates the same point again, more accurately."""
        self.move(self.here.theta, self.here.roots, precision)

    @property
    def _unit(self) -> float:
        """The unit of gaps."""
        return max(abs(self.here.value), 1.0)

    def _reached(self, accuracy: float) -> bool:
        return self.here.error <= accuracy and self.here.slack <= accuracy * self._unit

    def _expects(self, gap: float) -> bool:
        """Whether the rounded plan should have no larger gap, which is half the row error squared at the least."""
        return 0.5 * self.here.error**2 <= gap and self.here.gap <= gap

    def move(self, theta: Double, roots: Double, precision: Precision) -> None:
        there = self.here.dual.at(self.here.epsilon, theta, roots, precision=precision, spare=self.left)
        self.here, self.left, self.spent = there, None, self.spent + 1

    def leave(self, place: Place) -> None:
        """Releases the memory of a point for the next evaluation."""
        self.left = None if place is self.origin else place

    def step(self, *, fine: bool) -> bool:
        """A Newton step with a line search, not to a rough place if it is to be `fine`; whether it got higher."""
        before = self.here
        direction, slide = _newton_direction(before, self.damping)
        slope = float(np.vdot(before.gradient, direction))
        # Near the optimum the rise is lost in rounding, the gradient is not.
        lost = slope < before.precision.noise * before.magnitude
        rough = before.precision is ROUGH and before.error > ROUGH_ERROR and not fine
        precision = before.precision if rough or before.precision is not ROUGH else self.final
        reach = float((np.abs(before.dual.basis).max(axis=0) @ np.abs(direction)).max())
        if not (np.isfinite(slope) and np.isfinite(reach)):  # the Hessian is singular to rounding
            return False
        t = min(1.0, LONGEST_CHANGE / max(reach, TINY))
        for tries in range(TRIES):
            self.move(before.theta + t * direction, before.roots + t * slide, precision)
            here = self.here
            nearer = here.distance < (1.0 if lost else CLEARLY_NEARER) * before.distance
            if nearer or here.value - before.value > SUFFICIENT * t * slope:
                easy, hard = max(self.damping / 8.0, LEAST_DAMPING), min(self.damping * 4.0**tries, 1.0)
                self.damping = easy if tries == 0 else hard
                self.leave(before)
                return True
            self.leave(here)
            if lost:
                break
            ahead = float(np.vdot(here.gradient, direction))
            t *= min(max(slope / (slope - ahead), 0.1), 0.6) if ahead < slope else 0.1
        self.here = before
        return False

    def balance(self, updates: int) -> bool:
        """Sinkhorn updates of f, which always ascend since H ≼ diag(γ); whether they got higher."""
        before = here = self.here
        for _ in range(updates):
            theta = here.theta.copy()
            theta[0] += np.log(here.dual.a / np.maximum(here.sums[0], TINY))
            self.move(theta, here.roots, before.precision)
            if here is not before:
                self.leave(here)
            here = self.here
        higher = here.value > before.value + before.precision.noise * before.magnitude
        self.here = here if higher else before
        self.leave(before if higher else here)
        return higher


def _newton_direction(here: Place, damping: float) -> tuple[Double, Double]:
    """−∇²D⁻¹ ∇D by conjugate gradients, damped and preconditioned by the blocks of the rows; where the roots slide."""
    added, blocks = _blocks(here, damping)
    tolerance = min(0.1, max(here.distance, 1e-3))
    residual, x, slide = here.gradient.copy(), np.zeros_like(here.gradient), np.zeros_like(here.roots)
    p = np.empty_like(residual)
    first = square = compiled_kernels().precondition(blocks, residual, p)
    for _ in range(PRODUCTS):
        product, sliding = here.columns_hessian(p)
        if not (np.isfinite(product).all() and np.isfinite(sliding).all()):  # p is longer than its image can tell
            break
        t, square = compiled_kernels().conjugate_step(product, here.dual.a, added, blocks, x, residual, p, square)
        slide += t * sliding
        if t == 0.0 or square <= tolerance**2 * first:
            break
    if not x.any():
        x, slide = p, here.columns_hessian(p)[1]
    return x, np.where(np.isfinite(slide), slide, 0.0)  # roots are found from any guess


def _blocks(here: Place, damping: float) -> tuple[Double, tuple[Double, Double, Double]]:
    """What the conjugate gradients add to the Hessian (q×n), and the diagonal blocks (q×q per row) of the sum.

    A row that has far less than its mass a would take a step of a/r where log(a/r), Sinkhorn's, is right. Its
    curvature is raised to the logarithmic mean of a and r, for which both agree. Blocks are right but for the
    correlations between moments.
    """
    dual, diagonal, q = here.dual, here.diagonal, here.theta.shape[0]
    r = np.maximum(here.sums[0], TINY)
    short = np.where(r < 0.5 * dual.a, (dual.a - r) / np.log(np.maximum(dual.a / r, 2.0)) - r, 0.0)
    quadratic, second = here.epsilon * dual.quadratic[1:], diagonal[q:]
    damped = damping * (second + quadratic) + np.outer(dual.variances, short)
    added = np.vstack([damping * diagonal[0] + short, quadratic + damped])
    head = np.maximum(diagonal[0] + added[0], TINY)
    mean = diagonal[1:q] / head
    tail = np.maximum(second - diagonal[1:q] * mean, 1e-12 * second) + added[1:]
    return added, (head, mean, tail)
