"""The problems that are raced on."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway import GroupLasso, PointCloudCost, Problem, TimeSmoothness

Double = npt.NDArray[np.float64]

_EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "figure2_problem.py"


def _example() -> Any:
    """The example that defines the problem of Figure 2: one definition for the demo and for the benchmark."""
    specification = importlib.util.spec_from_file_location("figure2_problem", _EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def figure2_problem(strength: float, *, normalization: str, n: int, m: int) -> Problem:
    """The problem of Figure 2, as the example has it."""
    problem: Problem = _example().figure2_problem(strength, normalization=normalization, n=n, m=m)
    return problem


def rotated_moons(count: int, degrees: float, seed: int) -> Double:
    """Two moons turned about the origin, as the example has them."""
    points: Double = _example().rotated_moons(count, degrees, seed)
    return points


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
    from sklearn.datasets import make_moons

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
