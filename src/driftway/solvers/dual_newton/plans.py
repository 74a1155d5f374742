"""Compiled passes between transport with a group lasso and its semi-dual: costs that come in, plans that go out.

The notation, and the order of rows and columns, are those of `dual_newton.kernels`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from driftway.engines.compiled.compiling import FAST, inlined_by_llvm, kernel
from driftway.engines.compiled.exp2 import log2
from driftway.engines.compiled.layout import LN2
from driftway.solvers.dual_newton.kernels import add, combine, solve_group

# Columns that are moved together between an array and a transposed one: a line of the cache.
STRIP = 8
# What an entry is at the least where its square is wanted.
LEAST = 1e-150


@inlined_by_llvm(FAST)
def _scale(x: float, y: Any, out: Any) -> None:
    for i in range(y.size):
        out[i] *= x * y[i]


@inlined_by_llvm(FAST)
def _total(values: Any) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@inlined_by_llvm(FAST | {"nnan"})
def _least_and_sum(column: Any, least: Any) -> float:
    """least = min(least, column); the sum of the column, in a loop that writes nothing."""
    for i in range(column.size):
        least[i] = min(least[i], column[i])
    return _total(column)


@partial(kernel, fastmath=set())
def gather(low: int, high: int, rows: Any, columns: Any, given: Any, out: Any, rough: Any, least: Any) -> float:
    """The transposed submatrix out[j, i] = given[rows[i], columns[j]] for low ≤ j < high, by strips of rows.

    Fills `rough`, the same in float32 if it is not empty; lowers `least` to the least number of every row; returns
    their sum.
    """
    total = 0.0
    for first in range(0, rows.size, STRIP):
        last = min(first + STRIP, rows.size)
        for j in range(low, high):
            target, column = out[j], columns[j]
            for i in range(first, last):
                target[i] = given[rows[i], column]
    for j in range(low, high):
        total += _least_and_sum(out[j], least)
        if rough.size:
            source, single = out[j], rough[j]
            for i in range(rows.size):
                single[i] = source[i]
    return total


@partial(kernel, fastmath=set())
def fill_plan(
    low: int,
    high: int,
    cost: Any,
    inverse: float,
    theta: Any,
    basis: Any,
    b: Any,
    starts: Any,
    kappa: float,
    tolerance: float,
    roots: Any,
    kept: Any,
    added: Any,
    rows: Any,
    columns: Any,
    out: Any,
) -> None:
    """The columns low…high of the plan, from the roots that `evaluate` left, where they belong in `out`.

    They are rounded onto the marginals: of row i the share kept_i is kept, and added_i is its share of the mass that a
    column then lacks; these add up to 1, or are all 0.
    """
    n, K = cost.shape[1], starts.size - 1
    F, L, S, strip = np.empty(n), np.empty(K), np.empty(K), np.empty((STRIP, n))
    for first in range(low, high, STRIP):
        count = min(STRIP, high - first)
        for c in range(count):
            j, held = first + c, strip[c]
            combine(basis[j], theta, F)
            for k in range(K):
                s = slice(starts[k], starts[k + 1])
                L[k], S[k], _, _, _ = solve_group(cost[j, s], inverse, F[s], roots[j, k], kappa, tolerance, held[s])
            top, total = L.max(), 0.0
            for k in range(K):
                total += math.exp(L[k] - top) * S[k]
            for k in range(K):
                s = slice(starts[k], starts[k + 1])
                _scale(math.exp(L[k] - top) * b[j] / total, kept[s], held[s])
            add(max(b[j] - _total(held), 0.0), added, held)
        for i in range(n):
            target = out[rows[i]]
            for c in range(count):
                target[columns[first + c]] = strip[c, i]


@inlined_by_llvm(FAST)
def _round(d: Any, w: Any, a: Any, kept: Any, added: Any, mass: float, gamma: Any, change: Any) -> None:
    """A column γ of `mass` from d/a and w, and what rounding changes in it."""
    rest = mass
    for i in range(a.size):
        gamma[i] = max(a[i] * d[i] * (1.0 + w[i]), LEAST)
        change[i] = (kept[i] - 1.0) * gamma[i]
        rest -= gamma[i] + change[i]
    add(max(rest, 0.0), added, change)


@inlined_by_llvm(FAST)
def _sums(gamma: Any, change: Any) -> tuple[float, float, float, float]:
    """The divergence of the entropy, ‖γ‖², ⟨γ, change⟩ and ‖change‖².

    (1 + u) log(1 + u) − u is taken to be u²/(2 + 2u/3) up to u = 0.01, in which nothing cancels.
    """
    entropy = square = along = beyond = 0.0
    for i in range(gamma.size):
        u = change[i] / gamma[i]
        small, large = u * u / (2.0 + 0.6666666666666666 * u), (1.0 + u) * (LN2 * log2(1.0 + u)) - u
        entropy += gamma[i] * (small if u < 0.01 else large)
        square += gamma[i] * gamma[i]
        along += gamma[i] * change[i]
        beyond += change[i] * change[i]
    return entropy, square, along, beyond


@partial(kernel, fastmath=set())
def divergence(
    stride: int, d: Any, w: Any, a: Any, b: Any, starts: Any, kappa: float, kept: Any, added: Any
) -> tuple[float, float]:
    """The Bregman divergence of H + κ Σ‖·‖ between the plan and the one that `fill_plan` would write.

    It is that of every `stride`-th column, and their mass. Of norms it is ‖γ + δ‖ − ‖γ‖ − ⟨γ, δ⟩/‖γ‖, written without
    a cancellation.
    """
    n, K = d.shape[1], starts.size - 1
    gamma, change = np.empty(n), np.empty(n)
    total = mass = 0.0
    for j in range(0, d.shape[0], stride):
        _round(d[j], w[j], a, kept, added, b[j], gamma, change)
        mass += b[j]
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            entropy, square, along, beyond = _sums(gamma[s], change[s])
            norm, rounded = math.sqrt(square), math.sqrt(square + 2.0 * along + beyond)
            slope = along / norm
            total += entropy + kappa * (beyond - slope * slope) / (rounded + norm + slope)
    return total, mass
