"""Figure 3: the accuracy of every strategy on rotating moons, with hyper-parameters chosen on other samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree
from sklearn.exceptions import ConvergenceWarning

from driftway.adaptation import AdaptationWarning, ContinuousTransportClassifier
from driftway.engines.threads.engine import Threads
from driftway.experiments.moons import Double, Labels, Sample, Stream, rotating_moons
from driftway.experiments.scale import TEST_SEED, VALIDATION_SEED, Scale
from driftway.experiments.tasks import Arrays, Store, Task
from driftway.geometry.costs import PointCloudCost
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers import GroupLasso, Regularizer, TimeSmoothness
from driftway.solvers.solve import solve

SOURCE, BATCH = 500, 50
TOL = 1e-5
METRICS, COSTS, KINDS = ("euclidean", "sqeuclidean"), ("sequential", "static"), ("time", "class", "both", "none")


class Setting(NamedTuple):
    """Hyper-parameters of one strategy: λ, η_t (normalisation `mean`) and η_c."""

    strength: float
    time_weight: float
    label_weight: float


class Method(NamedTuple):
    """A strategy of the figure: the metric, whether the cost is sequential or static, and the regularisers."""

    metric: str
    cost: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.cost}"


METHODS = [Method(metric, cost, kind) for metric in METRICS for cost in COSTS for kind in KINDS]


@dataclass(frozen=True, eq=False)
class Curves:
    """The results of one strategy on streams of one length: accuracy (runs × steps) and the setting.

    `moves` is the root mean square displacement of the mapped source at every step. `converged` says whether every plan
    of every run is certified. `setting` is None if there is nothing to choose.
    """

    accuracy: Double
    moves: Double
    converged: bool
    setting: Setting | None = None
    at_edge: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Figure3:
    """All results of the figure, by length of the stream."""

    methods: dict[tuple[int, Method], Curves]
    default: dict[int, Curves]
    unadapted: dict[int, Curves]
    runs: int
    validations: int

    @property
    def horizons(self) -> list[int]:
        return sorted(self.default)


# What a task computes.


def adapt(stream: Stream, metric: str, cost: str, setting: Setting) -> tuple[Double, Double, bool]:
    """Runs the method of Section 3: accuracy and displacement of every step, and whether every plan is certified."""
    (X, y), Z = stream.source, stream.source[0]
    accuracy, moves, converged = [], [], True
    for step, ((Y, _), fresh) in enumerate(zip(stream.batches, stream.fresh, strict=True)):
        start = X if cost == "static" else Z
        J = regularizer_of(Y, Z, y, setting) if step else None  # the first step has the entropy only
        solution = _solved(Problem(PointCloudCost(start, Y, metric), epsilon=setting.strength, regularizer=J))
        images = np.asarray(solution.plan.barycentric_map(Y), dtype=np.float64)
        moves.append(float(np.sqrt(((images - Z) ** 2).sum(axis=1).mean())))
        accuracy.append(nearest_neighbour_accuracy(images, y, fresh))
        Z, converged = images, converged and solution.converged
    return np.array(accuracy), np.array(moves), converged


def nearest_neighbour_accuracy(points: Double, labels: Labels, fresh: Sample) -> float:
    """The accuracy of the 1-nearest-neighbour classifier of labelled points on a fresh sample."""
    X, y = fresh
    return float((labels[KDTree(points).query(X)[1]] == y).mean())


def regularizer_of(Y: Double, previous: Double, labels: Labels, setting: Setting) -> Regularizer | None:
    """η_t R_t + η_c R_c, without the terms of weight zero."""
    terms: list[Regularizer] = []
    if setting.time_weight:
        terms.append(TimeSmoothness(Y, previous, setting.time_weight))
    if setting.label_weight:
        terms.append(GroupLasso(labels, setting.label_weight))
    return sum(terms[1:], terms[0]) if terms else None


def _solved(problem: Problem) -> Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # saved as `converged`; such settings are not chosen
        return solve(problem, tol=TOL, engine=Threads(workers=1))


def run_settings(
    *, metric: str, cost: str, settings: list[list[float]], seeds: list[int], steps: int, n: int, m: int
) -> Arrays:
    """Runs all settings on the streams of all seeds: accuracy and moves (settings × seeds × steps)."""
    streams = [rotating_moons(seed, n=n, m=m, steps=steps) for seed in seeds]
    found = [[adapt(stream, metric, cost, Setting(*setting)) for stream in streams] for setting in settings]
    accuracy, moves, converged = (np.array([[run[k] for run in runs] for runs in found]) for k in range(3))
    return {"accuracy": accuracy, "moves": moves, "converged": converged}


def run_default(*, seed: int, steps: int, n: int, m: int) -> Arrays:
    """Runs the library's default on one stream."""
    stream = rotating_moons(seed, n=n, m=m, steps=steps)
    model = ContinuousTransportClassifier(engine=Threads(workers=1)).fit(*stream.source)
    accuracy, moves, before = [], [], stream.source[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        for (Y, _), fresh in zip(stream.batches, stream.fresh, strict=True):
            model.partial_fit(Y)
            accuracy.append(model.score(*fresh))
            moves.append(float(np.sqrt(((model.images_ - before) ** 2).sum(axis=1).mean())))
            before = model.images_
    converged = model.history_["converged"].all()
    return {"accuracy": np.array(accuracy), "moves": np.array(moves), "converged": np.array(converged)}


def run_unadapted(*, seeds: list[int], steps: int, n: int, m: int) -> Arrays:
    """Runs the classifier of the source without adaptation: accuracy (seeds × steps)."""
    accuracy = []
    for seed in seeds:
        stream = rotating_moons(seed, n=n, m=m, steps=steps)
        accuracy.append([nearest_neighbour_accuracy(*stream.source, fresh) for fresh in stream.fresh])
    return {"accuracy": np.array(accuracy)}


# The tasks.


def settings_of(kind: str, strength: float, scale: Scale) -> list[Setting]:
    """The grid of one strategy at one λ; weights of zero are in it."""
    times = (0.0, *scale.time_weights) if kind in ("time", "both") else (0.0,)
    labels = (0.0, *scale.label_weights) if kind in ("class", "both") else (0.0,)
    return [Setting(strength, time, label) for time in times for label in labels]


def validation_task(metric: str, cost: str, strength: float, seed: int, scale: Scale) -> Task:
    """The task of all settings with this metric, cost and λ, on one validation stream."""
    settings = [list(setting) for setting in settings_of("both", strength, scale)]  # these contain all others
    chosen = {"metric": metric, "cost": cost, "settings": settings, "seeds": [seed], "steps": max(scale.horizons)}
    return Task("figure3-validation", run_settings, {**chosen, "n": SOURCE, "m": BATCH})


def validation_tasks(scale: Scale) -> list[Task]:
    """The tasks of the grid search."""
    return [
        validation_task(metric, cost, strength, VALIDATION_SEED + k, scale)
        for k in range(scale.validations)
        for metric in METRICS
        for cost in COSTS
        for strength in scale.strengths[metric]
    ]


def reported_task(method: Method, setting: Setting, scale: Scale) -> Task:
    """The task of the reported runs of one strategy with its chosen setting."""
    seeds = [TEST_SEED + k for k in range(scale.runs)]
    chosen = {"metric": method.metric, "cost": method.cost, "settings": [list(setting)], "seeds": seeds}
    return Task("figure3-reported", run_settings, {**chosen, "steps": max(scale.horizons), "n": SOURCE, "m": BATCH})


def default_tasks(scale: Scale) -> list[Task]:
    """The tasks of the library's default, one per run."""
    sizes = {"steps": max(scale.horizons), "n": SOURCE, "m": BATCH}
    return [Task("figure3-default", run_default, {"seed": TEST_SEED + k, **sizes}) for k in range(scale.runs)]


def unadapted_task(scale: Scale) -> Task:
    """The task of the classifier without adaptation, for all runs."""
    seeds = [TEST_SEED + k for k in range(scale.runs)]
    sizes = {"steps": max(scale.horizons), "n": SOURCE, "m": BATCH}
    return Task("figure3-unadapted", run_unadapted, {"seeds": seeds, **sizes})


# The choice of hyper-parameters.


def choose(scores: Iterable[tuple[Setting, float, bool]]) -> Setting:
    """The setting of the best validation accuracy among those whose every plan is certified.

    An early stop acts like a regulariser of its own, which is not what is compared.
    """
    eligible = [(setting, score) for setting, score, converged in scores if converged]
    if not eligible:
        raise ValueError("no setting of the grid has all its validation plans solved to tolerance")
    return max(eligible, key=lambda pair: pair[1])[0]


def chosen_settings(store: Store, scale: Scale) -> dict[tuple[int, Method], Setting]:
    """The setting with the best mean accuracy on the validation streams, by length of the stream and strategy."""
    found = {}
    for metric in METRICS:
        for cost in COSTS:
            scores = _validation_scores(store, metric, cost, scale)
            for kind in KINDS:
                grid = [s for strength in scale.strengths[metric] for s in settings_of(kind, strength, scale)]
                for steps in scale.horizons:
                    lines = ((s, float(scores[s][0][:, :steps].mean()), scores[s][1]) for s in grid)
                    found[steps, Method(metric, cost, kind)] = choose(lines)
    return found


def _validation_scores(store: Store, metric: str, cost: str, scale: Scale) -> dict[Setting, tuple[Double, bool]]:
    """Accuracy (seeds × steps) and convergence of every setting."""
    scores = {}
    for strength in scale.strengths[metric]:
        tasks = [validation_task(metric, cost, strength, VALIDATION_SEED + k, scale) for k in range(scale.validations)]
        saved = [store.load(task) for task in tasks]
        for number, setting in enumerate(tasks[0].settings["settings"]):
            accuracy = np.concatenate([arrays["accuracy"][number] for arrays in saved])
            scores[Setting(*setting)] = accuracy, all(arrays["converged"][number].all() for arrays in saved)
    return scores


def edges(setting: Setting, kind: str, strengths: tuple[float, ...], scale: Scale) -> tuple[str, ...]:
    """The hyper-parameters that were chosen at an end of their grid, so that better ones may lie beyond it.

    Weights begin at zero, and have nothing beyond that.
    """
    ends: dict[str, tuple[float, tuple[float, ...]]] = {"λ": (setting.strength, (min(strengths), max(strengths)))}
    if kind in ("time", "both"):
        ends["η_t"] = setting.time_weight, (max(scale.time_weights),)
    if kind in ("class", "both"):
        ends["η_c"] = setting.label_weight, (max(scale.label_weights),)
    return tuple(name for name, (value, end) in ends.items() if value in end)


# From tasks to the figure.


def compute(store: Store, scale: Scale, *, jobs: int, progress: bool) -> None:
    """Computes the missing tasks: first the grid search, then the reported runs with the chosen settings."""
    alone = [*default_tasks(scale), unadapted_task(scale)]
    store.compute([*validation_tasks(scale), *alone], jobs=jobs, progress=progress, label="figure 3, grid search")
    # Different lengths often have the same setting; its task is computed once.
    tests = {
        task.file: task
        for (_, method), setting in chosen_settings(store, scale).items()
        for task in [reported_task(method, setting, scale)]
    }
    store.compute(tests.values(), jobs=jobs, progress=progress, label="figure 3, reported runs")


def read(store: Store, scale: Scale) -> Figure3:
    """Reads the saved data of the figure."""
    methods = {}
    for (steps, method), setting in chosen_settings(store, scale).items():
        arrays = store.load(reported_task(method, setting, scale))
        at_edge = edges(setting, method.kind, scale.strengths[method.metric], scale)
        accuracy, moves = (arrays[name][0][:, :steps] for name in ("accuracy", "moves"))
        methods[steps, method] = Curves(accuracy, moves, bool(arrays["converged"].all()), setting, at_edge)
    saved = [store.load(task) for task in default_tasks(scale)]
    accuracy, moves = (np.stack([arrays[name] for arrays in saved]) for name in ("accuracy", "moves"))
    converged, still = all(arrays["converged"] for arrays in saved), store.load(unadapted_task(scale))["accuracy"]
    return Figure3(
        methods,
        {steps: Curves(accuracy[:, :steps], moves[:, :steps], converged) for steps in scale.horizons},
        {steps: Curves(still[:, :steps], np.zeros_like(still[:, :steps]), True) for steps in scale.horizons},
        scale.runs,
        scale.validations,
    )
