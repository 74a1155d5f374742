"""POT's conventions for output: printed lines, stopping rules, logs, and errors about unknown arguments."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind
from driftway.plan.plan import Plan
from driftway.problem.solution import Iteration, Solution

Double = npt.NDArray[np.float64]


def print_line(line: str) -> None:
    """Prints a line."""
    sys.stdout.write(line + "\n")


def refuse(function: str, arguments: dict[str, Any]) -> None:
    """Raises a TypeError if there are arguments that the function does not support."""
    if arguments:
        names = ", ".join(sorted(arguments))
        raise TypeError(f"{function} got arguments that it does not support: {names}; see docs/bridges.md")


class PrintErrors:
    """Callback that prints the marginal error of each round."""

    def __init__(self) -> None:
        self._count = 0
        print_line(f"{'It.':5s}|{'Err':12s}\n{'-' * 19}")

    def __call__(self, iteration: Iteration, plan: Plan) -> None:
        self._count += iteration.inner
        print_line(f"{self._count:5d}|{iteration.marginal_error:8e}|")


class StoppingRule:
    """Callback that prints the loss of each iteration, and stops by POT's thresholds.

    It stops when the certified gap is within `stop_absolute`, or when `budget` inner iterations are spent. If
    `stop_variation` is given, it also stops when the loss changes by less than that, relatively, or by less than
    `stop_absolute`.
    """

    def __init__(
        self, budget: float, stop_absolute: float, unit: float, verbose: bool, stop_variation: float | None = None
    ) -> None:
        self._left, self._absolute, self._variation = budget, stop_absolute, stop_variation
        self._unit, self._verbose, self._count = unit, verbose, 0
        self._last: float | None = None
        self.enough = False
        if verbose:
            print_line(f"{'It.':5s}|{'Loss':12s}|{'Relative loss':8s}|{'Absolute loss':8s}\n{'-' * 48}")

    def __call__(self, iteration: Iteration, plan: Plan) -> bool:
        loss, last = iteration.objective, self._last
        variation = 0.0 if last is None else abs(loss - last)
        relative = variation / abs(loss) if loss else 0.0
        if self._verbose:
            print_line(f"{self._count:5d}|{loss:8e}|{relative:8e}|{variation:8e}")
        self._left -= iteration.inner
        self._count, self._last = self._count + 1, loss
        self.enough = iteration.gap * max(abs(loss), self._unit) <= self._absolute
        if self._variation is not None and last is not None:
            self.enough |= relative < self._variation or variation < self._absolute
        return self.enough or self._left <= 0


def scalings(solutions: list[Solution], reg: float, kind: Kind, *, several: bool) -> dict[str, Any]:
    """The dual variables under all the names that POT uses; one column per histogram if there are several."""
    f, g = (np.stack([np.asarray(s.potentials[side]) for s in solutions], axis=1) for side in (0, 1))
    f, g = (f, g) if several else (f[:, 0], g[:, 0])
    with np.errstate(over="ignore", under="ignore"):
        logs = {"log_u": f / reg, "log_v": g / reg, "u": np.exp(f / reg), "v": np.exp(g / reg), "alpha": f, "beta": g}
    wrapped = {name: kind.wrap(value) for name, value in logs.items()}
    return {
        **wrapped,
        "logu": wrapped["log_u"],
        "logv": wrapped["log_v"],
        "warmstart": (wrapped["alpha"], wrapped["beta"]),
    }
