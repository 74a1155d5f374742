"""Newton's method on the dual of transport with squares of right moments, compiled: for problems of a small m.

The dual and its notation are those of `dual_ascent.dual`, for masses of total 1. Matrices are transposed (m×n):
all long loops run over the rows of the plan, and LLVM vectorises them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from driftway.engines.compiled.exp2 import exp2
from driftway.engines.compiled.sweep import FAST
from driftway.solvers.dual_ascent.continuation import (
    CLOSE,
    DAMPING,
    FAR,
    HASTE,
    HIGHEST,
    LEAST,
    SHORTEST,
    STRIDE,
    UNDAMPED,
    ahead,
    longer,
    shorter,
)

Double = npt.NDArray[np.float64]

LOG2E = 1.4426950408889634
# The share of a promised rise that a step must keep, and what of the dual's magnitude is rounding.
SUFFICIENT, ROUNDING = 1e-4, 1e-14
# What a column that has underflowed is taken to hold; and the share of its mass below which it is filled at once.
TINY, STARVED = 1e-300, 0.1


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _evaluate(C: Any, R: Any, a: Any, b: Any, c: Any, q: Any, epsilon: float, g: Any, P: Any, out: Any) -> Any:
    """The dual at (g, P) and the magnitude of its terms; fills the plan, f, its columns and γR."""
    plan, f, columns, means = out
    (m, n), r, unit = C.shape, R.shape[1], LOG2E / epsilon
    f[:] = -np.inf
    for j in range(m):
        row, cost = plan[j], C[j]
        for i in range(n):
            row[i] = g[j] - cost[i]
        for k in range(r):
            weight, p = R[j, k], P[k]
            for i in range(n):
                row[i] -= weight * p[i]
        for i in range(n):
            f[i] = max(f[i], row[i])
    total = np.zeros(n)
    for j in range(m):
        row = plan[j]
        for i in range(n):
            row[i] = exp2(unit * (row[i] - f[i]))
            total[i] += row[i]
    value = magnitude = 0.0
    for i in range(n):
        total[i] = a[i] / total[i]
        f[i] = epsilon * math.log(total[i]) - f[i]
        value += a[i] * f[i]
        magnitude += a[i] * abs(f[i])
    means[:] = 0.0
    for j in range(m):
        row, mass = plan[j], 0.0
        for i in range(n):
            row[i] *= total[i]
            mass += row[i]
        columns[j] = mass
        for k in range(r):
            weight, mean = R[j, k], means[k]
            for i in range(n):
                mean[i] += weight * row[i]
        value += b[j] * g[j]
        magnitude += b[j] * abs(g[j])
    for k in range(r):
        for i in range(n):
            square = 0.5 * q[k, i] * P[k, i] * P[k, i]
            value -= P[k, i] * c[k, i] + square
            magnitude += abs(P[k, i] * c[k, i]) + square
    return value - epsilon, magnitude


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _factor_blocks(A: Any) -> None:
    """A = LLᵀ for every row, in place (r×r×n), with the inverse of its diagonal in the place of that."""
    r, _, n = A.shape
    for k in range(r):
        for e in range(k + 1):
            entry = A[k, e]
            for p in range(e):
                first, second = A[k, p], A[e, p]
                for i in range(n):
                    entry[i] -= first[i] * second[i]
            if k == e:
                for i in range(n):
                    entry[i] = 1.0 / math.sqrt(entry[i])
            else:
                pivot = A[e, e]
                for i in range(n):
                    entry[i] *= pivot[i]


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _forward(L: Any, x: Any) -> None:
    """x = L⁻¹x for every row."""
    for k in range(x.shape[0]):
        target, pivot = x[k], L[k, k]
        for e in range(k):
            factor, known = L[k, e], x[e]
            for i in range(target.size):
                target[i] -= factor[i] * known[i]
        for i in range(target.size):
            target[i] *= pivot[i]


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _backward(L: Any, x: Any) -> None:
    """x = L⁻ᵀx for every row."""
    r = x.shape[0]
    for k in range(r - 1, -1, -1):
        target, pivot = x[k], L[k, k]
        for e in range(k + 1, r):
            factor, known = L[e, k], x[e]
            for i in range(target.size):
                target[i] -= factor[i] * known[i]
        for i in range(target.size):
            target[i] *= pivot[i]


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _fill_gram(X: Any, out: Any) -> None:
    """The lower half of XXᵀ, four rows by four at a time, as many as fit the registers: BLAS is half as fast here."""
    m, n = X.shape
    for j in range(0, m, 4):
        j1, j2, j3 = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
        x0, x1, x2, x3 = X[j], X[j1], X[j2], X[j3]
        for k in range(0, j3 + 1, 4):
            k1, k2, k3 = min(k + 1, m - 1), min(k + 2, m - 1), min(k + 3, m - 1)
            y0, y1, y2, y3 = X[k], X[k1], X[k2], X[k3]
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
            for i in range(n):
                s00 += x0[i] * y0[i]
                s01 += x0[i] * y1[i]
                s02 += x0[i] * y2[i]
                s03 += x0[i] * y3[i]
                s10 += x1[i] * y0[i]
                s11 += x1[i] * y1[i]
                s12 += x1[i] * y2[i]
                s13 += x1[i] * y3[i]
                s20 += x2[i] * y0[i]
                s21 += x2[i] * y1[i]
                s22 += x2[i] * y2[i]
                s23 += x2[i] * y3[i]
                s30 += x3[i] * y0[i]
                s31 += x3[i] * y1[i]
                s32 += x3[i] * y2[i]
                s33 += x3[i] * y3[i]
            out[j, k], out[j, k1], out[j, k2], out[j, k3] = s00, s01, s02, s03
            out[j1, k], out[j1, k1], out[j1, k2], out[j1, k3] = s10, s11, s12, s13
            out[j2, k], out[j2, k1], out[j2, k2], out[j2, k3] = s20, s21, s22, s23
            out[j3, k], out[j3, k1], out[j3, k2], out[j3, k3] = s30, s31, s32, s33


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _solve(S: Any, x: Any) -> bool:
    """x = S⁻¹x by Cholesky, in place, for the lower half of S; whether S is positive definite."""
    m = x.size
    for j in range(m):
        for k in range(j + 1):
            entry = S[j, k]
            for p in range(k):
                entry -= S[j, p] * S[k, p]
            if k < j:
                S[j, k] = entry / S[k, k]
            elif entry > 0:
                S[j, j] = math.sqrt(entry)
            else:
                return False
    for j in range(m):
        entry = x[j]
        for p in range(j):
            entry -= S[j, p] * x[p]
        x[j] = entry / S[j, j]
    for j in range(m - 1, -1, -1):
        x[j] /= S[j, j]
        for p in range(j):
            x[p] -= S[j, p] * x[j]
    return True


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _direction(
    R: Any, a: Any, b: Any, q: Any, epsilon: float, damping: float, residual: Any, here: Any, dg: Any, dP: Any
) -> bool:
    """The Newton step (dg, dP): a system of size m for dg after the elimination of P; whether there is one.

    Damping adds so much of what the Hessian can be at the most: the columns' masses, and the variance of R under rows
    that lie at both ends of it.
    """
    plan, _, columns, means = here
    (m, n), r = plan.shape, R.shape[1]
    mean, L = means / a, np.zeros((r, r, n))
    for k in range(r):
        radius = 0.5 * (R[:, k].max() - R[:, k].min())
        L[k, k] = q[k] + damping * radius * radius / epsilon * a
    stacked = np.empty((m, 1 + r, n))  # γ/√a, and the centred moments γ(R − mean) times L⁻¹/√ε
    root, inverse = 1.0 / np.sqrt(a), 1.0 / epsilon
    scale = math.sqrt(inverse)
    for j in range(m):
        row = plan[j]
        for k in range(r):
            moment, weight, centre = stacked[j, 1 + k], R[j, k], mean[k]
            for i in range(n):
                moment[i] = row[i] * (weight - centre[i])
            for e in range(k + 1):
                block, other, middle = L[k, e], R[j, e], mean[e]
                for i in range(n):
                    block[i] += inverse * moment[i] * (other - middle[i])
    _factor_blocks(L)
    dP[:] = residual
    _forward(L, dP)  # L⁻¹ρ
    for j in range(m):
        row, first, centred = plan[j], stacked[j, 0], stacked[j, 1:]
        for i in range(n):
            first[i] = row[i] * root[i]
        _forward(L, centred)
        right = 0.0
        for k in range(r):
            moment, known = centred[k], dP[k]
            for i in range(n):
                right += moment[i] * known[i]
                moment[i] *= scale
        dg[j] = b[j] - columns[j] + right / epsilon
    gram = np.empty((m, m))
    _fill_gram(stacked.reshape((m, (1 + r) * n)), gram)
    mass = np.sqrt(np.maximum(columns, STARVED * b))
    dg /= mass
    more, step, system = 1e-12, dg.copy(), np.empty((m, m))
    while True:
        for j in range(m):
            for k in range(j + 1):
                system[j, k] = mass[j] * mass[k] - gram[j, k] / mass[j] / mass[k]  # plus the free constant in g
            system[j, j] += 1.0 + damping + more
        step[:] = dg
        if _solve(system, step):
            break
        if more > 1.0:  # out of range: with numbers in it the system would be positive definite
            return False
        more = max(10.0 * more, 1e-10)
    dg[:] = epsilon * step / mass
    for j in range(m):
        change = dg[j] * scale
        for k in range(r):
            moment, target = stacked[j, 1 + k], dP[k]
            for i in range(n):
                target[i] += change * moment[i]
    _backward(L, dP)
    return True


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _reach(R: Any, a: Any, epsilon: float, plan: Any, dg: Any, dP: Any) -> float:
    """How far a step goes: the largest standard deviation, over the rows of the plan, of what it adds to logarithms."""
    (m, n), r = plan.shape, R.shape[1]
    first, second, change = np.zeros(n), np.zeros(n), np.empty(n)
    for j in range(m):
        change[:] = dg[j]
        for k in range(r):
            weight, p = R[j, k], dP[k]
            for i in range(n):
                change[i] -= weight * p[i]
        row = plan[j]
        for i in range(n):
            part = row[i] * change[i]
            first[i] += part
            second[i] += part * change[i]
    largest = 0.0
    for i in range(n):
        mean = first[i] / a[i]
        largest = max(largest, second[i] / a[i] - mean * mean)
    return math.sqrt(largest) / epsilon


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def climb(
    C: Any,
    R: Any,
    a: Any,
    b: Any,
    c: Any,
    q: Any,
    epsilon: float,
    g: Any,
    P: Any,
    accuracy: float,
    limit: int,
    far: float,
) -> Any:
    """Newton steps at one strength, from (g, P) and into them.

    They end at column error and moment mismatch `accuracy`; if that is 0, after a whole step of little reach, or before
    a first one of more reach than `far`. Returns the evaluations they took, whether they ended as they should, the
    reach of the first step, and f.
    """
    (m, n), r = C.shape, R.shape[1]
    here = np.empty((m, n)), np.empty(n), np.empty(m), np.empty((r, n))
    there = np.empty((m, n)), np.empty(n), np.empty(m), np.empty((r, n))
    dg, dP, residual = np.empty(m), np.empty((r, n)), np.empty((r, n))
    value, magnitude = _evaluate(C, R, a, b, c, q, epsilon, g, P, here)
    spent, earlier, balanced, damping, first = 1, np.inf, False, 0.0, -1.0
    while spent < limit:
        error, mismatch = 0.0, 0.0
        for j in range(m):
            error += abs(b[j] - here[2][j])
        for k in range(r):
            for i in range(n):
                residual[k, i] = here[3][k, i] - c[k, i] - q[k, i] * P[k, i]
                mismatch += 0.5 * residual[k, i] * residual[k, i] / q[k, i]
        if accuracy > 0 and error <= accuracy and mismatch <= accuracy * max(abs(value), epsilon):
            return spent, True, first, here[1]
        if not balanced and np.any(here[2] < STARVED * b):  # an update of Sinkhorn's, which always ascends
            g += epsilon * np.log(b / np.maximum(here[2], TINY))
            value, magnitude = _evaluate(C, R, a, b, c, q, epsilon, g, P, here)
            spent, balanced = spent + 1, True
            continue
        if not _direction(R, a, b, q, epsilon, damping, residual, here, dg, dP):
            break
        slope, t, accepted, lost, balanced = 0.0, 1.0, False, False, False
        for j in range(m):
            slope += dg[j] * (b[j] - here[2][j])
        for k in range(r):
            for i in range(n):
                slope += dP[k, i] * residual[k, i]
        reach = _reach(R, a, epsilon, here[0], dg, dP)
        if first < 0:
            first = reach
            if first > far:
                break
        while t > SHORTEST and not accepted:
            h, Q = g + t * dg, P + t * dP
            next_value, next_magnitude = _evaluate(C, R, a, b, c, q, epsilon, h, Q, there)
            spent += 1
            lost = t * slope < ROUNDING * magnitude
            accepted = next_value >= value + SUFFICIENT * t * slope or lost
            t *= 0.5
        if lost and error > 0.5 * earlier:
            break
        near = accuracy == 0.0 and t == 0.5 and reach <= CLOSE and damping <= UNDAMPED
        # Where the model promised too much, the next step is damped.
        damping = 0.1 * damping if t == 0.5 else damping if t > 0.2 else max(10.0 * damping, DAMPING)
        if not accepted:
            if damping > HIGHEST:
                break
            continue
        g[:], P[:] = h, Q
        here, there, value, magnitude, earlier = there, here, next_value, next_magnitude, error
        if near:
            return spent, True, first, here[1]
    return spent, False, first, here[1]


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def evaluate(C: Any, R: Any, a: Any, b: Any, c: Any, q: Any, epsilon: float, g: Any, P: Any, out: Any) -> Any:
    """The same, to be called from Python."""
    return _evaluate(C, R, a, b, c, q, epsilon, g, P, out)


def follow(
    C: Double,
    R: Double,
    a: Double,
    b: Double,
    c: Double,
    q: Double,
    first: float,
    last: float,
    g: Double,
    P: Double,
    accuracy: float,
    limit: int,
    updates: int,
) -> tuple[int, Double]:
    """Solves for the last strength along a path from the first, in (g, P); evaluations, and f.

    Begins with so many of Sinkhorn's updates. Strengths on the way are only solved as far as the next one needs it; at
    most `limit` evaluations each.
    """
    (m, n), r = C.shape, R.shape[1]
    problem, here = (C, R, a, b, c, q), (np.empty((m, n)), np.empty(n), np.empty(m), np.empty((r, n)))
    for _ in range(updates):
        evaluate(*problem, first, g, P, here)
        g += first * np.log(b / np.maximum(here[2], TINY))
    spent, strength, stride = updates, first, STRIDE
    before: tuple[float, Double, Double] | None = None
    if strength > last:
        spent += climb(*problem, strength, g, P, 0.0, limit, math.inf)[0]
    while strength > last:
        following, stride = ahead(strength, last, stride)
        solved = strength, g.copy(), P.copy()
        if before is not None:  # go on as it went
            t = (strength - following) / (before[0] - strength)
            g += t * (g - before[1])
            P += t * (P - before[2])
        patience = (HASTE, FAR) if stride > LEAST else (limit, math.inf)
        count, near, reach, _ = climb(*problem, following, g, P, 0.0, *patience)
        spent += count
        if near or stride <= LEAST:
            before, strength, stride = solved, following, longer(stride, reach)
        else:
            g[:], P[:] = solved[1:]
            stride = shorter(stride)
    count, _, _, f = climb(*problem, last, g, P, accuracy, limit, math.inf)
    return spent + count, f
