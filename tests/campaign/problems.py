"""Trials of `solve`: one random problem, the default solver and others, all engines."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from driftway import (
    ConditionalGradient,
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    Regularizer,
    Solution,
    TimeSmoothness,
    WassersteinTime,
    solve,
)
from driftway.engines import Engine, Threads
from driftway.solvers import DualAscent, DualNewton, FrankWolfe, Sinkhorn, Solver

from . import judge, specs
from .data import Data, Term, arrays
from .outcome import Outcome
from .specs import Spec

TOL = 1e-6  # of every solve
# A time is too long beyond so many times the default's, and beyond so many seconds, below which calls are measured.
SLOWER, SHORT = 100.0, 0.5
# Solvers that are asked for are stopped after a little more than the time that is too long: that is looked at, and what
# they have reached by then is judged as it is.
PATIENCE = 1.5
# Seconds that no solve has where all iterations are not wanted: a campaign is of many problems. It tells what is slow.
LONGEST = PATIENCE * SHORT
# The relative rounding error of a number in float32. A plan that is only handed out in float32 has it in its entries;
# in one that was computed there, some of them add up, and marginals are documented to hold to 1e-6.
ENTRY, READ, COMPUTED, DOCUMENTED = 6e-8, 4e-7, 2e-6, 1e-6
# The share of the tolerance by which a value may be above the plan's where that makes it cheaper, and rounding.
SLACK = 0.011
# Rounding errors, in units of the machine's precision times the magnitudes that are added up.
ROUNDING = 256 * judge.EPS
# What the library documents that it refuses: solvers that do not fit a problem, and what is beyond floating point.
UNFIT = re.compile(r"use (driftway\.solvers\.)?(ForwardBackward|FrankWolfe)|use accelerate=False")
BEYOND = re.compile(r"cannot be represented|cost/epsilon to be finite")
# What a solve says of a J that rounding makes worthless.
STIFF = re.compile(r"J is up to ([0-9e+]+) times as strong as the entropy")
# What a slow solve says of its cause.
TOLD = re.compile(r"slow|rounding allows no|stiff|strong")


@dataclass(frozen=True, eq=False)
class _Run:
    name: str
    engine: str
    solution: Solution
    seconds: float
    gamma: np.ndarray
    value: float
    size: float


def draw(rng: np.random.Generator) -> Spec:
    engines = ("threads",) * 5 + ("torch", "torch32") if find_spec("torch") else ("threads",)
    return specs.draw(rng, engines)


def simpler(spec: Spec) -> Iterator[Spec]:
    return specs.simpler(spec)


def close() -> None:
    """Nothing is held between trials."""


def run(spec: Spec) -> Outcome:
    """Solves a problem by the default solver and by those of `runs`, and judges every result."""
    outcome, data, runs = Outcome(), arrays(spec), list[_Run]()
    for name, engine in [("default", "threads"), *spec["runs"]]:
        most = np.inf if not runs else PATIENCE * max(SHORT, SLOWER * runs[0].seconds)
        if spec["iterations"] < 1000:
            most = min(most, LONGEST)
        done = _solved(spec, data, name, engine, most, outcome)
        if done is not None:
            runs.append(done)
    if runs:
        _compare(spec, data, runs, outcome)
    return outcome


def problem_of(spec: Spec, data: Data) -> Problem:
    cost = data.cost.astype(np.float32 if spec["single"] else np.float64)
    J = sum(map(_regularizer, data.terms))
    return Problem(
        cost if data.clouds is None else PointCloudCost(*data.clouds, spec["cost"]),
        data.a,
        data.b,
        epsilon=data.epsilon,
        regularizer=J if isinstance(J, Regularizer) else None,
    )


def _regularizer(term: Term) -> Regularizer:
    arrays, weight = term.arrays, term.weight
    if term.name == "lasso":
        return GroupLasso(arrays["labels"], weight)
    if term.name.startswith("time"):
        return TimeSmoothness(arrays["Y"], arrays["previous"], weight, term.name[5:])  # type: ignore[arg-type]
    if term.name.startswith("laplacian"):
        return Laplacian(arrays["similarity"], arrays["points"], weight, term.name[10:])  # type: ignore[arg-type]
    if term.name == "wasserstein":
        return WassersteinTime(arrays["Y"], arrays["previous"], weight)
    return Custom(lambda gamma: weight * (gamma**2).sum(), lambda gamma: 2.0 * weight * gamma, convex=True)


def solver_of(name: str) -> Solver | None:
    if name == "default":
        return None
    if name == "Accelerated":
        return ForwardBackward(accelerate=True)
    return {
        "Sinkhorn": Sinkhorn(),
        "ForwardBackward": ForwardBackward(),
        "ConditionalGradient": ConditionalGradient(),
        "FrankWolfe": FrankWolfe(),
        "DualAscent": DualAscent(),
        "DualNewton": DualNewton(),
    }[name]


def engine_of(name: str) -> Engine:
    if name == "threads":
        return Threads()
    from driftway.engines import Torch

    return Torch("cpu", "float32" if name == "torch32" else "float64")


def _solved(spec: Spec, data: Data, name: str, engine: str, most: float, outcome: Outcome) -> _Run | None:
    """A solve, its warnings and exceptions judged; `None` if there is no solution."""
    label = f"{name} on {engine}"

    def fail(kind: str, detail: str) -> None:
        outcome.fail(kind, label, detail)

    began = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            solution = _solve(spec, data, name, engine, most)
            seconds = time.process_time() - began
            gamma = solution.plan.round().dense().astype(np.longdouble)
            held = solution.plan.dense().astype(np.longdouble)
    except ValueError as error:
        told = str(error)
        if not UNFIT.search(told) and (specs.is_ordinary(spec) or not BEYOND.search(told)):
            fail("exception", f"{type(error).__name__}: {error}")
        outcome.count("refused")
        return None
    except Exception as error:  # whatever it is, it is not documented
        fail("exception", f"{type(error).__name__}: {error}")
        return None
    for warning in told:
        if not issubclass(warning.category, ConvergenceWarning):
            fail("warning", f"{warning.category.__name__}: {warning.message} ({warning.filename}:{warning.lineno})")
            break
    outcome.count("solves")
    outcome.count("converged" if solution.converged else "not converged")
    if not solution.converged and name == "default":
        outcome.count("default not converged")
    if not (np.isfinite(gamma).all() and (gamma >= 0).all() and np.isfinite(solution.value)):
        fail("plan", f"not finite or negative; value {solution.value}, converged={solution.converged}")
        return None
    exact = DOCUMENTED if engine == "torch32" else READ if spec["single"] else 1e-10
    if (off := _off(data, gamma)) > exact:
        fail("rounded marginals", f"off by {off:.1e}")
    if solution.converged and (off := _off(data, held)) > 1.01 * TOL + exact:
        fail("certified marginals", f"off by {off:.1e}, said {solution.marginal_error:.1e}")
    return _Run(name, engine, solution, seconds, gamma, *judge.objective(data, gamma))


def _solve(spec: Spec, data: Data, name: str, engine: str, most: float) -> Solution:
    """One solve, stopped after so much processor time."""
    until = time.process_time() + most
    return solve(
        problem_of(spec, data),
        solver_of(name),
        tol=TOL,
        max_iter=spec["iterations"],
        engine=engine_of(engine),
        callback=lambda *_: time.process_time() > until,
    )


def _off(data: Data, gamma: np.ndarray) -> float:
    return float((np.abs(gamma.sum(axis=1) - data.a).sum() + np.abs(gamma.sum(axis=0) - data.b).sum()) / data.a.sum())


def _compare(spec: Spec, data: Data, runs: list[_Run], outcome: Outcome) -> None:
    """What several solutions of one problem say of each other."""
    mass = float(data.a.sum())
    best = min(runs, key=lambda r: r.value + _blur(spec, r) * r.size)
    # Any plan and potentials give a bound of the same problem; those of the best plan give a good one.
    bound, bound_size = -np.inf, 0.0
    if data.convex:
        bound, bound_size = judge.lower_bound(data, best.gamma, best.solution.potentials)
    for r in runs:
        s, unit = (
            r.solution,
            max(abs(r.value), data.epsilon * mass, 1e-3 * float(np.ptp(data.cost)) * mass * (data.epsilon == 0)),
        )
        noise, blur = ROUNDING * (r.size + best.size + bound_size), _blur(spec, r)

        def fail(kind: str, detail: str, r: _Run = r) -> None:
            said = f"value {r.solution.value!r}, lower bound {r.solution.lower_bound!r}, {r.solution.message}"
            outcome.fail(kind, f"{r.name} on {r.engine}", f"{detail}; {said}")

        # Where J divides by a tiny mass it takes another value at every way to round a plan onto its marginals, and the
        # message says how many digits that costs. A value above the plan's still bounds the optimum.
        stiff = None if s.converged or s.value < r.value else STIFF.search(s.message)
        spread = noise * float(stiff[1]) if stiff else 0.0
        # A value may be above the plan's where that makes it cheaper. It may not be below it, but for rounding.
        above, rounding = s.value - r.value, _blur_of_value(spec, data, r) * r.size + noise
        if above > SLACK * TOL * unit + rounding + spread or -above > rounding:
            fail("value of the plan", f"the plan's objective is {r.value!r}")
        if s.value < bound - noise - _blur_of_value(spec, data, r) * r.size:
            fail("value below the optimum", f"the optimum is at least {bound!r}")
        if s.lower_bound > best.value + noise + (blur + _blur(spec, best)) * best.size:
            fail("lower bound above the optimum", f"{best.name} on {best.engine} found a plan of {best.value!r}")
        if s.converged and data.convex and r.value - best.value > 1.01 * TOL * unit + noise + blur * r.size:
            fail("certificate", f"{best.name} on {best.engine} found a plan of {best.value!r}")
        if s.converged and data.convex:
            outcome.count("confirmed" if r.value - bound <= 1.5 * TOL * unit + noise + blur * r.size else "unconfirmed")
        if "a lower bound came out above the value" in s.message:
            fail("blamed J", "J is convex")
        if _is_slow(r.seconds, runs[0]) and not TOLD.search(s.message):
            seconds = _seconds(spec, data, r)  # without what was compiled or loaded the first time
            if _is_slow(seconds, runs[0]):
                fail("slow", f"{seconds:.1f} s, the default {runs[0].seconds:.3f} s")


def _is_slow(seconds: float, default: _Run) -> bool:
    return default.name == "default" and seconds > max(SLOWER * default.seconds, SHORT)


def _seconds(spec: Spec, data: Data, r: _Run) -> float:
    """The processor time of the same solve once more."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _solve(spec, data, r.name, r.engine, PATIENCE * r.seconds)
    return time.process_time() - began


def _blur_of_value(spec: Spec, data: Data, r: _Run) -> float:
    """The same for a plan's own value: in float32 its entries were rounded otherwise than those that we see.

    Their relative error is that of the log-potentials. Only what has converged has to keep it below what is certified.
    """
    if r.engine != "torch32" or r.solution.converged or not data.epsilon:
        return _blur(spec, r)
    f, g = (np.abs(np.asarray(each)[np.isfinite(each)]).max(initial=0.0) for each in r.solution.potentials)
    return max(COMPUTED, 4.0 * ENTRY * (1.0 + float(f + g) / data.epsilon))  # three numbers and their sum


def _blur(spec: Spec, r: _Run) -> float:
    """The relative error of sums over a plan that was computed or read in float32."""
    return COMPUTED if r.engine == "torch32" else READ if spec["single"] else 0.0
