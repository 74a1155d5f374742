"""Quasi-Newton and Newton ascent on the dual, for regularisers that are sums of squares of right moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from driftway.balancing import balance
from driftway.damping import CLOSE, DAMPING, HIGHEST, SHORTEST, UNDAMPED
from driftway.engine import Engine
from driftway.iteration import Start, State, require_entropy
from driftway.matrices import Factored
from driftway.model import Model
from driftway.problem import Problem
from driftway.quasi_newton import Ascent, remaining, search
from driftway.rowwise import is_remote
from driftway.solvers.moment_dual import Place, Space, at, evaluator, fits, newton_direction
from driftway.validation import positive_integer

Double = npt.NDArray[np.float64]

# The path of strengths: from where the problem is easy (a share of J's smoothness, or of the cost's range),
# each a multiple of the last and solved to a rough accuracy.
EASY_SMOOTHNESS, EASY_RANGE, FACTOR, STAGE_ACCURACY, STAGE_LIMIT = 0.003, 0.005, 0.5, 1e-2, 300
# A start whose columns are off by more than this is worse than none; and one by less than that is worth showing.
FAR, FINE = 1.0, 1e-4
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
            P = np.zeros_like(space.centre)
            if start.log is not None:  # what φ does not see has no coefficient, whatever another φ saw
                P = np.where(space.seen, -epsilon * start.log.P, P)
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
        # On the way the plan is that of a larger strength, and the last one may be solved better than the present.
        places = [course.here] if course.last is None else [course.here, course.last]
        shown = course.here if course.here.error <= FINE else min(places, key=lambda place: place.error)
        point = model.evaluate(shown.plan(model))
        potentials = shown.epsilon * point.plan.f, shown.epsilon * point.plan.g
        bound = max(_bound(model, place) for place in places)
        tangent = model.tangent(point)
        return State(point, tangent, bound, potentials, np.nan, spent, course, polish=False, exhausted=course.stuck)


def _bound(model: Model, place: Place) -> float:
    """A lower bound of the optimum: the dual is one for its own strength, and entropy makes it one for a smaller."""
    return place.space.mass * place.value - (place.epsilon - model.epsilon) * _highest_entropy(model)


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
    m, P = model.cost.shape[1], np.zeros_like(space.centre)
    if small:
        return _small(model, space, [first, *ahead], np.zeros(m), P, accuracy, UPDATES)
    plain = balance(
        model.cost / -first,
        model.a,
        model.b,
        np.zeros_like(model.a),
        np.zeros(m),
        tol=STAGE_ACCURACY,
        max_iter=STAGE_LIMIT,
        engine=model.engine,
    )
    return _Course(at(model, space, first, first * plain.g, P, plain.f), ahead), plain.n_iter + 1


def is_small(shape: tuple[int, int], engine: Engine) -> bool:
    """Whether compiled Newton steps on the problem as arrays cost less than the calls they save."""
    n, m = shape
    return m <= SMALL_COLUMNS and n * m <= SMALL_ENTRIES and bool(getattr(engine, "compiled", False))


def _is_small(model: Model, space: Space) -> bool:
    """The same, where every moment has a variable of its own in every row."""
    few = space.R.shape[1] <= NEWTON_MOMENTS and bool(space.seen[space.a > 0].all())
    return few and is_small(model.cost.shape, model.engine)


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
    spent, f = follow(
        np.ascontiguousarray(C),
        np.ascontiguousarray(space.R[columns]),
        *masses,
        *quadratic,
        strengths,
        h,
        Q,
        0.1 * accuracy,
        STAGE_LIMIT,
        updates,
    )
    g, P, shift = g.copy(), P.copy(), np.zeros(rows.size)
    g[columns], P[rows], shift[rows] = h, Q.T, f / model.epsilon + math.log(mass)
    return _Course(at(model, space, model.epsilon, g, P, shift), []), spent + 1


@dataclass
class _Course:
    """An ascent along a path of strengths: where it is, and the strengths still ahead.

    Once L-BFGS was too slow for one strength, Newton's method begins at once with the next, and `near` says that a
    step of it was whole and promised little.
    """

    here: Place
    ahead: list[float]
    ascent: Ascent = field(default_factory=Ascent)
    last: Place | None = None
    spent: int = 0
    stuck: bool = False
    hard: bool = False
    near: bool = False
    damping: float = 0.0

    def run(self, model: Model, accuracy: float, limit: int) -> int:
        """Goes on until the strength asked for is solved to `accuracy`, or for so many sweeps; the sweeps it took."""
        total = 0
        while total < limit:
            if not self.ahead:
                count, self.stuck = self._climb(model, accuracy, limit - total)
                return total + count
            count, stuck = self._climb(model, STAGE_ACCURACY, min(limit - total, STAGE_LIMIT - self.spent))
            total, self.spent = total + count, self.spent + count
            if stuck or self._solved(STAGE_ACCURACY) or self.spent >= STAGE_LIMIT:
                total += self._next(model)
        return total

    def _solved(self, accuracy: float) -> bool:
        """Whether this strength is solved to `accuracy`, or by Newton's method as far as the next one needs it."""
        return self.near if self.hard and self.ahead else self.here.within(accuracy)

    def _next(self, model: Model) -> int:
        """The next strength, begun where the path leads to, if that is higher than where it is."""
        reached, last, epsilon, spent = self.here, self.last, self.ahead[0], 1
        here = reached.under(model, epsilon)
        if last is not None:
            there = evaluator(model, here)(reached.x + FACTOR * (reached.x - last.x))
            here, spent = there if there is not None and there.value > here.value else here, 2
        self.here, self.ahead, self.last = here, self.ahead[1:], reached
        self.ascent, self.spent, self.near = Ascent(), 0, False
        return spent

    def _climb(self, model: Model, accuracy: float, limit: int) -> tuple[int, bool]:
        """So many evaluations, or up to column error and moment mismatch `accuracy`.

        The evaluations spent, and whether rounding allows no more.
        """
        spent, cost = 0, _newton_cost(self.here)
        while spent < limit and not self._solved(accuracy):
            before, count, stuck = self.here, 0, False
            if not self.hard:
                evaluate = evaluator(model, before)
                few = min(PATIENCE, limit - spent)
                self.here, count, stuck = self.ascent.run(before, evaluate, lambda place: place.within(accuracy), few)
                spent += count
                if self._solved(accuracy):
                    break
            slow = stuck or remaining(before.distance, self.here.distance, accuracy, count) > cost
            if cost < math.inf and (self.hard or slow):
                self.hard = True
                count, stuck = self._newton(model, accuracy, limit - spent)
                self.ascent.forget()
                spent += count
                if not stuck and spent < limit and not self._solved(accuracy):  # too far away for it
                    cost, self.hard = math.inf, False
            if stuck:
                return spent, True
        return spent, False

    def _newton(self, model: Model, accuracy: float, limit: int) -> tuple[int, bool]:
        """Damped Newton steps with a line search; the sweeps spent, and whether they went as far as rounding allows.

        They end early where no step along the direction is higher, and on the way where the strength is passed.
        """
        spent = 0
        while spent < limit and not self._solved(accuracy):
            here = self.here
            direction = newton_direction(model, here, self.damping)
            slope = float(np.dot(direction, here.gradient))
            if not slope > 0:
                return spent, False
            there, count = search(here, direction, evaluator(model, here), SHORTEST)
            spent += count
            whole = count == 1 and there is not None
            self.near = whole and slope <= CLOSE * here.epsilon and self.damping <= UNDAMPED
            self.damping = _damped(self.damping, count)
            if there is None:
                if self.damping > HIGHEST:
                    return spent, False
                continue
            self.here = there
            if there.value <= here.value and there.error + there.mismatch > 0.5 * (here.error + here.mismatch):
                return spent, True
        return spent, False


def _damped(damping: float, tries: int) -> float:
    """The damping of the next Newton step, by how often the last had to be halved."""
    return 0.1 * damping if tries == 1 else damping if tries == 2 else max(10.0 * damping, DAMPING)


def _newton_cost(here: Place) -> float:
    """What the few steps of Newton's method cost that are needed, in sweeps, as measured."""
    m, r = here.space.b.size, here.P.shape[1]
    if m > NEWTON_SIZE or r > NEWTON_MOMENTS or is_remote(here.P):
        return math.inf
    return 15.0 + 0.15 * (1 + r) * m
