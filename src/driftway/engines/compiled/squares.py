"""Sums of squares of a plan over the classes of its rows, compiled."""

from __future__ import annotations

from typing import Any

from driftway.engines.compiled.compiling import kernel


@kernel
def add_squares(gamma: Any, classes: Any, squares: Any) -> None:
    """squares[k] += Σ γ² over the rows of class k, for every column."""
    for i in range(gamma.shape[0]):
        row, total = gamma[i], squares[classes[i]]
        for j in range(total.size):
            total[j] += row[j] * row[j]
