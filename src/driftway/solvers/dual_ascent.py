"""Quasi-Newton and Newton ascent on the dual, for regularisers that are sums of squares of right moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from driftway.balancing import balance
from driftway.iteration import Start, State, require_entropy
from driftway.matrices import Factored
from driftway.model import Model
from driftway.parallel import single_blas
from driftway.problem import Problem
from driftway.quasi_newton import Ascent, remaining, search
from driftway.solvers.moment_dual import Place, Space, at, evaluator, fits, newton_direction
from driftway.validation import positive_integer

Double = npt.NDArray[np.float64]

# The path of strengths: from where the problem is easy (a share of J's smoothness, or of the cost's range),
# each a multiple of the last and solved to a rough accuracy.
EASY_SMOOTHNESS, EASY_RANGE, FACTOR, STAGE_ACCURACY, STAGE_LIMIT = 0.003, 0.005, 0.5, 1e-2, 300
# A start whose columns are off by more than this is worse than none.
FAR = 1.0
# Evaluations after which the rate of progress is judged, and the largest system and number of moments for Newton.
PATIENCE, NEWTON_SIZE, NEWTON_MOMENTS = 25, 3000, 12
# Problems up to this size are solved by compiled Newton steps alone, after a few of Sinkhorn's updates.
SMALL_COLUMNS, SMALL_ENTRIES, UPDATES = 128, 2**18, 3
# Their path begins at that many times the strength where it would otherwise begin.
SMALL_EASY = 10.0


@dataclass(frozen=True)
class DualAscent:
    """L-BFGS on the dual in (g, P), preconditioned by the diagonal blocks of its Hessian; Newton where it pays.

    For J that is a sum of squares of single right moments, as `TimeSmoothness`, its sums and its multiples are.
    It is factored, so memory is linear. Small strengths are reached along a path of larger ones. Where progress
    is slow and m moderate, Newton steps take over, with a Schur complement of size m.

    Parameters
    ----------
    round_length : int
        An iteration of this solver is a round of at most so many evaluations.

    """

    round_length: int = 50
    direct = True

    def __post_init__(self) -> None:
        positive_integer("round_length", self.round_length)

    def check(self, problem: Problem) -> None:
        require_entropy(self, problem)
        if not fits(problem):
            raise ValueError(
                f"DualAscent solves problems whose regularizer is a sum of squares of right moments, such as "
                f"TimeSmoothness, got {problem.regularizer!r}; use ForwardBackward"
            )

    def start(self, model: Model, start: Start, accuracy: float) -> State:
        epsilon, space = model.epsilon, Space.of(model)
        if start.log is not None and not isinstance(start.log, Factored):
            raise ValueError("DualAscent starts from potentials: init must be a pair (f, g) or a Solution")
        if start.log is not None or start.f.any() or start.g.any():
            P = np.zeros_like(space.centre) if start.log is None else -epsilon * start.log.P
            here = at(model, space, epsilon, start.g, P, start.f / epsilon)
            if here.error <= FAR:
                course, spent = _Course(here, []), 0
                if _is_small(model, space):
                    course, spent = _small(model, space, [epsilon], here.g, P, accuracy, 0)
                return self._round(model, course, 1 + spent, accuracy)
        return self._round(model, *_first(model, space, accuracy), accuracy)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        return self._round(model, replace(state.memory), 0, min(accuracy, 0.1 * state.point.error))

    def _round(self, model: Model, course: _Course, spent: int, accuracy: float) -> State:
        spent += course.run(model, accuracy, self.round_length)
        here = course.here
        point = model.evaluate(here.plan(model))
        potentials = here.epsilon * point.plan.f, here.epsilon * point.plan.g
        # On the way the plan is that of a larger strength: its dual is a bound there, and entropy makes it one here.
        bound = here.space.mass * here.value - (here.epsilon - model.epsilon) * _highest_entropy(model)
        tangent = model.tangent(point)
        return State(point, tangent, bound, potentials, np.nan, spent, course, polish=False, exhausted=course.stuck)


def _highest_entropy(model: Model) -> float:
    """An upper bound of H over the couplings: no entry is above the masses of its row and column."""
    return float(min(xlogy(mass, mass).sum() for mass in (model.a, model.b)) - model.problem.mass)


def _first(model: Model, space: Space, accuracy: float) -> tuple[_Course, int]:
    """The course to ε from where the problem is easy, and the sweeps it took to begin."""
    small = _is_small(model, space)
    easy = max(EASY_SMOOTHNESS * (model.J.smoothness or 0.0), EASY_RANGE * model.spread) * (
        SMALL_EASY if small else 1.0
    )
    count = max(0, math.ceil(math.log(easy / model.epsilon) / -math.log(FACTOR))) if easy > model.epsilon else 0
    first, *ahead = [model.epsilon * FACTOR**-k for k in range(count, -1, -1)]
    (n, m), P = model.cost.shape, np.zeros_like(space.centre)
    if small:
        return _small(model, space, [first, *ahead], np.zeros(m), P, accuracy, UPDATES)
    plain = balance(
        model.cost / -first,
        model.a,
        model.b,
        np.zeros(n),
        np.zeros(m),
        tol=STAGE_ACCURACY,
        max_iter=STAGE_LIMIT,
        engine=model.engine,
    )
    return _Course(at(model, space, first, first * plain.g, P, plain.f), ahead), plain.n_iter + 1


def _is_small(model: Model, space: Space) -> bool:
    """Whether compiled Newton steps on the problem as arrays cost less than the calls they save."""
    n, m = model.cost.shape
    small = m <= SMALL_COLUMNS and n * m <= SMALL_ENTRIES and space.R.shape[1] <= NEWTON_MOMENTS
    return small and bool(getattr(model.engine, "compiled", False) and space.seen[space.a > 0].all())


def _small(
    model: Model, space: Space, strengths: list[float], g: Double, P: Double, accuracy: float, updates: int
) -> tuple[_Course, int]:
    """The problem solved by compiled Newton steps along a path of strengths, and the evaluations it took."""
    rows, columns, mass = space.a > 0, space.b > 0, space.mass
    C = model.engine.assemble(model.cost)[np.ix_(rows, columns)].T
    masses = space.a[rows] / mass, space.b[columns] / mass
    quadratic = (np.ascontiguousarray(array[rows].T / mass) for array in (space.centre, space.curvature))
    h, Q = np.ascontiguousarray(g[columns]), np.ascontiguousarray(P[rows].T)
    follow = import_module("driftway.moment_kernels").follow
    with single_blas():
        spent, f = follow(
            np.ascontiguousarray(C),
            np.ascontiguousarray(space.R[columns]),
            *masses,
            *quadratic,
            np.array(strengths),
            h,
            Q,
            STAGE_ACCURACY,
            0.1 * accuracy,
            STAGE_LIMIT,
            updates,
        )
    g, P, shift = g.copy(), P.copy(), np.zeros(rows.size)
    g[columns], P[rows], shift[rows] = h, Q.T, f / model.epsilon + math.log(mass)
    return _Course(at(model, space, model.epsilon, g, P, shift), []), spent + 1


@dataclass
class _Course:
    """An ascent along a path of strengths: where it is, and the strengths still ahead."""

    here: Place
    ahead: list[float]
    ascent: Ascent = field(default_factory=Ascent)
    last: Place | None = None
    spent: int = 0
    stuck: bool = False

    def run(self, model: Model, accuracy: float, limit: int) -> int:
        """Goes on until the strength asked for is solved to `accuracy`, or for so many sweeps; the sweeps it took."""
        total = 0
        while total < limit:
            if not self.ahead:
                self.here, count, self.stuck = _climb(model, self.here, self.ascent, accuracy, limit - total)
                return total + count
            least = min(limit - total, STAGE_LIMIT - self.spent)
            self.here, count, stuck = _climb(model, self.here, self.ascent, STAGE_ACCURACY, least)
            total, self.spent = total + count, self.spent + count
            if stuck or self.here.within(STAGE_ACCURACY) or self.spent >= STAGE_LIMIT:
                total += self._next(model)
        return total

    def _next(self, model: Model) -> int:
        """The next strength, begun where the path leads to, if that is higher than where it is."""
        reached, last, epsilon, spent = self.here, self.last, self.ahead[0], 1
        here = reached.under(model, epsilon)
        if last is not None:
            there = evaluator(model, here)(reached.x + FACTOR * (reached.x - last.x))
            here, spent = there if there is not None and there.value > here.value else here, 2
        self.here, self.ahead, self.last = here, self.ahead[1:], reached
        self.ascent, self.spent = Ascent(), 0
        return spent


def _climb(model: Model, here: Place, ascent: Ascent, accuracy: float, limit: int) -> tuple[Place, int, bool]:
    """The point reached by so many evaluations, or at column error and moment mismatch `accuracy`.

    Also the evaluations spent, and whether rounding allows no more.
    """

    def done(place: Place) -> bool:
        return place.within(accuracy)

    spent, cost = 0, _newton_cost(here)
    while spent < limit and not done(here):
        before = here
        here, count, stuck = ascent.run(here, evaluator(model, here), done, min(PATIENCE, limit - spent))
        spent += count
        if (stuck and cost < math.inf) or remaining(before.error, here.error, accuracy, count) > cost:
            here, count, stuck = _newton(model, here, done, limit - spent)
            ascent.forget()
            spent += count
            if not stuck and spent < limit and not done(here):  # too far away for it
                cost = math.inf
        if stuck:
            return here, spent, True
    return here, spent, False


def _newton_cost(here: Place) -> float:
    """What the few steps of Newton's method cost that are needed, in sweeps, as measured."""
    m, r = here.space.b.size, here.P.shape[1]
    if m > NEWTON_SIZE or r > NEWTON_MOMENTS:
        return math.inf
    return 15.0 + 0.15 * (1 + r) * m


def _newton(model: Model, here: Place, done: Callable[[Place], bool], limit: int) -> tuple[Place, int, bool]:
    """Newton steps with a line search; the sweeps they took, and whether they went as far as rounding allows.

    They end early where no step along the direction is higher.
    """
    spent = 0
    while spent < limit and not done(here):
        direction = newton_direction(model, here)
        if not float(np.dot(direction, here.gradient)) > 0:
            return here, spent, False
        there, count = search(here, direction, evaluator(model, here))
        spent += count
        if there is None:
            return here, spent, False
        if there.value <= here.value and there.error + there.mismatch > 0.5 * (here.error + here.mismatch):
            return here, spent, True
        here = there
    return here, spent, False
