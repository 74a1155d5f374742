"""Quasi-Newton and Newton ascent on the dual, for regularisers that are sums of squares of right moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from driftway.arrays.rowwise import is_remote
from driftway.arrays.validation import positive_integer
from driftway.engines.engine import Engine
from driftway.engines.threads.engine import compiled_threads
from driftway.plan.lbfgs import Ascent, remaining
from driftway.plan.sinkhorn import NEWTON_SIZE, balance
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.solvers.dual_ascent.continuation import Continuation, ahead
from driftway.solvers.dual_ascent.dual import Place, Space, SweptSteps, at, evaluator, fits
from driftway.solvers.dual_ascent.small import CompiledSteps
from driftway.solvers.sinkhorn import STAGE_ACCURACY
from driftway.solvers.solver import STAGE_LIMIT, WORTHLESS_START, Solver, Start, State, require_entropy

Double = npt.NDArray[np.float64]

# The path of strengths: from where the problem is easy (a share of J's smoothness, or of the cost's range), each
# strength solved by L-BFGS to a rough accuracy.
EASY_SMOOTHNESS, EASY_RANGE = 0.003, 0.005
# A plan whose columns are off by less is shown, that of a strength on the way otherwise.
SHOWN_ERROR = 1e-4
# Evaluations after which the rate of progress is judged, and the largest number of moments for Newton.
JUDGED_EVERY, NEWTON_MOMENTS = 25, 12
# Problems up to this size are solved by compiled Newton steps alone.
SMALL_COLUMNS, SMALL_ENTRIES = 128, 2**19
# Their path begins at that many times the strength where it would otherwise begin.
SMALL_EASY = 10.0


@dataclass(frozen=True)
class DualAscent(Solver):
    """Quasi-Newton and Newton ascent on the dual, for regularisers such as `TimeSmoothness`.

    J must be a sum of squares of single right moments, as `TimeSmoothness`, its sums and its multiples are, or absent.
    The method is L-BFGS on the dual in (g, P), preconditioned by the diagonal blocks of its Hessian. It is factored, so
    memory is linear in n + m. Small ε are reached along a path of larger ones. Where progress is slow and m moderate,
    Newton steps take over, with a Schur complement of size m. It needs ε > 0.

    Parameters
    ----------
    round_length : int
        An iteration of this solver is a round of at most so many evaluations of the dual.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import PointCloudCost, Problem, TimeSmoothness, solve
    >>> from driftway.solvers import DualAscent
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 30, 2))
    >>> problem = Problem(PointCloudCost(X, Y), epsilon=0.05, regularizer=TimeSmoothness(Y, previous=X))
    >>> solution = solve(problem, DualAscent(), tol=1e-8)
    >>> solution.converged, bool(solution.gap <= 1e-8)
    (True, True)

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
        log = None if start.log is None else start.log.factored
        if start.log is not None and log is None:
            raise ValueError("DualAscent starts from potentials: init must be a pair (f, g) or a Solution")
        if log is not None or start.f.any() or start.g.any():
            P = np.zeros_like(space.centre)
            if log is not None:  # what φ does not see has no coefficient, whatever another φ saw
                P = np.where(space.seen, -epsilon * log.P, P)
            here = at(model, space, epsilon, start.g, P, start.f / epsilon)
            if here.error <= WORTHLESS_START:
                course, spent = _Course(Continuation(here, epsilon)), 0
                if _is_small(model, space):
                    course, spent = _small(model, space, epsilon, here.g, P, accuracy)
                return self._round(model, course, 1 + spent, accuracy)
        return self._round(model, *_first(model, space, accuracy), accuracy)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        course = replace(state.memory, path=replace(state.memory.path))  # which may be asked for the same again
        return self._round(model, course, 0, min(accuracy, 0.1 * state.point.error))

    def _round(self, model: Model, course: _Course, spent: int, accuracy: float) -> State:
        spent += course.run(model, accuracy, self.round_length)
        # On the way the plan is that of a larger strength, and the last one may be solved better than the present.
        here, reached = course.path.here, course.path.reached
        places = [here] if reached is None else [here, reached]
        shown = here if here.error <= SHOWN_ERROR else min(places, key=lambda place: place.error)
        point = model.evaluate(shown.plan(model), shown.columns, shown.means[:, : shown.P.shape[1]])
        potentials = shown.epsilon * point.plan.f, shown.epsilon * point.plan.g
        bound = max(_bound(model, place) for place in places)
        magnitude = max(place.space.mass * place.magnitude for place in places)
        return State(point, None, bound, potentials, np.nan, spent, course, magnitude, exhausted=course.path.stuck)


def _bound(model: Model, place: Place) -> float:
    """A lower bound of the optimum: the dual is one for its own strength, and entropy makes it one for a smaller."""
    return place.space.mass * place.value - (place.epsilon - model.epsilon) * _highest_entropy(model)


def _highest_entropy(model: Model) -> float:
    """An upper bound of H over the couplings: no entry is above the masses of its row and column."""
    return float(min(xlogy(mass, mass).sum() for mass in (model.a, model.b)) - model.problem.mass)


def _first(model: Model, space: Space, accuracy: float) -> tuple[_Course, int]:
    """The start of the path of strengths, where the problem is easy, and the sweeps that it took."""
    small = _is_small(model, space)
    easy = max(EASY_SMOOTHNESS * (model.J.smoothness or 0.0), EASY_RANGE * model.spread)
    first = max(model.epsilon, easy * (SMALL_EASY if small else 1.0))
    m, P = model.cost.shape[1], np.zeros_like(space.centre)
    if small:
        return _small(model, space, first, np.zeros(m), P, accuracy)
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
    here = at(model, space, first, first * plain.g, P, plain.f)
    return _Course(Continuation(here, model.epsilon)), plain.n_iter + 1


def is_small(shape: tuple[int, int], engine: Engine) -> bool:
    """Whether compiled Newton steps on the problem as arrays cost less than the calls they save."""
    n, m = shape
    return m <= SMALL_COLUMNS and n * m <= SMALL_ENTRIES and compiled_threads(engine) is not None


def _is_small(model: Model, space: Space) -> bool:
    """Whether compiled Newton steps pay and apply: every moment must have a variable in every row."""
    few = space.R.shape[1] <= NEWTON_MOMENTS and bool(space.seen[space.a > 0].all())
    return few and is_small(model.cost.shape, model.engine)


def _small(model: Model, space: Space, first: float, g: Double, P: Double, accuracy: float) -> tuple[_Course, int]:
    """The problem solved by compiled Newton steps along a path from a first strength, and the evaluations it took."""
    rows, columns, mass = space.a > 0, space.b > 0, space.mass
    C = model.engine.assemble(model.cost).T
    if not (rows.all() and columns.all()):
        C = C[np.ix_(columns, rows)]
    masses = space.a[rows] / mass, space.b[columns] / mass
    quadratic = (np.ascontiguousarray(array[rows].T / mass) for array in (space.centre, space.curvature))
    steps = CompiledSteps(np.ascontiguousarray(C), np.ascontiguousarray(space.R[columns]), *masses, *quadratic)
    here = steps.at(first, np.ascontiguousarray(g[columns]), np.ascontiguousarray(P[rows].T))
    path = Continuation(here, model.epsilon)
    spent = 1 + path.run(steps, 0.1 * accuracy, math.inf)
    here, g, P, shift = path.here, g.copy(), P.copy(), np.zeros(rows.size)
    g[columns], P[rows], shift[rows] = here.g, here.P.T, here.memory.f / here.epsilon + math.log(mass)
    return _Course(Continuation(at(model, space, here.epsilon, g, P, shift), model.epsilon)), spent + 1


@dataclass
class _Course:
    """An ascent along a path of strengths.

    L-BFGS solves every strength to a rough accuracy. Where that is too slow, Newton's method takes over and follows the
    path, and L-BFGS goes on where that fails.
    """

    path: Continuation[Place]
    ascent: Ascent = field(default_factory=Ascent)
    spent: int = 0
    newton: bool = False
    hopeless: bool = False

    def run(self, model: Model, accuracy: float, limit: int) -> int:
        """Goes on until the strength asked for is solved to `accuracy`, or for so many sweeps; the sweeps it took."""
        total, path = 0, self.path
        while total < limit and not path.stuck and not (path.last and path.here.distance <= accuracy):
            total += (self._follow if self.newton else self._ascend)(model, accuracy, limit - total)
        return total

    def _ascend(self, model: Model, accuracy: float, limit: int) -> int:
        """Some steps of L-BFGS, and what follows from where they led; the sweeps spent."""
        path, before = self.path, self.path.here
        wanted = accuracy if path.last else STAGE_ACCURACY
        path.here, count, stuck = self.ascent.run(
            before, evaluator(model, before), lambda place: place.distance <= wanted, min(JUDGED_EVERY, limit)
        )
        self.spent += count
        if path.here.distance <= wanted:
            return count if path.last else count + self._pass(model)
        cost = math.inf if self.hopeless else _newton_cost(path.here)
        if cost < math.inf and (stuck or remaining(before.distance, path.here.distance, wanted, count) > cost):
            self._turn_to_newton()
        elif not path.last and (stuck or self.spent >= STAGE_LIMIT):
            count += self._pass(model)
        else:
            path.stuck = stuck
        return count

    def _pass(self, model: Model) -> int:
        """Takes this strength for solved, and goes to the next: where the path leads to if that is higher."""
        path, reached, before = self.path, self.path.here, self.path.reached
        path.reached, path.before = reached, before
        epsilon, path.stride = ahead(reached.epsilon, path.goal, path.stride)
        path.here, spent = reached.under(model, epsilon), 1
        if before is not None:
            there, spent = SweptSteps(model).under(reached, epsilon, before), 2
            if there.value > path.here.value:
                path.here = there
        self.ascent, self.spent, self.hopeless = Ascent(), 0, False
        return spent

    def _turn_to_newton(self) -> None:
        """Leaves the path to Newton's method, at the last strength where L-BFGS brought it near, if it is not here."""
        path = self.path
        if path.reached is not None and path.here.distance > STAGE_ACCURACY:
            path.here, path.reached, path.before = path.reached, path.before, None
        path.begin()
        self.newton = True

    def _follow(self, model: Model, accuracy: float, limit: int) -> int:
        """Newton's method, until it is done or fails, which leaves this strength to L-BFGS; the sweeps spent."""
        count = self.path.run(SweptSteps(model), accuracy, limit)
        if self.path.failed:
            self.newton, self.hopeless, self.spent = False, True, 0
            self.ascent.forget()
        return count


def _newton_cost(here: Place) -> float:
    """The measured cost of a few Newton steps, in sweeps."""
    m, r = here.space.b.size, here.P.shape[1]
    if m > NEWTON_SIZE or r > NEWTON_MOMENTS or is_remote(here.P):
        return math.inf
    return 15.0 + 0.15 * (1 + r) * m
