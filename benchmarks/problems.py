"""The problems that are raced on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons

from driftway import GroupLasso, PointCloudCost, Problem, TimeSmoothness, sinkhorn
from driftway.regularizers.time_smoothness import Normalization

Double = npt.NDArray[np.float64]


def rotated_moons(count: int, degrees: float, seed: int) -> Double:
    """Two moons turned about the origin."""
    points: Double = make_moons(count, noise=0.05, random_state=seed)[0]
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def figure2_problem(
    epsilon: float, *, normalization: Normalization = "coupling", n: int = 5000, m: int = 1000
) -> Problem:
    """The problem of the paper's Figure 2: the second adaptation step of a stream that turns by 18° per step.

    The source was mapped to a first target, turned by 18°, by entropic transport. The time regulariser has weight
    η_t = 50, by default in the normalisation that is compatible with the paper's step size.
    """
    source, first, second = (rotated_moons(count, 18.0 * k, k) for k, count in enumerate((n, m, m)))
    mapped = sinkhorn(PointCloudCost(source, first), epsilon=epsilon).plan.barycentric_map(first)
    smooth = TimeSmoothness(second, mapped, weight=50.0, normalization=normalization)
    return Problem(PointCloudCost(mapped, second), epsilon=epsilon, regularizer=smooth)


def step_problem(strength: float, weight: float, *, n: int = 500, m: int = 50) -> Problem:
    """One adaptation step of rotating moons, normalisation `mean`, with ε as a multiple of the mean cost."""
    base = figure2_problem(0.5, normalization="mean", n=n, m=m)
    smooth: Any = base.regularizer
    epsilon = strength * float(np.mean(base.cost.rows(slice(None))))
    return Problem(base.cost, epsilon=epsilon, regularizer=TimeSmoothness(smooth.Y, smooth.previous, weight=weight))


def growing_problem(n: int) -> Problem:
    """n by n rotating moons: the source is where it was at 18°, the target is at 36°. Nothing of size n² is formed."""
    before, after = rotated_moons(n, 18.0, 0), rotated_moons(n, 36.0, 1)
    smooth = TimeSmoothness(after, before, weight=1.0, normalization="mean")
    return Problem(PointCloudCost(before, after), epsilon=0.5, regularizer=smooth)


def labelled_problem(n: int, m: int, strength: float, weight: float) -> Problem:
    """Domain adaptation with class labels: two moons, turned by 30°, and squared distances over their median."""
    X, labels = make_moons(n, noise=0.1, random_state=0)
    Y = make_moons(m, noise=0.1, random_state=1)[0]
    angle = np.deg2rad(30.0)
    Y = Y @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    cost = PointCloudCost(X, Y, "sqeuclidean").rows(slice(None))
    return Problem(cost / np.median(cost), epsilon=strength, regularizer=GroupLasso(labels, weight=weight))


def gaussian_clouds(n: int, *, seed: int = 0) -> tuple[Double, Double]:
    """Two clouds of n points in the plane: a standard Gaussian, and one that is moved and stretched."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * [1.5, 0.7] + [1.0, 0.5]
