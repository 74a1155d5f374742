"""The optimisation problem of the paper's Figure 2, solved and traced.

5000 source and 1000 target samples of the two-moons data. The source was mapped to a first target (rotated by
18°) by entropic transport; the problem is the next step, to a target rotated by 36°, with the time regulariser
of weight η_t = 50 in the normalisation that is compatible with the paper's step size.

Run:  python examples/figure2_problem.py [lambda ...]
"""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons

from driftway import PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve

Double = npt.NDArray[np.float64]
Normalization = Literal["mean", "sum", "coupling"]


def rotated_moons(count: int, degrees: float, seed: int) -> Double:
    """Two moons turned about the origin."""
    points: Double = make_moons(count, noise=0.05, random_state=seed)[0]
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def figure2_problem(
    epsilon: float, *, normalization: Normalization = "coupling", n: int = 5000, m: int = 1000, seed: int = 0
) -> Problem:
    """The second adaptation step of a stream that turns by 18° per step."""
    source, first, second = (rotated_moons(count, 18.0 * k, seed + k) for k, count in enumerate((n, m, m)))
    mapped = sinkhorn(PointCloudCost(source, first), epsilon=epsilon).plan.barycentric_map(first)
    smooth = TimeSmoothness(second, mapped, weight=50.0, normalization=normalization)
    return Problem(PointCloudCost(mapped, second), epsilon=epsilon, regularizer=smooth)


def main() -> None:
    """Solves it for the λ on the command line, or for both panels of the figure, and prints the traces."""
    for epsilon in map(float, sys.argv[1:] or ("0.5", "0.01")):
        problem = figure2_problem(epsilon)
        print(problem)
        solution = solve(problem, progress=sys.stderr.isatty())
        print(solution.trace)
        print(solution.message)
        print(f"objective {solution.value:.9f}, at least {solution.lower_bound:.9f}\n")


if __name__ == "__main__":
    main()
