"""The claims of the paper's Section 4, tested on the saved data."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from driftway.experiments.figure2 import (
    CERTIFIED,
    CGS,
    MEANT,
    PAPER,
    PROCESSOR,
    STRENGTHS,
    WALL,
    Case,
    Figure2,
    Run,
)
from driftway.experiments.figure3 import KINDS, METRICS, Curves, Figure3, Method
from driftway.experiments.verdicts import Claim, Observation

LEVEL = 1e-6  # the normalised objective at which a run counts as converged
KEPT = 0.95  # the accuracy that counts as preserved
MARGIN = 1.1  # times whose ratio is smaller count as equal
EXPLAINED = 0.5  # the share of a difference that counts as its cause


# Figure 2


def speed_claims(figure2: Figure2) -> list[Claim]:
    """The claims of Section 4.1, tested in the normalisation of the paper's step."""
    panels = [case for case, solver in figure2.runs if solver == PAPER and case.normalization == MEANT]
    return [
        _faster(figure2, panels),
        _especially_small(figure2, panels),
        _cheaper(figure2, panels),
        _line_search(figure2, panels),
        _step(figure2),
    ]


def median_of(runs: list[Run], quantity: Callable[[Run], float]) -> float:
    """The median of a quantity over repetitions; infinite or NaN if it is so for most of them."""
    return float(np.median([quantity(run) for run in runs]))


def seconds_to(figure2: Figure2, case: Case, solver: str, clock: str = PROCESSOR) -> float:
    """The median time to `LEVEL`; infinite if it is not reached."""
    return median_of(figure2.runs[case, solver], lambda run: run.seconds_to(LEVEL, clock))


def seconds_certified(figure2: Figure2, case: Case, solver: str) -> float:
    """The median time to a certified gap of LEVEL, with the certificates; infinite where it is not reached."""
    return seconds_to(figure2, case, solver, CERTIFIED)


def seconds_per_iteration(figure2: Figure2, case: Case, solver: str) -> float:
    """The median time of an iteration over all runs; NaN if there was none."""
    return median_of(figure2.runs[case, solver], lambda run: run.seconds_per_iteration)


def speedup(figure2: Figure2, case: Case, clock: str) -> tuple[float, str]:
    """The time of CGS over that of Algorithm 1, and whether it is exact ("=") or a bound ("<", ">").

    A run that was stopped before `LEVEL` gives a bound. The ratio is NaN if both were.
    """
    paper, cgs = (seconds_to(figure2, case, solver, clock) for solver in (PAPER, CGS))
    ends = [median_of(figure2.runs[case, solver], lambda run: float(run.by(clock)[-1])) for solver in (PAPER, CGS)]
    if math.isfinite(paper):
        return (cgs / paper, "=") if math.isfinite(cgs) else (ends[1] / paper, ">")
    return (cgs / ends[0], "<") if math.isfinite(cgs) else (math.nan, "=")


def exceeds(ratio: float, sign: str, other: float) -> bool | None:
    """Whether a ratio is clearly above a number; None if it is too close, or a bound that does not decide it."""
    if ratio > MARGIN * other and sign != "<":
        return True
    if ratio < other / MARGIN and sign != ">":
        return False
    return None


def _ratio_text(ratio: float, sign: str) -> str:
    return "neither arrives" if math.isnan(ratio) else f"{sign.replace('=', '')} {ratio:.2g} times".strip()


def _factors(case: Case) -> dict[str, str]:
    return {"start": f"a start at {case.start}", "λ": f"λ = {case.strength:g}"}


def _faster(figure2: Figure2, panels: list[Case]) -> Claim:
    observations = []
    for case in panels:
        for clock in (WALL, PROCESSOR, CERTIFIED):
            found = speedup(figure2, case, clock)
            factors = {**_factors(case), "clock": clock}
            held = None if clock == WALL and figure2.busy else exceeds(*found, 1.0)
            observations.append(Observation(factors, _ratio_text(*found), held))
    return Claim(
        "“the proposed approach converges faster than CGS”",
        f"How many times longer CGS takes than Algorithm 1 with α = 10, to a normalised objective of {LEVEL:g}, and to "
        f"a certified gap of {LEVEL:g} where certificates are counted; what is within {MARGIN - 1:.0%} is open",
        observations,
    )


def _especially_small(figure2: Figure2, panels: list[Case]) -> Claim:
    observations = []
    for start in dict.fromkeys(case.start for case in panels):
        for clock in (WALL, PROCESSOR):
            large, small = (speedup(figure2, Case(strength, MEANT, start), clock) for strength in STRENGTHS)
            faster = exceeds(*small, 1.0)
            held = exceeds(*small, large[0]) if faster and large[1] == "=" else False if faster is False else None
            if clock == WALL and figure2.busy:
                held = None
            text = f"{_ratio_text(*large)} and {_ratio_text(*small)}"
            observations.append(Observation({"start": f"a start at {start}", "clock": clock}, text, held))
    return Claim(
        "“especially with a low entropic regularization (i.e., small λ)”",
        f"How many times longer CGS takes, at λ = {STRENGTHS[0]:g} and at λ = {STRENGTHS[1]:g}",
        observations,
    )


def _cheaper(figure2: Figure2, panels: list[Case]) -> Claim:
    observations = []
    for case in panels:
        paper, cgs = (seconds_per_iteration(figure2, case, solver) for solver in (PAPER, CGS))
        counts = [median_of(figure2.runs[case, s], lambda run: run.iterations_to(LEVEL)) for s in (PAPER, CGS)]
        needed = [f"{count:.0f}" if math.isfinite(count) else "too many" for count in counts]
        held = None if math.isnan(paper) or math.isnan(cgs) else paper < cgs
        text = f"{paper:.2g} s ({needed[0]} needed) against {cgs:.2g} s ({needed[1]} needed)"
        observations.append(Observation(_factors(case), text, held))
    return Claim(
        "“one iteration of Algorithm 1 is cheaper than one iteration of CGS algorithm”",
        f"Seconds per iteration, and how many are needed to {LEVEL:g}: Algorithm 1 against CGS",
        observations,
    )


def _line_search(figure2: Figure2, panels: list[Case]) -> Claim:
    observations = []
    for case in panels:
        paper, cgs = (seconds_per_iteration(figure2, case, solver) for solver in (PAPER, CGS))
        searches = [run.searches for run in figure2.runs[case, CGS] if run.searches.size]
        search = float(np.median(np.concatenate(searches))) if searches else math.nan
        known = not any(map(math.isnan, (paper, cgs, search)))
        held = cgs > paper and search >= EXPLAINED * (cgs - paper) if known else None
        text = f"{search:.2g} of {cgs:.2g} s, and {cgs - paper:+.2g} s beside Algorithm 1"
        observations.append(Observation(_factors(case), text, held))
    return Claim(
        "“due to the line search performed by the latter to adjust the step size”",
        "Seconds that the line search takes of an iteration of CGS, and what that iteration costs more than one of "
        f"Algorithm 1; the search is the cause where it is at least {EXPLAINED:.0%} of the difference",
        observations,
    )


def _step(figure2: Figure2) -> Claim:
    observations = []
    for (case, solver), runs in figure2.runs.items():
        if solver == PAPER:
            first, last = (median_of(runs, lambda run, k=k: float(run.objective[k])) for k in (0, -1))  # type: ignore[misc]
            factors = {"normalization": f"the normalisation `{case.normalization}`", **_factors(case)}
            observations.append(Observation(factors, f"{first:.1e} → {last:.1e}", bool(last < first)))
    return Claim(
        "“The step size is set to α = 10” (with η_t = 50)",
        "The normalised objective of Algorithm 1 with α = 10, from the start to the end of the run; it has to fall",
        observations,
    )


# Figure 3


def adaptation_claims(figure3: Figure3) -> list[Claim]:
    """The claims of Section 4.2 by metric and length of the stream, and one of the conclusion."""
    return [
        _sequential(figure3),
        _lasso_insufficient(figure3),
        _consistent(figure3),
        _preserved(figure3),
        _superior(figure3),
    ]


def mean_accuracy(curves: Curves) -> float:
    """The mean accuracy over runs and steps."""
    return float(curves.accuracy.mean())


def worst_step(curves: Curves) -> float:
    """The mean accuracy over the runs at the step where it is lowest."""
    return float(curves.accuracy.mean(axis=0).min())


def _observations(figure3: Figure3, look: Callable[[Callable[..., Curves]], tuple[str, bool]]) -> list[Observation]:
    """The observations of `look` for every metric and length; it gets a function from kind and cost to the curves."""
    observations = []
    for metric in METRICS:
        for steps in figure3.horizons:

            def curves(kind: str, cost: str = "sequential", metric: str = metric, steps: int = steps) -> Curves:
                return figure3.methods[steps, Method(metric, cost, kind)]

            observations.append(Observation({"metric": metric, "steps": f"{steps} steps"}, *look(curves)))
    return observations


def _sequential(figure3: Figure3) -> Claim:
    def look(curves: Callable[..., Curves]) -> tuple[str, bool]:
        gains = {kind: mean_accuracy(curves(kind)) - mean_accuracy(curves(kind, "static")) for kind in KINDS}
        text = ", ".join(f"{kind} {100 * gain:+.1f}" for kind, gain in gains.items())
        return text, min(gains.values()) > 0

    return Claim(
        "“a sequential adaptation strategy, instead of a static one, allows for better tracking and adaptation”",
        "Points of mean accuracy that the sequential cost gains, by regulariser; all have to gain",
        _observations(figure3, look),
    )


def _lasso_insufficient(figure3: Figure3) -> Claim:
    def look(curves: Callable[..., Curves]) -> tuple[str, bool]:
        worst = worst_step(curves("class"))
        return f"{100 * worst:.1f}", worst < KEPT

    return Claim(
        "“group lasso regularization on the source labels is not enough to guarantee a continuous adaptation”",
        f"Accuracy in % at the worst step, group lasso, sequential; {100 * KEPT:g} would be enough",
        _observations(figure3, look),
    )


def _preserved(figure3: Figure3) -> Claim:
    def look(curves: Callable[..., Curves]) -> tuple[str, bool]:
        worst = worst_step(curves("time"))
        return f"{100 * worst:.1f}", worst >= KEPT

    return Claim(
        "“the time regularizer […] preserves the accuracy of the classification method on all the targets”",
        f"Accuracy in % at the worst step, time regulariser, sequential; {100 * KEPT:g} counts as preserved",
        _observations(figure3, look),
    )


def _consistent(figure3: Figure3) -> Claim:
    def look(curves: Callable[..., Curves]) -> tuple[str, bool]:
        moves = [float(curves(kind).moves[:, 1:].mean()) for kind in ("time", "class", "none")]
        return ", ".join(f"{move:.3f}" for move in moves), moves[0] < min(moves[1:])

    return Claim(
        "“the time regularizer ensures temporal consistency along the sequence of adaptations”",
        "How far the mapped source goes per step with the time, the class and no regulariser, sequential; time has to "
        "be least (images that shrink move less, too)",
        _observations(figure3, look),
    )


def _superior(figure3: Figure3) -> Claim:
    def look(curves: Callable[..., Curves]) -> tuple[str, bool]:
        means = [mean_accuracy(curves(kind)) for kind in ("time", "class", "none")]
        return ", ".join(f"{100 * mean:.1f}" for mean in means), means[0] > max(means[1:])

    return Claim(
        "“superior performance over the state-of-the-art algorithms” (Section 5)",
        "Mean accuracy in % with the time, the class and no regulariser, sequential; time has to be best",
        _observations(figure3, look),
    )
