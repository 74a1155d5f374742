"""The loop: stopping, certificates, tracing, timing, callbacks and progress, once for all solvers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from driftway.engines.engine import DOUBLE
from driftway.plan.lbfgs import ROUNDING
from driftway.plan.plan import Plan
from driftway.plan.sinkhorn import IDLE_ROUNDS
from driftway.problem.model import Model
from driftway.problem.solution import Iteration, Solution, Trace
from driftway.solvers.certificate import Certificate, certify, relative_gap
from driftway.solvers.only_coupling import has_one_coupling, only_coupling
from driftway.solvers.progress import Progress
from driftway.solvers.slope_check import slope_error
from driftway.solvers.solver import NO_PROGRESS, STAGE_LIMIT, Solver, Start, State, is_weak

Callback = Callable[[Iteration, Plan], bool | None]

# A certificate costs a few sweeps: it is drawn up at the first ten iterations, then at every tenth, and whenever the
# objective and the bound as they stand suggest that the solve is over.
CERTIFY_EVERY = 10
# Inner problems are solved to this share of the certified gap, and never beyond what rounding allows.
INNER_SHARE, INNER_FIRST = 0.1, 1e-3
# Iterations from which a message says what makes them many or expensive, in float64 and in less.
MANY, MANY_IN_SINGLE = 100, 10
# The same of inner iterations, which take as long as those of the default where there is nothing else in an iteration.
MANY_INNER = 1000
# Relative smoothness over ε from which potentials, which are as large, leave a plan fewer digits than are asked for.
STRONG = 1e7


def iterate(
    model: Model,
    solver: Solver,
    start: Start,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None,
    progress: bool,
) -> tuple[Solution, bool]:
    """Runs a solver until gap and marginal error are certified to be within `tol`, or it has to stop.

    Returns the solution, and whether rounding was what stopped the solver.
    """
    began = perf_counter()
    trace, n_iter = Trace(), 0
    direct = solver.direct and not model.J.vanishes
    accuracy = max(INNER_SHARE * tol, ROUNDING if _few_steps(model, solver) else INNER_FIRST)
    certificate, certified_at = Certificate(math.inf, -math.inf, math.inf, (start.f, start.g)), -1
    with Progress(progress, tol, model.engine) as bar:
        alone = has_one_coupling(model)
        state = only_coupling(model) if alone else solver.start(model, start, accuracy)
        stall = _Stall()
        while True:
            exhausted = state.exhausted or alone or (direct and stall.is_over(n_iter))
            last = n_iter == max_iter or exhausted
            if last or _due(model, state, certificate, n_iter, tol):
                certificate, certified_at = certify(model, state, certificate.lower_bound, tol), n_iter
                accuracy = _tighten(model, state, certificate, accuracy, tol)
                stall.see(max(certificate.gap, state.point.error), n_iter)
            iteration = _line(state, certificate, perf_counter() - began)
            trace.append(iteration)
            bar.update(iteration)
            converged = certified_at == n_iter and _within(state, certificate, tol)
            stopped = callback is not None and bool(callback(iteration, state.point.plan))
            if converged or stopped or last or certificate.contradiction:
                break
            state = solver.advance(model, state, accuracy)
            n_iter += 1
            stall.spent += state.inner
    if certified_at != n_iter:
        certificate = certify(model, state, certificate.lower_bound, tol)
        converged = _within(state, certificate, tol)
    reason = "stopped by the callback" if stopped else f"max_iter={max_iter} reached"
    if exhausted:
        reason = "rounding allows no further progress"
    if certificate.contradiction:
        reason = "rounding left no lower bound" if model.J.proven else "a lower bound came out above the value"
    inner = sum(line.inner for line in trace)
    message = _message(model, solver, state, certificate, tol, None if converged else reason, n_iter, inner)
    f, g = (potential.astype(model.problem.dtype) for potential in certificate.potentials)
    solution = Solution(
        state.point.plan,
        certificate.value,
        certificate.lower_bound,
        certificate.gap,
        state.point.error,
        (f, g),
        converged,
        message,
        n_iter,
        trace,
    )
    return solution, not converged and (exhausted or certificate.contradiction)


@dataclass
class _Stall:
    """How long the gap or marginal error of a direct solver has not improved.

    It goes in circles if that takes more than a few rounds: Newton's method improves in one, and L-BFGS in some.
    """

    best: float = math.inf
    since: int = 0
    spent: int = 0

    def see(self, distance: float, n_iter: int) -> None:
        if distance < NO_PROGRESS * self.best:
            self.best, self.since, self.spent = distance, n_iter, 0

    def is_over(self, n_iter: int) -> bool:
        return n_iter - self.since > IDLE_ROUNDS and self.spent > STAGE_LIMIT


def _few_steps(model: Model, solver: Solver) -> bool:
    """Whether no inner problem is worth solving roughly: the solver has none, or J is so weak that few follow."""
    return is_weak(model.problem) or solver.direct


def _within(state: State, certificate: Certificate, tol: float) -> bool:
    return bool(certificate.gap <= tol and state.point.error <= tol)


def _due(model: Model, state: State, certificate: Certificate, n_iter: int, tol: float) -> bool:
    if n_iter < CERTIFY_EVERY or n_iter % CERTIFY_EVERY == 0:
        return True
    if state.bound is None or state.point.error > tol:
        return False
    bound = max(state.bound, certificate.lower_bound)
    return relative_gap(model, state.point.objective, bound) <= tol


def _tighten(model: Model, state: State, certificate: Certificate, accuracy: float, tol: float) -> float:
    """The accuracy of the inner problems: in step with the gap, and tighter where their error dominates it."""
    accuracy = min(accuracy, max(INNER_SHARE * certificate.gap, INNER_SHARE * tol))
    values = sorted((certificate.value, state.point.objective))
    rounding = relative_gap(model, values[1], values[0])  # what rounding onto the marginals changes
    if rounding > 0.3 * max(certificate.gap, tol) or (certificate.gap <= tol < state.point.error):
        accuracy = min(accuracy, INNER_SHARE * state.point.error)
    return max(accuracy, ROUNDING)


def _line(state: State, certificate: Certificate, seconds: float) -> Iteration:
    point = state.point
    return Iteration(seconds, point.objective, certificate.gap, point.error, state.step, state.inner)


def _message(
    model: Model,
    solver: Solver,
    state: State,
    certificate: Certificate,
    tol: float,
    reason: str | None,
    n_iter: int,
    inner: int,
) -> str:
    held = "dense" if state.point.plan.log.factored is None else "factored"
    ran = f"{type(solver).__name__}, {held}, {n_iter} iteration{'s' * (n_iter != 1)}"
    explained = inner >= MANY_INNER or reason is not None
    if n_iter >= MANY or explained:
        ran += solver.expense
    if model.engine.precision > 10.0 * DOUBLE and (n_iter >= MANY_IN_SINGLE or explained):
        ran += ", slow where float32 leaves no more digits: float64 is faster then"
    kind = "gap" if model.J.convex else "stationarity gap"
    if reason is None:
        return (
            f"converged: certified {kind} {certificate.gap:.1e} and marginal error {state.point.error:.1e} "
            f"within tol={tol:g} ({ran})"
        )
    missed = [
        f"{name} {reached:.1e}"
        for name, reached in ((kind, certificate.gap), ("marginal error", state.point.error))
        if not reached <= tol
    ]
    return (
        f"not converged: {reason} with {' and '.join(missed) or 'the tolerance not certified'} above tol={tol:g} "
        f"({ran}); {_advice(model, state, certificate)}"
    )


def _advice(model: Model, state: State, certificate: Certificate) -> str:
    """What to change where a solve has not converged."""
    error = slope_error(model, state.point.plan)
    if error:
        return f"J's gradient is wrong: its slopes and differences of J's values differ by {error:.0%}, so correct it"
    if certificate.contradiction and not model.J.proven:
        return "J is not convex as declared or its gradient is wrong: declare convex=False, or correct the gradient"
    return f"{_strength(model)}raise max_iter or tol, or increase epsilon"


def _strength(model: Model) -> str:
    """The part of a message that names a J far stronger than the entropy; empty otherwise."""
    smoothness = model.J.smoothness
    if smoothness is None or model.epsilon == 0 or not smoothness > STRONG * model.epsilon:
        return ""
    return (
        f"J is up to {smoothness / model.epsilon:.0e} times as strong as the entropy (relative smoothness over "
        "epsilon), which makes any solver slow and costs as many digits: lower its weight, or "
    )
