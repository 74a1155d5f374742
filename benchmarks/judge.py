"""Our evaluation of what a competitor returned: the same for everybody, whatever it says about itself.

The plan is rounded onto the marginals (Altschuler, Weed & Rigollet 2017), its objective is compared with the best
lower bound that any of our certificates gave, and the L1 error of its marginals is taken before the rounding.
Written in plain NumPy, apart from the library that is being measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from driftway import Problem
from driftway.engines.cores import available_cores

Double = npt.NDArray[np.float64]

# Rows per block: a plan of 10000 × 10000 is never copied as a whole.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class Answer:
    """What a competitor returned.

    `plan` gives the n×m array when the judge asks, outside the timed section. `bound` is a certified lower bound on
    the optimum and `certified` the gap to it, for those who have one. `curve` has pairs (seconds, gap), `snapshots`
    pairs (seconds, plan) of which the judge makes such pairs, and `notes` whatever else is worth keeping. `capped`
    says that it ran into the number of iterations that it was given for its budget.
    """

    plan: Callable[[], Double]
    bound: float = -math.inf
    certified: float = math.nan
    curve: tuple[tuple[float, float], ...] = ()
    snapshots: tuple[tuple[float, Double], ...] = ()
    capped: bool = False
    notes: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The objective of the rounded plan and the marginal error of the plan as returned."""

    value: float
    marginal_error: float


class Judge:
    """Judges answers to one problem; the lower bound it measures against only rises."""

    def __init__(self, problem: Problem, bound: float = -math.inf) -> None:
        self.problem, self.bound = problem, bound
        self._cost: Double | None = None

    def judge(self, answer: Answer) -> Verdict:
        """The verdict on an answer, whose bound, if it has one, is remembered."""
        if np.isfinite(answer.bound):
            self.bound = max(self.bound, answer.bound)
        return self.of_plan(answer.plan())

    def of_plan(self, plan: npt.ArrayLike) -> Verdict:
        """The verdict on an n×m array."""
        gamma = np.array(plan, dtype=np.float64)  # a copy: it is rounded in place
        if gamma.shape != self.problem.shape:
            raise ValueError(f"the plan has shape {gamma.shape}, the problem {self.problem.shape}")
        if not np.isfinite(gamma).all() or gamma.min() < 0:
            return Verdict(math.nan, math.nan)
        a, b = self.problem.a, self.problem.b
        error = np.abs(gamma.sum(axis=1) - a).sum() + np.abs(gamma.sum(axis=0) - b).sum()
        round_in_place(gamma, a, b)
        return Verdict(self.objective(gamma), float(error / self.problem.mass))

    def objective(self, gamma: Double) -> float:
        """⟨γ, C⟩ + ε Σ γ (log γ − 1) + J(γ)."""
        cost, size = self.cost, max(1, BLOCK_ENTRIES // gamma.shape[1])

        def part(low: int) -> float:
            block = gamma[low : low + size]
            logs = np.log(block, out=np.zeros_like(block), where=block > 0)
            logs -= 1.0
            logs *= self.problem.epsilon
            logs += cost[low : low + size]
            return float(np.vdot(block, logs))

        with ThreadPoolExecutor(available_cores()) as pool:
            total = sum(pool.map(part, range(0, gamma.shape[0], size)))
        return total + float(self.problem.regularizer.value(gamma))

    def gap(self, verdict: Verdict) -> float:
        """(value − bound) / max(|value|, ε·mass), as the library defines it; NaN if the plan was no plan."""
        if not np.isfinite(verdict.value):
            return math.nan
        unit = max(abs(verdict.value), self.problem.epsilon * self.problem.mass)
        return max(verdict.value - self.bound, 0.0) / unit

    @property
    def cost(self) -> Double:
        """The cost as an array."""
        if self._cost is None:
            self._cost = np.asarray(self.problem.cost.rows(slice(None)), dtype=np.float64)
        return self._cost


def round_in_place(gamma: Double, a: Double, b: Double) -> None:
    """Projects a non-negative array onto the couplings of a and b."""
    rows = gamma.sum(axis=1)
    gamma *= np.minimum(1.0, np.divide(a, rows, out=np.ones_like(a), where=rows > 0))[:, None]
    columns = gamma.sum(axis=0)
    gamma *= np.minimum(1.0, np.divide(b, columns, out=np.ones_like(b), where=columns > 0))
    missing_rows, missing_columns = np.maximum(a - gamma.sum(axis=1), 0.0), np.maximum(b - gamma.sum(axis=0), 0.0)
    if (missing := missing_rows.sum()) > 0:
        size = max(1, BLOCK_ENTRIES // gamma.shape[1])
        for low in range(0, gamma.shape[0], size):
            gamma[low : low + size] += np.multiply.outer(missing_rows[low : low + size], missing_columns / missing)


def plan_of_potentials(cost: Double, f: npt.ArrayLike, g: npt.ArrayLike, epsilon: float) -> Double:
    """exp((f ⊕ g − C)/ε), with potentials in units of cost."""
    gamma = np.asarray(f, dtype=np.float64)[:, None] - cost
    gamma += np.asarray(g, dtype=np.float64)
    gamma /= epsilon
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(np.exp(gamma, out=gamma))
