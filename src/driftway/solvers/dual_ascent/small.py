"""Newton steps of small problems, computed by compiled code on arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import TINY
from driftway.solvers.dual_ascent.continuation import LAST_RIDGE, NEXT_RIDGE, RIDGE, STARVED, Direction

Double = npt.NDArray[np.float64]
Step = tuple[Double, Double]


class Memory(NamedTuple):
    """What an evaluation fills: the plan (transposed), f, column sums, γR and the gradient in P."""

    plan: Double
    f: Double
    columns: Double
    means: Double
    residual: Double


@dataclass(frozen=True, eq=False, slots=True)
class SmallPlace:
    """A point (g, P) of the dual at a strength; `memory` is of the last two places that were evaluated only."""

    epsilon: float
    g: Double
    P: Double
    memory: Memory
    value: float
    magnitude: float
    distance: float


class CompiledSteps:
    """The dual for arrays of total mass 1: C (m×n), R (m×r), masses a and b, and φ*, centre c and curvature q (r×n)."""

    def __init__(self, C: Double, R: Double, a: Double, b: Double, c: Double, q: Double) -> None:
        (m, n), r = C.shape, R.shape[1]
        self._problem = C, R, a, b, c, q
        self._given = 1.0 / np.sqrt(a), 0.5 * (R.max(axis=0) - R.min(axis=0))
        stacked = np.empty((m, 1 + r, n))
        blocks = stacked, stacked.reshape(m, -1), np.empty((m, m)), np.empty((m, m))
        self._work = np.empty((r, r, n)), *blocks, np.empty((2, m)), np.empty((max(r, 3), n))
        self._memories = [
            Memory(np.empty((m, n)), np.empty(n), np.empty(m), np.empty((r, n)), np.empty((r, n))) for _ in range(2)
        ]

    def at(self, epsilon: float, g: Double, P: Double, kept: Memory | None = None) -> SmallPlace:
        """The dual at (g, P), into the memory that is not to be kept."""
        memory = self._memories[kept is self._memories[0]]
        value, magnitude, error, mismatch = _kernels().evaluate(
            *self._problem, epsilon, g, P, *memory, self._work[-1][0]
        )
        distance = max(error, mismatch / max(abs(value), epsilon))
        return SmallPlace(epsilon, g, P, memory, value, magnitude, distance)

    def under(self, place: SmallPlace, epsilon: float, before: SmallPlace | None) -> SmallPlace:
        if before is None:
            return self.at(epsilon, place.g, place.P)
        t = (place.epsilon - epsilon) / (before.epsilon - place.epsilon)
        return self.at(epsilon, place.g + t * (place.g - before.g), place.P + t * (place.P - before.P))

    def filled(self, place: SmallPlace) -> SmallPlace | None:
        b, columns = self._problem[3], place.memory.columns
        if not (columns < STARVED * b).any():
            return None
        return self.at(place.epsilon, place.g + place.epsilon * np.log(b / np.maximum(columns, TINY)), place.P)

    def direction(self, place: SmallPlace, damping: float) -> Direction | None:
        _, R, a, b, _, q = self._problem
        step = np.empty_like(place.g), np.empty_like(place.P)
        plan, _, *sums = place.memory
        limits = place.epsilon, damping, STARVED, RIDGE, NEXT_RIDGE, LAST_RIDGE
        found, slope, reach = _kernels().direction(R, a, b, q, *limits, plan, *sums, *self._given, *self._work, *step)
        return Direction(step, slope, reach) if found else None

    def moved(self, place: SmallPlace, step: Step, t: float) -> SmallPlace | None:
        there = self.at(place.epsilon, place.g + t * step[0], place.P + t * step[1], place.memory)
        return there if math.isfinite(there.value) else None

    def settled(self, place: SmallPlace) -> tuple[SmallPlace, int]:
        """The place unchanged: a compiled step takes no longer than a few evaluations."""
        return place, 0


@cache
def _kernels() -> ModuleType:
    """The compiled code, imported when it is first needed."""
    return import_module("driftway.solvers.dual_ascent.kernels")
