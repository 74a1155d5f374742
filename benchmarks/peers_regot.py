"""regot (Eigen, C++) as an entrant: quasi-Newton methods on the dual."""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from benchmarks.interleave import Entrant, Rung
from benchmarks.judge import Answer

Double = npt.NDArray[np.float64]

MISSING = "" if find_spec("regot") else "regot is not installed"
PACE, MOST = 5, 100_000
GENEROUS = 1.5  # times the iterations that fit the budget at that speed: the first ones are slower than the others
METHODS = {"splr": "sinkhorn_splr", "lbfgs": "sinkhorn_lbfgs_dual"}


def sinkhorn_entrant(cost: Double, epsilon: float, *, target: float, method: str) -> Entrant:
    """`regot.sinkhorn_splr` (sparse plus low rank) or `regot.sinkhorn_lbfgs_dual`.

    The cost is handed over in the column order that it wants. Its loop cannot be interrupted, so that it gets as many
    iterations as fit its budget.
    """
    n, m = cost.shape
    a, b = np.full(n, 1.0 / n), np.full(m, 1.0 / m)
    call = METHODS[method]

    held: list[Double] = []

    def columns() -> Double:
        if not held:
            held.append(np.asfortranarray(cost))
        return held[0]

    def rung(threshold: float) -> Rung:
        iterations = [MOST]

        def prepare(budget: float) -> float:
            import regot

            columns()
            began = time.perf_counter()
            getattr(regot, call)(columns(), a, b, epsilon, tol=threshold, max_iter=PACE)
            pace = (time.perf_counter() - began) / PACE
            iterations[0] = int(np.clip(GENEROUS * budget / pace, PACE, MOST))
            return 0.0

        def run(budget: float) -> Answer:
            import regot

            result = getattr(regot, call)(columns(), a, b, epsilon, tol=threshold, max_iter=iterations[0])
            capped, notes = result.niter >= iterations[0], {"iterations": float(result.niter)}
            return Answer(lambda: np.asarray(result.plan), capped=bool(capped), notes=notes)

        return Rung(f"regot.{call}(tol={threshold:.1e})", run, prepare)

    # Its tolerance is on the L2 norm of the dual gradient: about the L1 norm over √(n + m).
    thresholds = [factor * target / np.sqrt(n + m) for factor in (3.0, 1.0, 0.3, 0.03)]
    name = f"regot {method.upper()}"
    return Entrant(name, [[rung(threshold) for threshold in thresholds]], unavailable=MISSING)
