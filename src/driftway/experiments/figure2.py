"""Figure 2: the objective over the cumulative time of the iterations, for Algorithm 1, CGS and other solvers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from driftway.engines.cores import available_cores
from driftway.experiments.moons import DEGREES, Double, turned_moons
from driftway.experiments.scale import Scale
from driftway.experiments.tasks import Arrays, Store, Task
from driftway.experiments.timing import TimedSolver
from driftway.geometry.costs import PointCloudCost
from driftway.problem.problem import Problem
from driftway.regularizers import TimeSmoothness
from driftway.regularizers.time_smoothness import Normalization
from driftway.solvers import ConditionalGradient, DualAscent, ForwardBackward
from driftway.solvers.solve import sinkhorn, solve
from driftway.solvers.solver import Solver

STRENGTHS, WEIGHT, STEP = (0.5, 0.01), 50.0, 10.0
SEED = 3000
PAPER, CGS, DUAL = "Algorithm 1, α = 10", "CGS", "dual ascent"
SOLVERS: dict[str, Callable[[], Solver]] = {
    PAPER: lambda: ForwardBackward(step=STEP),
    CGS: ConditionalGradient,
    "Algorithm 1, α found": ForwardBackward,
    "Algorithm 1, accelerated": lambda: ForwardBackward(accelerate=True),
    DUAL: DualAscent,
}
ENTROPIC, INDEPENDENT = "the entropic plan", "a⊗b"
PROCESSOR, WALL = "processor time", "wall time"
CERTIFIED = "processor time to a certified gap, with the certificates"
# The normalisation of the time term for which the paper's step is meant, and the others. "sum" is the paper's formula.
MEANT, OTHERS = "coupling", ("sum", "mean")
# Tolerances of the runs, and of the optimum that they are compared with.
TOL, REFERENCE_TOL = 1e-8, 1e-10
# Sizes of the small run before a timed one, which compiles the code.
WARM_UP = (400, 150)


class Case(NamedTuple):
    """One panel: λ, the normalisation of the time term, and the plan from which the solvers start."""

    strength: float
    normalization: str
    start: str


@dataclass(frozen=True, eq=False)
class Run:
    """One run: cumulative time and normalised objective per iteration.

    `seconds` is processor time of all threads, and `wall` is wall time. The normalised objective is
    (F − F*)/(F(a⊗b) − F*), with the best lower bound in the place of F*. `searches` has the processor time of some line
    searches of CGS. `certified` has the certified gaps, and `counted` the processor time to them with the certificates.
    """

    seconds: Double
    wall: Double
    objective: Double
    searches: Double
    certified: Double
    counted: Double

    def by(self, clock: str) -> Double:
        """The cumulative seconds by this clock."""
        return {PROCESSOR: self.seconds, WALL: self.wall, CERTIFIED: self.counted}[clock]

    def seconds_to(self, level: float, clock: str) -> float:
        """The time at which the normalised objective, or the certified gap, reached a level; infinite if never."""
        reached = np.flatnonzero((self.certified if clock == CERTIFIED else self.objective) <= level)
        return float(self.by(clock)[reached[0]]) if reached.size else np.inf

    def iterations_to(self, level: float) -> float:
        """The number of iterations to a level; infinite if it was never reached."""
        reached = np.flatnonzero(self.objective <= level)
        return float(reached[0]) if reached.size else np.inf

    @property
    def seconds_per_iteration(self) -> float:
        """The median time of an iteration; NaN if there was none."""
        return float(np.median(np.diff(self.seconds))) if self.seconds.size > 1 else np.nan


@dataclass(frozen=True, eq=False)
class Figure2:
    """All runs by panel and solver, and the best value and lower bound of F* by λ and normalisation.

    `load` is the average number of processes that waited for a core when the runs began.
    """

    runs: dict[tuple[Case, str], list[Run]]
    optimum: dict[tuple[float, str], tuple[float, float]]
    sizes: tuple[int, int]
    seconds: float
    cores: int
    load: float

    @property
    def busy(self) -> bool:
        """Whether other processes used the cores, so that wall times say little about the solvers."""
        return self.load > self.cores + 1


def figure2_problem(strength: float, normalization: str, n: int, m: int) -> Problem:
    """The second adaptation step of a stream of moons, with η_c = 0 and η_t = 50."""
    source, first, second = (turned_moons(size, DEGREES * k, SEED + k)[0] for k, size in enumerate((n, m, m)))
    mapped = sinkhorn(PointCloudCost(source, first), epsilon=strength).plan.barycentric_map(first)
    smooth = TimeSmoothness(second, mapped, WEIGHT, cast(Normalization, normalization))
    return Problem(PointCloudCost(mapped, second), epsilon=strength, regularizer=smooth)


def _independent(problem: Problem) -> Double:
    return np.multiply.outer(problem.a, problem.b)


def run_solver(
    *, strength: float, normalization: str, start: str, solver: str, repetition: int, seconds: float, n: int, m: int
) -> Arrays:
    """Makes one timed run, after a small one so that no compilation is timed."""
    timed, load = TimedSolver(SOLVERS[solver](), seconds), os.getloadavg()[0]
    for size in (WARM_UP, (n, m)):
        problem = figure2_problem(strength, normalization, *size)
        timed = TimedSolver(SOLVERS[solver](), 0.1 * seconds if size == WARM_UP else seconds)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(
                problem,
                timed,
                init=_independent(problem) if start == INDEPENDENT else None,
                tol=TOL,
                max_iter=10**6,
                callback=timed.is_over,
            )
    return {
        "seconds": np.array(timed.seconds),
        "wall": np.array(timed.wall),
        "objective": np.array(timed.objective),
        "searches": np.array(timed.searches),
        "certified": np.array(timed.certified),
        "counted": np.array(timed.counted),
        "value": np.array(solution.value),
        "lower_bound": np.array(solution.lower_bound),
        "cores": np.array(available_cores()),
        "load": np.array(load),
    }


def run_reference(*, strength: float, normalization: str, seconds: float, n: int, m: int) -> Arrays:
    """Computes the optimum with a larger budget, and F(a⊗b)."""
    problem = figure2_problem(strength, normalization, n, m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = solve(problem, tol=REFERENCE_TOL, callback=lambda line, plan: line.seconds > seconds)
        outer = solve(problem, ForwardBackward(), init=_independent(problem), tol=1.0, callback=lambda line, plan: True)
    independent = outer.trace.objective[0]
    found = {"value": solution.value, "lower_bound": solution.lower_bound, "independent": independent}
    return {name: np.array(number) for name, number in found.items()}


# The tasks.


def cases() -> list[Case]:
    """The panels: both starts for the normalisation of the paper's step, and one start for the other normalisations."""
    panels = [Case(strength, MEANT, start) for start in (ENTROPIC, INDEPENDENT) for strength in STRENGTHS]
    return panels + [Case(strength, other, ENTROPIC) for other in OTHERS for strength in STRENGTHS]


def solvers_of(case: Case) -> list[str]:
    """The solvers of a panel: CGS only for the normalisation of the paper's step, dual ascent only without a plan."""
    absent = {DUAL} if case.start == INDEPENDENT else {CGS} if case.normalization != MEANT else set()
    return [name for name in SOLVERS if name not in absent]


def run_task(case: Case, solver: str, repetition: int, scale: Scale) -> Task:
    """The task of one timed run."""
    seconds = scale.seconds if case.normalization == MEANT else scale.other_seconds
    n, m = scale.sizes
    settings = {**case._asdict(), "solver": solver, "repetition": repetition, "seconds": seconds, "n": n, "m": m}
    return Task("figure2-run", run_solver, settings)


def repetitions_of(case: Case, solver: str, scale: Scale) -> range:
    """The repetitions of a run: several for the two solvers that the paper compares."""
    return range(scale.repetitions if case.normalization == MEANT and solver in (PAPER, CGS) else 1)


def run_tasks(scale: Scale) -> list[Task]:
    """All runs, one repetition after the other."""
    return [
        run_task(case, solver, repetition, scale)
        for repetition in range(scale.repetitions)
        for case in cases()
        for solver in solvers_of(case)
        if repetition in repetitions_of(case, solver, scale)
    ]


def reference_task(strength: float, normalization: str, scale: Scale) -> Task:
    """The task of one problem's optimum."""
    n, m = scale.sizes
    settings: dict[str, Any] = {"strength": strength, "normalization": normalization, "n": n, "m": m}
    return Task("figure2-reference", run_reference, {**settings, "seconds": 2.0 * scale.seconds})


def reference_tasks(scale: Scale) -> list[Task]:
    """The tasks of all problems' optima."""
    return [reference_task(*key, scale) for key in dict.fromkeys(case[:2] for case in cases())]


# From tasks to the figure.


def compute(store: Store, scale: Scale, *, jobs: int, progress: bool) -> None:
    """Computes the missing tasks one at a time, whatever `jobs` is, so that each run has all cores."""
    store.compute_alone([*reference_tasks(scale), *run_tasks(scale)], progress=progress, label="figure 2")


def read(store: Store, scale: Scale) -> Figure2:
    """Reads the saved data of the figure, normalised by the best lower bound of all certificates."""
    saved = {
        (case, solver): [store.load(run_task(case, solver, k, scale)) for k in repetitions_of(case, solver, scale)]
        for case in cases()
        for solver in solvers_of(case)
    }
    optimum, independent = {}, {}
    for task in reference_tasks(scale):
        key = task.settings["strength"], task.settings["normalization"]
        reference = store.load(task)
        every = [reference, *(arrays for (case, _), runs in saved.items() if case[:2] == key for arrays in runs)]
        values = [value for arrays in every for value in (arrays["value"], *arrays.get("objective", ()))]
        bounds = [float(arrays["lower_bound"]) for arrays in every]
        optimum[key] = float(np.nanmin(values)), max(bounds)
        independent[key] = float(reference["independent"])
    runs = {
        (case, solver): [_normalised(arrays, optimum[case[:2]][1], independent[case[:2]]) for arrays in repeated]
        for (case, solver), repeated in saved.items()
    }
    cores, load = (np.mean([one[name] for every in saved.values() for one in every]) for name in ("cores", "load"))
    return Figure2(runs, optimum, scale.sizes, scale.seconds, round(float(cores)), float(load))


def _normalised(arrays: Arrays, optimum: float, independent: float) -> Run:
    objective = (arrays["objective"] - optimum) / (independent - optimum)
    return Run(arrays["seconds"], arrays["wall"], objective, arrays["searches"], arrays["certified"], arrays["counted"])
