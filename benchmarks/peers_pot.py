"""POT (Python Optimal Transport) as an entrant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.clock import OverBudget
from benchmarks.interleave import Entrant, Rung
from benchmarks.judge import Answer, plan_of_potentials
from driftway import Problem

Double = npt.NDArray[np.float64]

MISSING = "" if find_spec("ot") else "POT is not installed"
MANY = 10**7  # iterations: the threshold or the budget stops it


class _TimeIsOverError(Exception):
    """Raised from inside POT's own callbacks."""


class Onlooker:
    """A regulariser as POT's gcg wants it, which keeps the plans it is shown.

    gcg asks for the gradient once per iteration, at the present plan. So the best that can be had from it when its
    time is over is the last plan it asked about.
    """

    def __init__(self, problem: Problem, budget: float, keep: bool) -> None:
        self.J, self.budget, self.keep = problem.regularizer, budget, keep
        self.last: Double | None = None
        self.snapshots: list[tuple[float, Double]] = []
        self.iterations = 0
        self.began = time.perf_counter()

    def value(self, gamma: Double) -> float:
        return self.J.value(gamma)

    def gradient(self, gamma: Double) -> Double:
        elapsed = time.perf_counter() - self.began
        self.last = gamma
        self.iterations += 1
        if self.keep and (not self.snapshots or elapsed > 1.5 * self.snapshots[-1][0]):
            self.snapshots.append((elapsed, gamma.copy()))
        if elapsed > self.budget:
            raise _TimeIsOverError
        return self.J.gradient(gamma)


def gcg_entrant(
    problem: Problem, *, method: str = "sinkhorn", keep: bool = False, share: float = 1.0, multiple: float = 0.0
) -> Entrant:
    """`ot.optim.gcg` on a problem of ours, with our regulariser as its f and df.

    The ladder: as shipped apart from the number of iterations; with inner problems solved in earnest and its stopping
    rule (a difference of objectives without the entropy) tightened.
    """
    cost = np.asarray(problem.cost.rows(slice(None)), dtype=np.float64)
    options = {} if method == "sinkhorn" else {"method": method}

    def rung(text: str, **arguments: Any) -> Rung:
        def run(budget: float) -> Answer:
            import ot

            look = Onlooker(problem, budget, keep)
            try:
                plan = ot.optim.gcg(
                    problem.a, problem.b, cost, problem.epsilon, 1.0, look.value, look.gradient,
                    numItermax=MANY, **arguments, **options,
                )  # fmt: skip
            except (_TimeIsOverError, OverBudget):
                if look.last is None:
                    raise OverBudget("over budget before the first iteration") from None
                plan = look.last
            seconds = time.perf_counter() - look.began
            snapshots = [*look.snapshots, (seconds, plan)] if keep else []
            return Answer(lambda: plan, snapshots=tuple(snapshots), notes={"iterations": float(look.iterations)})

        return Rung(text, run)

    inner = "" if method == "sinkhorn" else f", method={method!r}"
    ladder = [
        rung(f"ot.optim.gcg(numItermax={MANY:.0e}{inner})"),
        rung(
            f"ot.optim.gcg(numItermax={MANY:.0e}, numInnerItermax=5000, stopThr=stopThr2=1e-14{inner})",
            numInnerItermax=5000,
            stopThr=1e-14,
            stopThr2=1e-14,
        ),
    ]
    name = "POT gcg" if method == "sinkhorn" else "POT gcg (log)"
    return Entrant(name, [ladder], share=share, multiple=multiple, unavailable=MISSING)


def group_lasso_entrant(problem: Problem) -> Entrant:
    """`ot.da.sinkhorn_l1l2_gl`, with more and more iterations."""
    lasso: Any = problem.regularizer
    cost = np.asarray(problem.cost.rows(slice(None)), dtype=np.float64)

    def rung(outer: int, inner: int) -> Rung:
        def run(budget: float) -> Answer:
            import ot

            plan = ot.da.sinkhorn_l1l2_gl(
                problem.a, lasso.labels, problem.b, cost, problem.epsilon, lasso.weight,
                numItermax=outer, numInnerItermax=inner, stopInnerThr=1e-9 if inner == 200 else 1e-14,
            )  # fmt: skip
            return Answer(lambda: plan)

        threshold = "" if inner == 200 else ", stopInnerThr=1e-14"
        return Rung(f"ot.da.sinkhorn_l1l2_gl(numItermax={outer}, numInnerItermax={inner}{threshold})", run)

    ladder = [*(rung(outer, 200) for outer in (1, 2, 3, 5, 10, 100)), rung(100, 5000), rung(2000, 5000)]
    return Entrant("POT sinkhorn_l1l2_gl", [ladder], unavailable=MISSING)


def sinkhorn_entrant(
    cost: Callable[[], Double], epsilon: float, shape: tuple[int, int], *, target: float, method: str, with_cost: bool
) -> Entrant:
    """`ot.sinkhorn`. Its threshold is on the L2 norm of one marginal's error: about the L1 norm over √m."""
    n, m = shape
    a, b = np.full(n, 1.0 / n), np.full(m, 1.0 / m)

    def rung(factor: float) -> Rung:
        threshold = factor * target / math.sqrt(m)

        def run(budget: float) -> Answer:
            import ot

            plan = ot.sinkhorn(a, b, cost(), epsilon, method=method, numItermax=MANY, stopThr=threshold, warn=False)
            return Answer(lambda: plan)

        made = ", after ot.dist" if with_cost else ""
        return Rung(f"ot.sinkhorn(method={method!r}, stopThr={threshold:.1e}){made}", run)

    name = f"POT {method}"
    return Entrant(name, [[rung(3.0), rung(1.0), rung(0.3), rung(0.03)]], unavailable=MISSING)


def distances(X: Double, Y: Double, metric: str) -> Callable[[], Double]:
    """`ot.dist`, to be called in the timed section by those who need a matrix."""

    def dist() -> Double:
        import ot

        return np.asarray(ot.dist(X, Y, metric=metric))

    return dist


def lazy_entrant(
    X: Double, Y: Double, metric: str, epsilon: float, cost: Callable[[], Double], *, target: float
) -> Entrant:
    """`ot.bregman.empirical_sinkhorn(isLazy=True)`, which is what `ot.solve_sample(lazy=True)` calls."""
    batch = max(100, 10**6 // max(len(X), len(Y)))

    def rung(threshold: float) -> Rung:
        def run(budget: float) -> Answer:
            import ot

            f, g = ot.bregman.empirical_sinkhorn(
                X, Y, epsilon, metric=metric, numIterMax=MANY, stopThr=threshold, isLazy=True, batchSize=batch,
                warn=False,
            )  # fmt: skip
            return Answer(lambda: plan_of_potentials(cost(), epsilon * f, epsilon * g, epsilon))

        return Rung(f"ot.bregman.empirical_sinkhorn(isLazy=True, batchSize={batch}, stopThr={threshold:.0e})", run)

    return Entrant("POT lazy", [[rung(target), rung(0.3 * target)]], unavailable=MISSING)


def sinkhorn_log_iterations(cost: Double, epsilon: float) -> Callable[[int], None]:
    """So many iterations of POT's log-domain Sinkhorn."""
    n, m = cost.shape
    a, b = np.full(n, 1.0 / n, cost.dtype), np.full(m, 1.0 / m, cost.dtype)

    def iterate(count: int) -> None:
        import ot

        ot.bregman.sinkhorn_log(a, b, cost, epsilon, numItermax=count, stopThr=0.0, warn=False)

    return iterate
