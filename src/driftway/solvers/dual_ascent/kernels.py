"""Newton steps on the dual of transport with squares of right moments, compiled: for problems of a small m.

The dual and its notation are those of `dual_ascent.dual`, for masses of total 1. Matrices are transposed (m×n):
all long loops run over the rows of the plan, and LLVM vectorises them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftway.engines.compiled.compiling import inlined, kernel
from driftway.engines.compiled.exp2 import exp2
from driftway.engines.compiled.layout import LOG2E


@kernel
def evaluate(
    C: Any,
    R: Any,
    a: Any,
    b: Any,
    c: Any,
    q: Any,
    epsilon: float,
    g: Any,
    P: Any,
    plan: Any,
    f: Any,
    columns: Any,
    means: Any,
    residual: Any,
    total: Any,
) -> tuple[float, float, float, float]:
    """The dual at (g, P), the magnitude of its terms, column error and moment mismatch.

    Fills the plan, f, its columns, γR, the gradient in P, and `total`, which nobody needs.
    """
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
    total[:] = 0.0
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
    error = mismatch = 0.0
    for j in range(m):
        error += abs(b[j] - columns[j])
    for k in range(r):
        for i in range(n):
            residual[k, i] = means[k, i] - c[k, i] - q[k, i] * P[k, i]
            mismatch += 0.5 * residual[k, i] * residual[k, i] / q[k, i]
    return value - epsilon, magnitude, error, mismatch


@inlined
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


@inlined
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


@inlined
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


@inlined
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


@inlined
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


@inlined
def _reach(R: Any, a: Any, epsilon: float, plan: Any, dg: Any, dP: Any, first: Any, second: Any, change: Any) -> float:
    """How far a step goes: the largest standard deviation, over the rows of the plan, of what it adds to logarithms."""
    (m, n), r = plan.shape, R.shape[1]
    first[:] = second[:] = 0.0
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


@kernel
def direction(
    R: Any,
    a: Any,
    b: Any,
    q: Any,
    epsilon: float,
    damping: float,
    starved: float,
    ridge: float,
    next_ridge: float,
    last_ridge: float,
    plan: Any,
    columns: Any,
    means: Any,
    residual: Any,
    root: Any,
    radii: Any,
    L: Any,
    stacked: Any,
    flat: Any,
    gram: Any,
    system: Any,
    along: Any,
    across: Any,
    dg: Any,
    dP: Any,
) -> tuple[bool, float, float]:
    """The Newton step (dg, dP): a system of size m for dg after the elimination of P.

    Damping adds so much of what the Hessian can be at the most: the columns' masses, and the variance of R under rows
    that lie at both ends of it. Columns are taken to have the share `starved` of their mass at the least, and ridges
    are added to the system. Returns whether there is a step, its slope and its reach. `root` is 1/√a and `radii` are
    half the ranges of R; the arrays between them and the step are overwritten.
    """
    (m, n), r = plan.shape, R.shape[1]
    mass, step, inverse = along[0], along[1], 1.0 / epsilon
    scale = math.sqrt(inverse)
    for k in range(r):
        mean, weight, diagonal = across[k], damping * radii[k] * radii[k] / epsilon, L[k, k]
        for i in range(n):
            mean[i] = means[k, i] / a[i]
            diagonal[i] = q[k, i] + weight * a[i]
        for e in range(k):
            block = L[k, e]
            for i in range(n):
                block[i] = 0.0
    # In `stacked` γ/√a, and the centred moments γ(R − mean) times L⁻¹/√ε.
    for j in range(m):
        row = plan[j]
        for k in range(r):
            moment, weight, centre = stacked[j, 1 + k], R[j, k], across[k]
            for i in range(n):
                moment[i] = row[i] * (weight - centre[i])
            for e in range(k + 1):
                block, other, middle = L[k, e], R[j, e], across[e]
                for i in range(n):
                    block[i] += inverse * moment[i] * (other - middle[i])
    _factor_blocks(L)
    for k in range(r):
        target, known = dP[k], residual[k]
        for i in range(n):
            target[i] = known[i]
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
    _fill_gram(flat, gram)
    for j in range(m):
        mass[j] = math.sqrt(max(columns[j], starved * b[j]))
        dg[j] /= mass[j]
    more = ridge
    while True:
        for j in range(m):
            for k in range(j + 1):
                system[j, k] = mass[j] * mass[k] - gram[j, k] / mass[j] / mass[k]  # plus the free constant in g
            system[j, j] += 1.0 + damping + more
            step[j] = dg[j]
        if _solve(system, step):
            break
        if more > last_ridge:  # out of range: with numbers in it the system would be positive definite
            return False, 0.0, 0.0
        more = max(10.0 * more, next_ridge)
    slope = 0.0
    for j in range(m):
        dg[j] = epsilon * step[j] / mass[j]
        change = dg[j] * scale
        for k in range(r):
            moment, target = stacked[j, 1 + k], dP[k]
            for i in range(n):
                target[i] += change * moment[i]
    _backward(L, dP)
    for j in range(m):
        slope += dg[j] * (b[j] - columns[j])
    for k in range(r):
        known, target = residual[k], dP[k]
        for i in range(n):
            slope += target[i] * known[i]
    return True, slope, _reach(R, a, epsilon, plan, dg, dP, across[0], across[1], across[2])
