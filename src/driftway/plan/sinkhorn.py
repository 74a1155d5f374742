"""Sinkhorn's algorithm: the potentials f, g that give  exp(log + f ⊕ g)  the marginals a and b.

Two forms of the same iteration. In the sweep form each entry is exponentiated once per iteration: its row is
normalised (the update of f) and the columns of the normalised rows are summed (the update of g). In the
scaling form the exponentials are held as an array K, and an iteration is two matrix-vector products with it,
u = a / Kv and v = b / Kᵀu; before u or v leaves a safe range it is absorbed into f and g and K is built anew.
Potentials here are in units of log, not of cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import DOUBLE, SAFE, Engine, Kernel, Request
from driftway.geometry.matrices import Matrix
from driftway.plan.lbfgs import Ascent, remaining
from driftway.plan.newton import Scaling, by_columns, newton

Double = npt.NDArray[np.float64]

# |log u| and |log v| stay below this, in float64 and in float32. Entries lost to underflow in K are then below
# exp(−745 + 200) or exp(−87 + 40) relative to what counts, far beneath rounding.
SAFE_SCALING = (100.0, 20.0)
# Entries from which float32 saves more than it costs to think of it.
SINGLE_ENTRIES = 2**15
# Kernels are held in float32 for tolerances from here on: their rounding moves the marginals by less.
SINGLE_TOLERANCE = 1e-7
# Iterations before a kernel is worth its memory: a warm start often needs no more, and a cold one would outgrow it.
FIRST_SWEEPS = 3
# Iterations over which a rate of contraction is observed.
WINDOW = 8
# How often Sinkhorn on a stored kernel is asked whether it will be done soon, and the largest system for Newton.
JUDGED_EVERY, NEWTON_SIZE = 16, 3000
# What quasi-Newton ascent takes to learn the Hessian, in iterations: no use for less.
ASCENT_COST = 40.0
# An error this small that several rounds of Newton's method did not reduce is the limit of floating point.
ROUNDED_ERROR, IDLE_ROUNDS = 1e-9, 5
# So is one that so many sweeps did not reduce by a tenth; on an engine of less precision than float64, an error of so
# many roundings of an entry, which there so many steps of L-BFGS did not reduce either: its own test is one of float64.
IDLE_SWEEPS, IDLE_ASCENT, NEARLY_DIGITS = 50, 12, 30.0
SINGLE_PRECISION = 6e-8  # the rounding error of float32


@dataclass(frozen=True, eq=False)
class Balanced:
    """Potentials whose plan has exact row sums, and columns off by `error` (L1, relative to the mass)."""

    f: Double
    g: Double
    error: float
    n_iter: int
    values: Double | None
    relaxation: Relaxation | None
    columns: Double


@dataclass(frozen=True)
class Relaxation:
    """Over-relaxation of the column update,  g ← g + ω (log b − log γᵀ1)  with 1 ≤ ω < 2.

    Plain iterations show their rate of contraction θ, for which ω = 2 / (1 + √(1−θ)) is optimal
    (Thibault et al. 2021). The dual value must rise from step to step; when it falls, ω returns to 1, which
    converges from anywhere, and may from then on go only half as far beyond 1.
    """

    omega: float = 1.0
    limit: float = 0.98
    dual: float = -math.inf
    errors: tuple[float, ...] = ()

    def update(self, error: float, dual: float) -> Relaxation:
        """The relaxation of the next column update, after an iteration that left this error and dual value."""
        if dual < self.dual - 1e-12 * abs(self.dual):
            return Relaxation(1.0, self.limit / 2, dual, (error,))
        errors = (*self.errors, error)
        if len(errors) <= 2 * WINDOW:
            return Relaxation(self.omega, self.limit, dual, errors)
        return Relaxation(self._estimate(errors[-WINDOW - 1], error), self.limit, dual)

    def _estimate(self, first: float, last: float) -> float:
        """ω for the contraction θ of the plain iteration, inferred from the rate observed under the present ω.

        The eigenvalue ρ of the relaxed iteration and θ obey (ρ + ω − 1)² = ρ ω² θ (Young 1971).
        """
        if not 0.0 < last < first:
            return self.omega
        rate = (last / first) ** (1.0 / WINDOW)
        theta = (rate + self.omega - 1.0) ** 2 / (rate * self.omega**2)
        omega = 2.0 / (1.0 + math.sqrt(max(1.0 - theta, 0.0)))
        return max(self.omega, min(omega, 1.0 + self.limit))


def balance(
    log: Matrix,
    a: Double,
    b: Double,
    f: Double,
    g: Double,
    *,
    tol: float,
    max_iter: int,
    engine: Engine,
    relaxation: Relaxation | None = Relaxation(),
) -> Balanced:
    """Potentials that balance `log`, started at f and g.

    Stops when the columns are off by at most `tol` (L1, relative to the mass) or after `max_iter` iterations.
    It also stops where rounding allows no more. Rows are exact in any case. `relaxation` carries on where an
    earlier call left it; `None` turns it off.
    """
    # Masses of total 1, so that nothing below depends on their unit, and only f ⊕ g matters: with ⟨g, b⟩ = 0
    # neither is large without need.
    mass = a.sum()
    a, b = a / mass, b / mass
    shift = dot(g, b) - math.log(mass)
    f, g = np.where(a > 0, f + shift, -np.inf), np.where(b > 0, g - dot(g, b), -np.inf)
    found = _balance(log, a, b, f, g, tol, max_iter, engine, relaxation)
    values = found.values
    if values is not None and mass != 1.0:
        values *= mass
    return replace(found, f=found.f + math.log(mass), columns=mass * found.columns, values=values)


def _balance(
    log: Matrix,
    a: Double,
    b: Double,
    f: Double,
    g: Double,
    tol: float,
    max_iter: int,
    engine: Engine,
    relaxation: Relaxation | None,
) -> Balanced:
    """`balance` for masses of total 1."""
    rough = a.size * b.size >= SINGLE_ENTRIES and _float32_holds(a, b)
    single = bool(rough and tol >= SINGLE_TOLERANCE)
    n_iter, limit, kernel, earlier = 0, _Limit(), None, math.inf

    def nearly(f: Double, g: Double) -> float:
        return max(ROUNDED_ERROR, NEARLY_DIGITS * engine.precision / SINGLE_PRECISION * _single_noise(f, g))

    while True:
        # The sweep form: any start is safe in it. It begins in float32 and ends in float64.
        rough = rough and n_iter + 1 < max_iter
        sums = engine.sweep(Request(log, f, g, row_mass=a, single=rough))
        moved, f, n_iter = _distance(sums.f, f), sums.f, n_iter + 1
        error = _error(sums.columns, b)
        if rough and error <= max(tol, 100.0 * _single_noise(f, g)):
            rough = False
            continue
        rounded = limit.reached(error, nearly(f, g), IDLE_ROUNDS if kernel is not None else IDLE_SWEEPS)
        if error <= tol or n_iter >= max_iter or rounded:
            return Balanced(f, g, error, n_iter, None, relaxation, sums.columns)
        if np.any((sums.columns < SAFE[0]) & (b > 0)):
            g = np.where(b > 0, _log(b) - engine.log_columns(log, f), -np.inf)
            continue
        if n_iter % JUDGED_EVERY == 0 and kernel is None:
            if not rough and remaining(earlier, error, tol, JUDGED_EVERY) > ASCENT_COST:
                here, limit = _Swept(a, b, f, g, sums.columns, error), _Limit()

                def done(place: _Swept, limit: _Limit = limit) -> bool:
                    rounded = limit.reached(place.error, nearly(place.f, place.g), IDLE_ASCENT)
                    return place.error <= tol or (rounded and engine.precision > 10.0 * DOUBLE)

                here, spent, _ = Ascent().run(here, here.evaluator(log, engine), done, max_iter - n_iter)
                return Balanced(here.f, here.g, here.error, n_iter + spent, None, relaxation, here.columns)
            earlier = error
        relaxation = relaxation and relaxation.update(error, dot(f, a) + dot(g, b))
        step = _omega(relaxation) * _log_quotient(b, sums.columns)
        g = g + step
        # The scaling form: once the kernel is nearly balanced, and if it will be used for a while.
        if n_iter < FIRST_SWEEPS or moved + np.abs(step).max() > SAFE_SCALING[single]:
            continue
        if (kernel := engine.stored(log, f, g, single=single)) is None:
            continue
        rough = False
        scaled = _scale(
            kernel, a, b, tol, max_iter - n_iter, relaxation, SAFE_SCALING[single], dual=dot(f, a) + dot(g, b)
        )
        n_iter, relaxation, reached = n_iter + scaled.n_iter, scaled.relaxation, scaled.scaling
        if reached is not None:
            f, g = f + reached.log_u, g + reached.log_v
            over = reached.error <= tol or n_iter >= max_iter
            # Out of range, entries that underflowed in K may count: only a sweep can tell.
            if over and kernel.exact and reached.reach <= SAFE_SCALING[single]:
                values = kernel.scaled(reached.u, reached.v)
                return Balanced(f, g, reached.error, n_iter, values, relaxation, reached.columns)
            # The next sweep makes the rows exact in float64; if that does not suffice, float32 never will.
            single = single and not over


class _Limit:
    """Whether rounding allows no smaller error: it is nearly rounding, and was long not reduced by a tenth."""

    def __init__(self) -> None:
        self._best, self._idle = math.inf, 0

    def reached(self, error: float, nearly: float, idle: int) -> bool:
        """Looks at the error of one more iteration."""
        self._best, self._idle = (error, 0) if error < 0.9 * self._best else (self._best, self._idle + 1)
        return error < nearly and self._idle > idle


@dataclass(frozen=True, eq=False)
class _Swept:
    """The dual as a function of g, with exact rows, by sweeps: for L-BFGS where no kernel is stored."""

    a: Double
    b: Double
    f: Double
    g: Double
    columns: Double
    error: float

    @property
    def x(self) -> Double:
        return np.where(self.b > 0, self.g, 0.0)

    @property
    def value(self) -> float:
        return dot(self.f, self.a) + dot(self.g, self.b)

    @property
    def magnitude(self) -> float:
        return dot(np.abs(self.f), self.a) + dot(np.abs(self.g), self.b) + 1.0

    @property
    def gradient(self) -> Double:
        return np.where(self.b > 0, self.b - self.columns, 0.0)

    def precondition(self, direction: Double) -> Double:
        return by_columns(direction, self.b, self.columns)

    def evaluator(self, log: Matrix, engine: Engine) -> Callable[[Double], _Swept | None]:
        """The dual as a function of g."""
        a, b, f = self.a, self.b, self.f

        def evaluate(x: Double) -> _Swept | None:
            nonlocal f
            g = np.where(b > 0, x, -np.inf)
            sums = engine.sweep(Request(log, f, g, row_mass=a))
            if not (np.isfinite(sums.columns).all() and (sums.columns[b > 0] > 0).all()):
                return None
            f = sums.f
            return _Swept(a, b, f, g, sums.columns, _error(sums.columns, b))

        return evaluate


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The result of iterations on a stored kernel; no scaling if it is too far from balance for this form."""

    scaling: Scaling | None
    n_iter: int
    relaxation: Relaxation | None


def _scale(
    kernel: Kernel,
    a: Double,
    b: Double,
    tol: float,
    max_iter: int,
    relaxation: Relaxation | None,
    limit: float,
    dual: float,
) -> _Scaled:
    """Sinkhorn's iteration  u = a / Kv,  v = b / Kᵀu  on a stored kernel, while the scalings are in range.

    Where it would take long, quasi-Newton ascent takes over, and Newton's method where that would too.
    """
    here = Scaling.of(kernel, a, b, np.zeros_like(b))
    if here is None or here.reach > limit:
        return _Scaled(None, 0, relaxation)
    earlier = here
    for n_iter in range(1, max_iter):
        if here.error <= tol:
            return _Scaled(here, n_iter, relaxation)
        if n_iter % JUDGED_EVERY == 0:
            if remaining(earlier.error, here.error, tol, JUDGED_EVERY) > ASCENT_COST:
                here, more = _ascend(kernel, here, tol, max_iter - n_iter, limit)
                return _Scaled(here, n_iter + more, relaxation)
            earlier = here
        relaxation = relaxation and relaxation.update(here.error, dual + here.dual)
        there = Scaling.of(kernel, a, b, here.log_v + _omega(relaxation) * _log_quotient(b, here.columns))
        if there is None or there.reach > limit:
            return _Scaled(here, n_iter, relaxation)
        here = there
    return _Scaled(here, max_iter, relaxation)


def _ascend(kernel: Kernel, here: Scaling, tol: float, max_iter: int, limit: float) -> tuple[Scaling, int]:
    """Quasi-Newton ascent on the dual, and Newton's method where that would take long as well."""
    a, b, ascent, spent, first = here.a, here.b, Ascent(), 0, here

    def done(place: Scaling) -> bool:
        return place.error <= tol or place.reach > limit

    while spent < max_iter and not done(here):
        earlier = here
        count = min(JUDGED_EVERY, max_iter - spent)
        here, count, stuck = ascent.run(here, lambda x: Scaling.of(kernel, a, b, x), done, count)
        spent += count
        if done(here):
            break
        # Its progress comes in bursts: the rate is that of the last iterations, or of all if that is better.
        rates = (earlier, count), (first, spent)
        left = min(remaining(since.error, here.error, tol, steps) for since, steps in rates)
        if stuck or left > _newton_cost(kernel.shape):
            if min(kernel.shape) > NEWTON_SIZE and stuck:
                break
            here, steps = newton(kernel, a, b, here, tol=tol, max_iter=max_iter - spent, reach=limit)
            return here, spent + steps
    return here, spent


def _newton_cost(shape: tuple[int, int]) -> float:
    """The measured cost of a few Newton steps, in iterations of Sinkhorn's algorithm."""
    size = min(shape)
    return math.inf if size > NEWTON_SIZE else 20.0 + 0.2 * size


def _omega(relaxation: Relaxation | None) -> float:
    return 1.0 if relaxation is None else relaxation.omega


def _error(columns: Double, b: Double) -> float:
    return float(np.abs(columns - b).sum() / b.sum())


def _float32_holds(a: Double, b: Double) -> bool:
    """Whether no mass is near the limits of float32."""
    return all(mass[mass > 0].min() > 1e-25 for mass in (a, b))


def _single_noise(f: Double, g: Double) -> float:
    """The relative error of an entry whose logarithm is summed in float32, as far as the potentials tell."""
    return SINGLE_PRECISION * (1.0 + sum(float(np.abs(p[np.isfinite(p)]).max(initial=0.0)) for p in (f, g)))


def _distance(new: Double, old: Double) -> float:
    """The largest change of a finite potential."""
    finite = np.isfinite(new) & np.isfinite(old)
    return float(np.abs(new[finite] - old[finite]).max(initial=0.0))


def _log_quotient(target: Double, actual: Double) -> Double:
    """log target − log actual, zero where the target is zero."""
    return np.log(np.divide(target, actual, out=np.ones_like(target), where=target > 0))


def _log(weights: Double) -> Double:
    """The logarithm, −∞ at zero without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def dot(potential: Double, weights: Double) -> float:
    """⟨potential, weights⟩ where a potential may be infinite or undefined on zero weight."""
    return float(np.dot(np.where(weights > 0, potential, 0.0), weights))
