"""How large a run is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """A quick run checks that everything works; a full one gives the numbers; `patience` multiplies all budgets."""

    quick: bool = False
    largest: int = 100_000
    patience: float = 1.0
    minutes: float = math.inf

    def pick(self, full: T, quick: T) -> T:
        return quick if self.quick else full

    def budget(self, full: float, quick: float) -> float:
        """Seconds per run, stretched by the patience asked for."""
        return self.patience * self.pick(full, quick)
