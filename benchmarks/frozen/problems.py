"""Problems of the frozen set: their data, their regularisers, and what is recorded of a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway import (
    Custom,
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
from driftway.regularizers import MomentRegularizer

Double = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Result = dict[str, Array]

# Plans of more entries than this are recorded by their marginals and by products with that many random columns.
LARGE, PRODUCTS = 2**16, 3


@dataclass(frozen=True)
class Data:
    """Two point clouds with masses, labels, previous images and similarities."""

    X: Double
    Y: Double
    a: Double
    b: Double
    labels: npt.NDArray[np.int64]
    previous: Double
    source_similarity: Double
    target_similarity: Double


def make_data(size: tuple[int, int], features: int, masses: str) -> Data:
    """Normal clouds; masses are "uniform", "random" or random with "zeros"."""
    n, m = size
    rng = np.random.default_rng([n, m, features])
    X, Y = rng.normal(size=(n, features)), 0.8 * rng.normal(size=(m, features)) + 0.5
    a, b = (np.full(k, 1.0 / k) if masses == "uniform" else rng.dirichlet(np.full(k, 3.0)) for k in size)
    if masses == "zeros":
        a[::7], b[::5] = 0.0, 0.0
        a, b = a / a.sum(), b / b.sum()
    previous = X + 0.3 * rng.normal(size=(n, features))
    return Data(X, Y, a, b, np.arange(n) % 3, previous, _similarity(X), _similarity(Y))


def _similarity(points: Double) -> Double:
    squares = sum(np.subtract.outer(x, x) ** 2 for x in points.T)
    return np.exp(-squares) * (1.0 - np.eye(len(points)))


@dataclass(frozen=True)
class Case:
    """A problem, by what solver, and where.

    `start` is nothing, the independent plan ("plan") or the solution for twice the ε ("solution"); `sharded` leaves the
    source with the workers of the cluster.
    """

    name: str
    solver: Any = None
    regularizer: Callable[[Data], Regularizer] | None = None
    size: tuple[int, int] = (60, 45)
    features: int = 2
    masses: str = "uniform"
    metric: Any = "euclidean"
    matrix: bool = False
    dtype: type[np.floating] = np.float64
    epsilon: float = 0.1
    engine: str = "threads"
    tol: float = 1e-6
    max_iter: int = 1000
    start: str = ""
    sharded: bool = False

    def problem(self, engine: Any, epsilon: float) -> Problem:
        """The problem, with ε given."""
        d = make_data(self.size, self.features, self.masses)
        regularizer = None if self.regularizer is None else self.regularizer(d)
        X, Y = d.X.astype(self.dtype), d.Y.astype(self.dtype)
        cost: Any = engine.cloud(X, Y, self.metric) if self.sharded else PointCloudCost(X, Y, self.metric)
        if self.matrix:
            cost = cost.rows(slice(None)).astype(self.dtype)
        return Problem(cost, d.a, d.b, epsilon=epsilon, regularizer=regularizer)

    def run(self, engine: Any) -> Result:
        """Everything about the solution that is the same in every run."""
        settings = {"tol": self.tol, "max_iter": self.max_iter, "engine": engine}
        init: Any = None
        if self.start == "plan":
            d = make_data(self.size, self.features, self.masses)
            init = np.multiply.outer(d.a, d.b)
        elif self.start == "solution":
            init = solve(self.problem(engine, 2.0 * self.epsilon), self.solver, **settings)
        return record_solution(solve(self.problem(engine, self.epsilon), self.solver, init=init, **settings))


def record_solution(solution: Solution) -> Result:
    """The numbers and words of a solution, and its plan, or what a large plan does."""
    plan, rng = solution.plan, np.random.default_rng(1)
    n, m = plan.shape
    found: Result = {}
    if n * m <= LARGE:
        found["plan"] = plan.dense()
    else:
        right, left = rng.normal(size=(m, PRODUCTS)), rng.normal(size=(n, PRODUCTS))
        found |= {"plan @ V": np.asarray(plan @ right), "plan.T @ U": np.asarray(plan.T @ left)}
        found |= {f"marginals {k}": np.asarray(sums) for k, sums in enumerate(plan.marginals)}
    found |= {f"potentials {k}": np.asarray(potential) for k, potential in enumerate(solution.potentials)}
    names = ("value", "lower_bound", "gap", "marginal_error", "converged", "n_iter", "message")
    return found | {name: np.asarray(getattr(solution, name)) for name in names}


def lasso(weight: float) -> Callable[[Data], Regularizer]:
    """A group lasso over three classes."""
    return lambda d: GroupLasso(d.labels, weight)


def smooth(weight: float, normalization: Any = "mean") -> Callable[[Data], Regularizer]:
    """Smoothness in time."""
    return lambda d: TimeSmoothness(d.Y, d.previous, weight, normalization)


def laplacian(weight: float) -> Callable[[Data], Regularizer]:
    """A Laplacian over the source."""
    return lambda d: Laplacian(d.source_similarity, d.Y, weight)


def target_laplacian(weight: float) -> Callable[[Data], Regularizer]:
    """A Laplacian over the target."""
    return lambda d: Laplacian(d.target_similarity, d.X, weight, side="target")


def clouds(weight: float, *, debias: bool) -> Callable[[Data], Regularizer]:
    """Smoothness in time in a transport metric."""
    return lambda d: WassersteinTime(d.Y, d.previous, weight, debias=debias)


def squares(d: Data) -> Regularizer:
    """Σ γ² · n, convex."""
    n = len(d.X)
    return Custom(lambda gamma: n * (gamma**2).sum(), lambda gamma: 2.0 * n * gamma, convex=True)


def waves(d: Data) -> Regularizer:
    """A sum of sines, not convex."""
    n = len(d.X)
    return Custom(lambda gamma: 0.05 * np.sin(n * gamma).sum() / n, lambda gamma: 0.05 * np.cos(n * gamma))


class PullDown(MomentRegularizer):
    """10 Σᵢ ‖Σⱼ γᵢⱼ yⱼ‖²: a moment regulariser of a user's own."""

    convex = True
    minimum = 0.0

    def __init__(self, Y: Double, n: int) -> None:
        self._Y, self._n = Y, n

    @property
    def right_basis(self) -> Double:
        return self._Y

    @property
    def left_basis(self) -> Double:
        return np.empty((self._n, 0))

    def phi(self, right: Double, left: Double) -> float:
        return 10.0 * float((right**2).sum())

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        return 20.0 * right, left


def own_moments(d: Data) -> Regularizer:
    """What only a user knows."""
    return PullDown(d.Y, len(d.X))


def time_and_laplacians(d: Data) -> Regularizer:
    """A sum of multiples that all see the plan through moments."""
    return 0.5 * TimeSmoothness(d.Y, d.previous, 0.4) + 2.0 * laplacian(0.05)(d) + target_laplacian(0.1)(d)


def two_times(d: Data) -> Regularizer:
    """Two kinds of smoothness in time."""
    return 0.5 * TimeSmoothness(d.Y, d.previous, 0.4) + TimeSmoothness(d.Y, d.X, 1.0, "coupling")


def lasso_and_time(d: Data) -> Regularizer:
    """The paper's J: classes and time."""
    return 0.5 * (GroupLasso(d.labels, 0.1) + TimeSmoothness(d.Y, d.previous, 0.4))


def lasso_and_laplacian(d: Data) -> Regularizer:
    """A sum of which only one term sees the plan through moments."""
    return GroupLasso(d.labels, 0.05) + Laplacian(d.source_similarity, d.Y, 0.1)


def manhattan(X: Double, Y: Double) -> Double:
    """A metric of a user's own."""
    return np.abs(X[:, None] - Y).sum(axis=2)
