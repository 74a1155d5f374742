"""Quasi-Newton and Newton ascent on the dual, for regularisers that are sums of squares of right moments.

With φ*(P) = ⟨P, c⟩ + ½ Σ q P² and f eliminated, the problem is dual to maximising the concave

    D(g, P) = ⟨f(g, P), a⟩ + ⟨g, b⟩ − ε·mass − φ*(P),      γ = exp((f ⊕ g − C − P Rᵀ)/ε) with exact rows,

whose gradient is (b − γᵀ1, γR − c − qP). An evaluation is one sweep, which also brings the covariances of R
under the rows of the plan, and with them the diagonal blocks of the Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftway.balancing import balance, dot
from driftway.engine import Request
from driftway.iteration import Start, State, require_entropy
from driftway.matrices import Factored
from driftway.model import Model
from driftway.parallel import single_blas
from driftway.plan import Plan
from driftway.problem import Problem
from driftway.quasi_newton import Ascent
from driftway.regularizers.regularizer import MomentRegularizer, RowQuadratic
from driftway.validation import positive_integer

Double = npt.NDArray[np.float64]

# The path of strengths: from where the problem is easy (a share of J's smoothness, or of the cost's range),
# each a multiple of the last and solved to a rough accuracy.
EASY_SMOOTHNESS, EASY_RANGE, FACTOR, STAGE_ACCURACY, STAGE_LIMIT = 0.003, 0.005, 0.5, 1e-2, 300
# A start whose columns are off by more than this is worse than none.
FAR = 1.0
# Up to this many moments the preconditioner uses their covariances, beyond it their variances.
FEW_MOMENTS = 3
# Evaluations after which the rate of progress is judged, and the largest system and number of moments for Newton.
PATIENCE, NEWTON_SIZE, NEWTON_MOMENTS = 25, 3000, 12


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
        epsilon, space = model.epsilon, _Space.of(model)
        if start.log is not None and not isinstance(start.log, Factored):
            raise ValueError("DualAscent starts from potentials: init must be a pair (f, g) or a Solution")
        if start.log is not None or start.f.any() or start.g.any():
            P = np.zeros_like(space.centre) if start.log is None else -epsilon * start.log.P
            here = _at(model, space, epsilon, start.g, P, start.f / epsilon)
            if here.error <= FAR:
                return self._round(model, _Course(here, []), 1, accuracy)
        return self._round(model, *_first(model, space), accuracy)

    def advance(self, model: Model, state: State, accuracy: float) -> State:
        return self._round(model, replace(state.memory), 0, min(accuracy, 0.1 * state.point.error))

    def _round(self, model: Model, course: _Course, spent: int, accuracy: float) -> State:
        spent += course.run(model, accuracy, self.round_length)
        here = course.here
        if here.epsilon != model.epsilon:  # still on the way: where it is, seen from the strength asked for
            here, spent = here.under(model, model.epsilon), spent + 1
        point = model.evaluate(here.plan(model))
        assert isinstance(model.J, MomentRegularizer)
        conjugate = model.J.phi_conjugate(here.P, np.empty((model.b.size, 0)))
        bound = None if conjugate is None else model.dual_value(point.plan) - conjugate
        potentials = model.epsilon * point.plan.f, model.epsilon * point.plan.g
        tangent = model.tangent(point)
        return State(point, tangent, bound, potentials, np.nan, spent, course, polish=False, exhausted=course.stuck)


def fits(problem: Problem) -> bool:
    """Whether the regulariser is a sum of squares of right moments."""
    J = problem.regularizer
    if not isinstance(J, MomentRegularizer) or not J.convex or J.left_basis.shape[1]:
        return False
    return J.row_quadratic is not None


@dataclass(frozen=True, eq=False)
class _Space:
    """The fixed data of the dual: masses, moments and φ*.

    `seen` marks the coefficients P that are variables; the others belong to rows without mass or to moments
    that φ does not see, and are zero. `products` are R and the products of its columns whose means under the
    rows are needed.
    """

    a: Double
    b: Double
    R: Double
    centre: Double
    curvature: Double
    seen: npt.NDArray[np.bool_]
    products: Double
    every: bool

    @cached_property
    def mass(self) -> float:
        """The total mass."""
        return float(self.b.sum())

    @classmethod
    def of(cls, model: Model) -> _Space:
        assert isinstance(model.J, MomentRegularizer)
        quadratic = model.J.row_quadratic
        assert isinstance(quadratic, RowQuadratic)
        R = model.J.right_basis
        seen = np.isfinite(quadratic.curvature) & (model.a > 0)[:, None]
        curvature = np.where(seen, quadratic.curvature, 1.0)
        space = cls(model.a, model.b, R, quadratic.centre, curvature, seen, R, every=False)
        return space.with_pairs(every=R.shape[1] <= FEW_MOMENTS)

    def with_pairs(self, *, every: bool) -> _Space:
        """The same, with the products of every pair of moments or only with their squares."""
        first, second = _pairs(self.R.shape[1], every=every)
        return replace(self, products=np.hstack([self.R, self.R[:, first] * self.R[:, second]]), every=every)


@cache
def _pairs(r: int, *, every: bool) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The pairs of moments whose covariance is used: every one, or only variances."""
    diagonal = np.arange(r)
    return np.triu_indices(r) if every else (diagonal, diagonal)


@dataclass(frozen=True, eq=False)
class _Place:
    """A point (g, P) of the dual in units of cost, and what a sweep tells of it; values are per unit of mass."""

    space: _Space
    epsilon: float
    g: Double
    P: Double
    f: Double
    columns: Double
    means: Double
    value: float
    magnitude: float

    @property
    def x(self) -> Double:
        return np.concatenate([np.where(self.space.b > 0, self.g, 0.0), self.P.ravel()])

    @cached_property
    def residual(self) -> Double:
        """γR − c − qP, the gradient in P."""
        space, r = self.space, self.P.shape[1]
        return np.where(space.seen, self.means[:, :r] - space.centre - space.curvature * self.P, 0.0)

    @cached_property
    def gradient(self) -> Double:
        in_g = np.where(self.space.b > 0, self.space.b - self.columns, 0.0)
        return np.concatenate([in_g, self.residual.ravel()]) / self.space.mass

    @cached_property
    def error(self) -> float:
        """‖γᵀ1 − b‖₁ relative to the mass."""
        return float(np.abs(self.columns - self.space.b).sum() / self.space.b.sum())

    @cached_property
    def mismatch(self) -> float:
        """φ(γR) + φ*(P) − ⟨P, γR⟩ ≥ 0, over the mass: what the gap owes to the moments."""
        return 0.5 * float((self.residual**2 / self.space.curvature).sum()) / self.space.mass

    @cached_property
    def blocks(self) -> Double:
        """Cov(R)/ε + q for every row: minus the diagonal blocks of the Hessian in P (n×r×r)."""
        space, (n, r) = self.space, self.P.shape
        first, second = _pairs(r, every=space.every)
        mean = np.divide(self.means[:, :r], space.a[:, None], out=np.zeros((n, r)), where=space.a[:, None] > 0)
        covariance = self.means[:, r:] - mean[:, first] * self.means[:, second]
        blocks = np.zeros((n, r, r))
        seen = space.seen[:, first] & space.seen[:, second]
        blocks[:, first, second] = np.where(seen, covariance / self.epsilon, 0.0)
        blocks[:, second, first] = blocks[:, first, second]
        diagonal = np.arange(r)
        # A variance of rounding errors is none, and may have come out negative.
        blocks[:, diagonal, diagonal] = np.maximum(blocks[:, diagonal, diagonal], 0.0) * (1.0 + 1e-9)
        blocks[:, diagonal, diagonal] += space.curvature
        return blocks

    @cached_property
    def inverse(self) -> Double:
        """The inverses of the blocks."""
        r = self.P.shape[1]
        if r == 1:
            return 1.0 / self.blocks
        if r == 2:
            (p, q), (_, s) = np.moveaxis(self.blocks, 0, 2)
            determinant = np.maximum(p * s - q * q, 1e-14 * p * s)
            return np.moveaxis(np.array([[s, -q], [-q, p]]) / determinant, 2, 0)
        return np.asarray(np.linalg.inv(self.blocks), dtype=np.float64)

    def precondition(self, direction: Double) -> Double:
        m, b, direction = self.space.b.size, self.space.b, self.space.mass * direction
        in_g = self.epsilon * direction[:m] / np.where(b > 0, np.maximum(self.columns, 1e-3 * b), 1.0)
        return np.concatenate([in_g, self.solved(direction[m:].reshape(self.P.shape)).ravel()])

    def solved(self, right: Double) -> Double:
        """The inverse blocks times a vector per row."""
        if self.P.shape[1] == 0:
            return right
        return np.where(self.space.seen, np.einsum("ikl,il->ik", self.inverse, right), 0.0)

    def within(self, accuracy: float) -> bool:
        """Whether column error and moment mismatch are that small."""
        scale = max(abs(self.value), self.epsilon)
        return self.error <= accuracy and self.mismatch <= accuracy * scale

    def under(self, model: Model, epsilon: float) -> _Place:
        """The same (g, P) under another strength."""
        return _at(model, self.space, epsilon, self.g, self.P, self.f * self.epsilon / epsilon)

    def plan(self, model: Model) -> Plan:
        """The plan of this point."""
        return model.plan(_log(model, self.epsilon, self.P), self.f, self.g / self.epsilon)


def _log(model: Model, epsilon: float, P: Double) -> Factored:
    cost = model.cost
    assert isinstance(cost, Factored)
    return cost.with_coefficients(-1.0 / epsilon, P / -epsilon, cost.Q)


def _at(model: Model, space: _Space, epsilon: float, g: Double, P: Double, f: Double) -> _Place:
    """The dual at (g, P); f only helps the sweep to a safe shift."""
    a, b = space.a, space.b
    level = dot(g, b) / b.sum()
    g = np.where(b > 0, g - level, -np.inf)
    log = _log(model, epsilon, P)
    sums = model.engine.sweep(Request(log, np.where(a > 0, f, -np.inf), g / epsilon, row_mass=a, right=space.products))
    linear, square = P * space.centre, 0.5 * space.curvature * P**2
    value = epsilon * (dot(sums.f, a) - a.sum()) + dot(g, b) - float(linear.sum() + square.sum())
    magnitude = epsilon * dot(np.abs(sums.f), a) + dot(np.abs(g), b) + float(np.abs(linear).sum() + square.sum())
    return _Place(space, epsilon, g, P, sums.f, sums.columns, sums.right, value / space.mass, magnitude / space.mass)


def _evaluator(model: Model, here: _Place) -> Callable[[Double], _Place | None]:
    """The dual as a function of x, near a point whose potentials are good shifts."""
    m, shape, f = here.space.b.size, here.P.shape, here.f

    def evaluate(x: Double) -> _Place | None:
        nonlocal f
        there = _at(model, here.space, here.epsilon, x[:m], x[m:].reshape(shape), f)
        if not (np.isfinite(there.value) and np.isfinite(there.columns).all()):
            return None
        f = there.f
        return there

    return evaluate


def _first(model: Model, space: _Space) -> tuple[_Course, int]:
    """The course to ε from where the problem is easy, and the sweeps it took to begin."""
    smoothness = model.J.smoothness or 0.0
    easy = max(EASY_SMOOTHNESS * smoothness, EASY_RANGE * model.spread)
    count = max(0, math.ceil(math.log(easy / model.epsilon) / -math.log(FACTOR))) if easy > model.epsilon else 0
    first, *ahead = [model.epsilon * FACTOR**-k for k in range(count, -1, -1)]
    n, m = model.cost.shape
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
    here = _at(model, space, first, first * plain.g, np.zeros_like(space.centre), plain.f)
    return _Course(here, ahead), plain.n_iter + 1


@dataclass
class _Course:
    """An ascent along a path of strengths: where it is, and the strengths still ahead."""

    here: _Place
    ahead: list[float]
    ascent: Ascent = field(default_factory=Ascent)
    last: _Place | None = None
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
            there = _evaluator(model, here)(reached.x + FACTOR * (reached.x - last.x))
            here, spent = there if there is not None and there.value > here.value else here, 2
        self.here, self.ahead, self.last = here, self.ahead[1:], reached
        self.ascent, self.spent = Ascent(), 0
        return spent


def _climb(model: Model, here: _Place, ascent: Ascent, accuracy: float, limit: int) -> tuple[_Place, int, bool]:
    """The point reached by so many evaluations, or at column error and moment mismatch `accuracy`.

    Also the evaluations spent, and whether rounding allows no more.
    """

    def done(place: _Place) -> bool:
        return place.within(accuracy)

    spent, cost = 0, _newton_cost(here)
    while spent < limit and not done(here):
        before = here
        here, count, stuck = ascent.run(here, _evaluator(model, here), done, min(PATIENCE, limit - spent))
        spent += count
        if (stuck and cost < math.inf) or _remaining(before, here, accuracy, count) > cost:
            here, count, stuck = _newton(model, here, done, limit - spent)
            ascent.forget()
            spent += count
            if not stuck and spent < limit and not done(here):  # too far away for it
                cost = math.inf
        if stuck:
            return here, spent, True
    return here, spent, False


def _remaining(before: _Place, here: _Place, accuracy: float, count: int) -> float:
    """Evaluations until the column error is `accuracy`, at the rate of the last ones."""
    if not 0 < here.error < before.error or accuracy <= 0:
        return math.inf
    return count * math.log(max(here.error / accuracy, 1.0)) / math.log(before.error / here.error)


def _newton_cost(here: _Place) -> float:
    """What the few steps of Newton's method cost that are needed, in sweeps, as measured."""
    m, r = here.space.b.size, here.P.shape[1]
    if m > NEWTON_SIZE or r > NEWTON_MOMENTS:
        return math.inf
    return 15.0 + 0.15 * (1 + r) * m


def _newton(model: Model, here: _Place, done: Callable[[_Place], bool], limit: int) -> tuple[_Place, int, bool]:
    """Newton steps with a line search; the sweeps they took, and whether they went as far as rounding allows.

    They end early where no step along the direction is higher.
    """
    spent = 0
    while spent < limit and not done(here):
        direction = _newton_direction(model, here)
        evaluate, slope, t = _evaluator(model, here), float(np.dot(direction, here.gradient)), 1.0
        there: _Place | None = None
        while t > 1e-6:
            there, spent = evaluate(here.x + t * direction), spent + 1
            lost = t * slope < 1e-13 * here.magnitude
            if there is not None and (there.value >= here.value + 1e-4 * t * slope or lost):
                break
            there, t = None, 0.5 * t
        if there is None or slope <= 0:
            return here, spent, False
        if lost and there.error + there.mismatch > 0.5 * (here.error + here.mismatch):
            return here, spent, True
        here = there
    return here, spent, False


def _newton_direction(model: Model, here: _Place) -> Double:
    """The Newton step, from a system of size m for g after the elimination of P.

    In units of log it is  (diag(γᵀ1) − BᵀB) δ = b − γᵀ1 + Mᵀ A⁻¹ρ/ε,  where M are the centred moments of
    the rows, A the blocks, ρ the residual, and B stacks γ/√a and A^−½ M/√ε.
    """
    if not here.space.every:
        here = _at(model, here.space.with_pairs(every=True), here.epsilon, here.g, here.P, here.f)
    space, epsilon, (n, r) = here.space, here.epsilon, here.P.shape
    a, b, R = space.a, space.b, space.R
    plan = here.plan(model)
    active = a > 0
    inverse_a = np.divide(1.0, a, out=np.zeros_like(a), where=active)
    mean = here.means[:, :r] * inverse_a[:, None]
    root: Double = np.asarray(np.linalg.cholesky(here.inverse), np.float64).transpose(0, 2, 1) / math.sqrt(epsilon)
    root[~space.seen] = 0.0
    # Each entry of B is γ times an affine function of R.
    factors = [np.column_stack([np.sqrt(inverse_a), np.zeros((n, r))])]
    factors += [np.column_stack([-(root[:, k] * mean).sum(axis=1), root[:, k]]) for k in range(r)]
    basis = np.column_stack([np.ones(b.size), R])
    gram = model.engine.gram(plan.log, plan.f, plan.g, factors, basis)
    solved = here.solved(here.residual)
    left = plan.sweep(left=np.column_stack([solved, (solved * mean).sum(axis=1)])).left
    right = np.where(b > 0, b - here.columns + ((left[:, :r] * R).sum(axis=1) - left[:, r]) / epsilon, 0.0)
    scale = np.sqrt(np.where(b > 0, np.maximum(here.columns, 1e-300), 1.0))
    system = -gram / np.multiply.outer(scale, scale)
    top = np.where(b > 0, scale, 0.0)
    system += np.multiply.outer(top, top) / b.sum()  # the free constant in g
    damping = 1e-12
    with single_blas():
        while True:
            try:
                factor = cho_factor(system + (1.0 + damping) * np.eye(b.size), check_finite=False)
                break
            except LinAlgError:
                damping = max(10.0 * damping, 1e-10)
        delta = epsilon * cho_solve(factor, right / scale, check_finite=False) / scale
    moved = plan.sweep(right=np.column_stack([delta, R * delta[:, None]])).right
    in_P = here.solved(here.residual + (moved[:, 1:] - mean * moved[:, :1]) / epsilon)
    return np.concatenate([delta, in_P.ravel()])
