"""Small random problems, each with its independent reference: the table that solvers are tested on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import oracle

from driftway import GroupLasso, Laplacian, PointCloudCost, Problem, Regularizer, TimeSmoothness


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


def _time(normalization: str, weight: float) -> tuple[Callable, Callable]:
    return (
        lambda d: TimeSmoothness(d.Y, d.previous, weight, normalization),
        lambda d: [oracle.time_smoothness(d.Y, d.previous, weight, d.a, normalization)],
    )


def _lasso(d: Data) -> Regularizer:
    return GroupLasso(d.labels, 0.3)


# name: (our regulariser, the reference's penalties)
REGULARIZERS: dict[str, tuple[Callable[[Data], Regularizer | None], Callable[[Data], list]]] = {
    "none": (lambda d: None, lambda d: []),
    "lasso": (_lasso, lambda d: [oracle.group_lasso(d.labels, 0.3)]),
    "time-mean": _time("mean", 0.5),
    "time-sum": _time("sum", 0.05),
    "time-coupling": _time("coupling", 5.0),
    "laplacian-source": (
        lambda d: Laplacian(d.source_similarity, d.Y, 0.5),
        lambda d: [oracle.laplacian(d.source_similarity, d.Y, 0.5, d.a, "source")],
    ),
    "laplacian-target": (
        lambda d: Laplacian(d.target_similarity, d.X, 0.5, side="target"),
        lambda d: [oracle.laplacian(d.target_similarity, d.X, 0.5, d.b, "target")],
    ),
    "laplacian-displacement": (
        lambda d: Laplacian(d.source_similarity, d.Y, 0.5, reference=d.X),
        lambda d: [oracle.laplacian(d.source_similarity, d.Y, 0.5, d.a, "source", d.X)],
    ),
    "time+laplacians": (
        lambda d: (
            0.5 * TimeSmoothness(d.Y, d.previous, 1.0)
            + Laplacian(d.source_similarity, d.Y, 0.2)
            + Laplacian(d.target_similarity, d.X, 0.3, side="target")
        ),
        lambda d: [
            oracle.time_smoothness(d.Y, d.previous, 0.5, d.a, "mean"),
            oracle.laplacian(d.source_similarity, d.Y, 0.2, d.a, "source"),
            oracle.laplacian(d.target_similarity, d.X, 0.3, d.b, "target"),
        ],
    ),
    "lasso+time": (
        lambda d: _lasso(d) + TimeSmoothness(d.Y, d.previous, 0.5),
        lambda d: [
            oracle.group_lasso(d.labels, 0.3),
            oracle.time_smoothness(d.Y, d.previous, 0.5, d.a, "mean"),
        ],
    ),
}


def problem(d: Data, name: str, epsilon: float, metric: str = "euclidean") -> Problem:
    return Problem(PointCloudCost(d.X, d.Y, metric), d.a, d.b, epsilon=epsilon, regularizer=REGULARIZERS[name][0](d))


def reference(d: Data, name: str, epsilon: float, metric: str = "euclidean") -> oracle.Reference:
    cost = PointCloudCost(d.X, d.Y, metric).rows(slice(None))
    return oracle.solve(cost, d.a, d.b, epsilon, REGULARIZERS[name][1](d))
