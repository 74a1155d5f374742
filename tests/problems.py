"""Small random problems, each with its independent reference: the table that solvers are tested on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import oracle

from driftway import GroupLasso, Laplacian, PointCloudCost, Problem, Regularizer, Solution, TimeSmoothness


@dataclass(frozen=True)
class Data:
    """Two point clouds with masses, labels, previous images and similarities."""

    X: np.ndarray
    Y: np.ndarray
    a: np.ndarray
    b: np.ndarray
    labels: np.ndarray
    previous: np.ndarray
    source_similarity: np.ndarray
    target_similarity: np.ndarray


def data(n: int, m: int, seed: int, uniform: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2)) + 0.5
    a, b = (np.full(k, 1 / k) if uniform else rng.dirichlet(np.full(k, 3.0)) for k in (n, m))

    def similarity(points: np.ndarray) -> np.ndarray:
        return np.exp(-((points[:, None] - points) ** 2).sum(axis=2)) * (1 - np.eye(len(points)))

    return Data(X, Y, a, b, np.arange(n) % 3, X + 0.3 * rng.normal(size=(n, 2)), similarity(X), similarity(Y))


# name: (our regulariser, the reference's penalties), for data and a multiple w
REGULARIZERS: dict[str, tuple[Callable[[Data, float], Regularizer | None], Callable[[Data, float], list]]] = {
    "none": (lambda d, w: None, lambda d, w: []),
    "lasso": (lambda d, w: GroupLasso(d.labels, 0.3 * w), lambda d, w: [oracle.group_lasso(d.labels, 0.3 * w)]),
    "time-mean": (
        lambda d, w: TimeSmoothness(d.Y, d.previous, 0.5 * w),
        lambda d, w: [oracle.time_smoothness(d.Y, d.previous, 0.5 * w, d.a, "mean")],
    ),
    "time-sum": (
        lambda d, w: TimeSmoothness(d.Y, d.previous, 0.05 * w, "sum"),
        lambda d, w: [oracle.time_smoothness(d.Y, d.previous, 0.05 * w, d.a, "sum")],
    ),
    "time-coupling": (
        lambda d, w: TimeSmoothness(d.Y, d.previous, 2.0 * w, "coupling"),
        lambda d, w: [oracle.time_smoothness(d.Y, d.previous, 2.0 * w, d.a, "coupling")],
    ),
    "laplacian-source": (
        lambda d, w: Laplacian(d.source_similarity, d.Y, 0.5 * w),
        lambda d, w: [oracle.laplacian(d.source_similarity, d.Y, 0.5 * w, d.a, "source")],
    ),
    "laplacian-target": (
        lambda d, w: Laplacian(d.target_similarity, d.X, 0.5 * w, side="target"),
        lambda d, w: [oracle.laplacian(d.target_similarity, d.X, 0.5 * w, d.b, "target")],
    ),
    "laplacian-displacement": (
        lambda d, w: Laplacian(d.source_similarity, d.Y, 0.5 * w, reference=d.X),
        lambda d, w: [oracle.laplacian(d.source_similarity, d.Y, 0.5 * w, d.a, "source", d.X)],
    ),
    "time+laplacians": (
        lambda d, w: (
            w * TimeSmoothness(d.Y, d.previous, 0.5)
            + Laplacian(d.source_similarity, d.Y, 0.2 * w)
            + Laplacian(d.target_similarity, d.X, 0.3 * w, side="target")
        ),
        lambda d, w: [
            oracle.time_smoothness(d.Y, d.previous, 0.5 * w, d.a, "mean"),
            oracle.laplacian(d.source_similarity, d.Y, 0.2 * w, d.a, "source"),
            oracle.laplacian(d.target_similarity, d.X, 0.3 * w, d.b, "target"),
        ],
    ),
    "lasso+time": (
        lambda d, w: w * (GroupLasso(d.labels, 0.3) + TimeSmoothness(d.Y, d.previous, 0.5)),
        lambda d, w: [
            oracle.group_lasso(d.labels, 0.3 * w),
            oracle.time_smoothness(d.Y, d.previous, 0.5 * w, d.a, "mean"),
        ],
    ),
}


def weight(epsilon: float) -> float:
    """Regularisers grow weaker with ε, which keeps the condition number L/ε in reach of a first-order method."""
    return min(1.0, 20.0 * epsilon) if epsilon > 0 else 1.0


def problem(d: Data, name: str, epsilon: float, metric: str = "euclidean") -> Problem:
    regularizer = REGULARIZERS[name][0](d, weight(epsilon))
    return Problem(PointCloudCost(d.X, d.Y, metric), d.a, d.b, epsilon=epsilon, regularizer=regularizer)


def reference(d: Data, name: str, epsilon: float, metric: str = "euclidean") -> oracle.Reference:
    cost = PointCloudCost(d.X, d.Y, metric).rows(slice(None))
    return oracle.solve(cost, d.a, d.b, epsilon, REGULARIZERS[name][1](d, weight(epsilon)))


def assert_agrees(
    solution: Solution, truth: oracle.Reference, epsilon: float, *, value: float = 1e-6, rounding: float = 1e-13
) -> None:
    """The solution is certified, near the reference in value and plan, and its bounds enclose the optimum."""
    mass = truth.plan.sum()
    scale = max(abs(truth.value), epsilon * mass)
    assert solution.converged, solution.message
    assert abs(solution.value - truth.value) <= value * scale, solution.message
    assert np.abs(solution.plan.dense() - truth.plan).sum() <= 1e-4 * mass, solution.message
    assert solution.lower_bound <= truth.value + rounding * scale, solution.message
    assert solution.value >= truth.value - rounding * scale, solution.message
