"""GeomLoss as an entrant: symmetrised Sinkhorn with annealing and a fixed number of iterations, on torch in float64."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.interleave import Entrant, Rung
from benchmarks.judge import Answer

Double = npt.NDArray[np.float64]

MISSING = "" if find_spec("geomloss") and find_spec("torch") else "GeomLoss is not installed"
ITERATIONS = (30, 300, 3000, 30000)


def matrix_entrant(cost: Double, epsilon: float) -> Entrant:
    """`geomloss.ot.solve` on a cost matrix."""

    def solve(count: int) -> Any:
        import geomloss.ot
        import torch

        return geomloss.ot.solve(torch.from_numpy(cost), reg=epsilon, max_iter=count)

    return _entrant("geomloss.ot.solve", solve)


def points_entrant(X: Double, Y: Double, metric: str, epsilon: float) -> Entrant:
    """`geomloss.ot.solve_sample` for squared distances; it knows no others, so distances are made by torch."""

    def solve(count: int) -> Any:
        import geomloss.ot
        import torch

        x, y = torch.from_numpy(X), torch.from_numpy(Y)
        if metric == "sqeuclidean":
            return geomloss.ot.solve_sample(x, y, reg=epsilon, max_iter=count)
        return geomloss.ot.solve(torch.cdist(x, y), reg=epsilon, max_iter=count)

    made = "geomloss.ot.solve_sample" if metric == "sqeuclidean" else "torch.cdist, geomloss.ot.solve"
    return _entrant(made, solve)


def _entrant(call: str, solve: Callable[[int], Any]) -> Entrant:
    def rung(count: int) -> Rung:
        def run(budget: float) -> Answer:
            result = solve(count)
            _ = result.potential_a, result.potential_b
            return Answer(lambda: np.asarray(result.plan))

        return Rung(f"{call}(max_iter={count}), torch float64", run)

    return Entrant("GeomLoss", [[rung(count) for count in ITERATIONS]], unavailable=MISSING)
