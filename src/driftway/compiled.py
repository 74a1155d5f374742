"""The sweep as compiled code: what the engine runs where Numba is installed.

Everything is in units of log₂, so that the exponential is a shift of the exponent and a polynomial. The
loops are written to be vectorised by LLVM: no calls, no branches that depend on an entry. A row is formed
tile by tile in the nearest cache; four rows at a time meet the columns.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from driftway.elementary import exp2, log2

FAST = {"contract", "reassoc", "nsz"}  # sums in any order
TILE = 1024  # entries of a row formed at once: they and what they are made of stay in the first-level cache


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def _form(i: int, shift: Any, terms: Any, out: Any) -> None:
    """out = log₂ of row i, plus the shift.

    terms = base, first, x, y, euclidean, scale, A, B, g:  the row is
    g + scale·(base[i − first] or ‖xᵢ − y‖^(1 or 2)) + Aᵢ B, all in the precision of `out`.
    """
    base, first, x, y, euclidean, scale, A, B, g = terms
    m, rank, d = g.size, A.shape[1], x.shape[1]
    for low in range(0, m, TILE):
        high = min(low + TILE, m)
        z, h = out[low:high], g[low:high]
        size = high - low
        if d == 2:
            x0, x1, y0, y1 = x[i, 0], x[i, 1], y[0, low:high], y[1, low:high]
            if euclidean:
                for j in range(size):
                    z[j] = h[j] + shift + scale * math.sqrt((x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j]))
            else:
                for j in range(size):
                    z[j] = h[j] + shift + scale * ((x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j]))
        elif d > 0:
            x0, y0 = x[i, 0], y[0, low:high]
            for j in range(size):
                z[j] = (x0 - y0[j]) * (x0 - y0[j])
            for k in range(1, d):
                xk, yk = x[i, k], y[k, low:high]
                for j in range(size):
                    z[j] += (xk - yk[j]) * (xk - yk[j])
            if euclidean:
                for j in range(size):
                    z[j] = h[j] + shift + scale * math.sqrt(z[j])
            else:
                for j in range(size):
                    z[j] = h[j] + shift + scale * z[j]
        elif base.shape[0] > 0:
            c = base[i - first, low:high]
            for j in range(size):
                z[j] = h[j] + shift + scale * c[j]
        else:
            for j in range(size):
                z[j] = h[j] + shift
        k = 0
        while k + 1 < rank:
            a0, a1, b0, b1 = A[i, k], A[i, k + 1], B[k, low:high], B[k + 1, low:high]
            for j in range(size):
                z[j] += a0 * b0[j] + a1 * b1[j]
            k += 2
        if k < rank:
            a0, b0 = A[i, k], B[k, low:high]
            for j in range(size):
                z[j] += a0 * b0[j]


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def _exponentiate_pair(a0: Any, a1: Any, b0: Any, b1: Any, g: Any, shift: Any, out: Any) -> Any:
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(g[j] + shift + a0 * b0[j] + a1 * b1[j])
        out[j] = value
        total += value
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def _exponentiate_in_place(out: Any) -> Any:
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(out[j])
        out[j] = value
        total += value
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def _exponentiate(i: int, shift: Any, terms: Any, out: Any) -> Any:
    """out = row i of the plan; its sum."""
    base, x, A, B, g = terms[0], terms[2], terms[6], terms[7], terms[8]
    if x.shape[1] == 0 and base.shape[0] == 0 and A.shape[1] == 2:  # one pass for the commonest form
        return _exponentiate_pair(A[i, 0], A[i, 1], B[0], B[1], g, shift, out)
    _form(i, shift, terms, out)
    return _exponentiate_in_place(out)


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def _normalise(i: int, f: Any, mass: Any, safe: float, terms: Any, out: Any) -> Any:
    """Row i of the plan in `out`, the factor that gives it its mass, and its shift."""
    zero, one = out.dtype.type(0), out.dtype.type(1)
    shift = f[i]
    total = _exponentiate(i, shift, terms, out)
    if mass.size == 0:
        return one, shift
    if mass[i] <= 0:
        return zero, shift
    if not (total > 1.0 / safe and total < safe):
        # The last potential was no safe shift: shift the row by its maximum.
        _form(i, zero, terms, out)
        top = out[0]
        for j in range(1, out.size):
            top = out[j] if out[j] > top else top
        shift = -top
        total = _exponentiate(i, shift, terms, out)
    return mass[i] / total, shift


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def sweep_rows(
    low: int,
    high: int,
    terms: Any,
    f: Any,
    mass: Any,
    safe: float,
    V: Any,
    U: Any,
    shifts: Any,
    rows: Any,
    right: Any,
    columns: Any,
    left: Any,
    buffer: Any,
) -> None:
    """One pass over the rows low…high of γ = 2^(terms + f), each scaled to its mass if masses are given.

    Fills `shifts` (log₂-potentials), `rows`, `right` = γVᵀ, and adds to `columns` and `left` = Uᵀγ.
    """
    zero = buffer.dtype.type(0)
    b0, b1, b2, b3 = buffer[0], buffer[1], buffer[2], buffer[3]
    m = columns.size
    for i in range(low, high, 4):
        q0 = q1 = q2 = q3 = zero
        count = min(4, high - i)
        q0, shifts[i] = _normalise(i, f, mass, safe, terms, b0)
        if count > 1:
            q1, shifts[i + 1] = _normalise(i + 1, f, mass, safe, terms, b1)
        if count > 2:
            q2, shifts[i + 2] = _normalise(i + 2, f, mass, safe, terms, b2)
        if count > 3:
            q3, shifts[i + 3] = _normalise(i + 3, f, mass, safe, terms, b3)
        else:
            b3[:] = zero
            if count < 3:
                b2[:] = zero
            if count < 2:
                b1[:] = zero
        for j in range(m):
            columns[j] += q0 * b0[j] + q1 * b1[j] + q2 * b2[j] + q3 * b3[j]
        for k in range(V.shape[0]):
            v = V[k]
            s0 = s1 = s2 = s3 = zero
            for j in range(m):
                s0 += b0[j] * v[j]
                s1 += b1[j] * v[j]
                s2 += b2[j] * v[j]
                s3 += b3[j] * v[j]
            right[i, k] = q0 * s0
            if count > 1:
                right[i + 1, k] = q1 * s1
            if count > 2:
                right[i + 2, k] = q2 * s2
            if count > 3:
                right[i + 3, k] = q3 * s3
        for k in range(U.shape[1]):
            t0 = q0 * U[i, k]
            t1 = q1 * U[i + 1, k] if count > 1 else zero
            t2 = q2 * U[i + 2, k] if count > 2 else zero
            t3 = q3 * U[i + 3, k] if count > 3 else zero
            target = left[k]
            for j in range(m):
                target[j] += t0 * b0[j] + t1 * b1[j] + t2 * b2[j] + t3 * b3[j]
        for r in range(count):
            q = q0 if r == 0 else q1 if r == 1 else q2 if r == 2 else q3
            if mass.size:
                rows[i + r] = mass[i + r]
                shifts[i + r] = shifts[i + r] + math.log2(q) if q > 0 else -np.inf
            else:
                total = zero
                b = buffer[r]
                for j in range(m):
                    total += b[j]
                rows[i + r] = total


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def sweep_rounded(
    low: int,
    high: int,
    terms: Any,
    f: Any,
    mass: Any,
    u: Any,
    v: Any,
    V: Any,
    U: Any,
    rows: Any,
    right: Any,
    columns: Any,
    left: Any,
    buffer: Any,
) -> float:
    """The same for γ' = γ + u vᵀ, and Σ γ' log₂(γ'/γ); u is what the rows lack of their mass if masses are given."""
    z, b, excess = buffer[0], buffer[1], 0.0
    m = columns.size
    for i in range(low, high):
        _form(i, f[i], terms, z)
        total = 0.0
        for j in range(m):
            value = exp2(z[j])
            b[j] = value
            total += value
        lacking = max(mass[i] - total, 0.0) if mass.size else u[i]
        total = 0.0
        for j in range(m):
            b[j] += lacking * v[j]
            total += b[j]
        for j in range(m):
            columns[j] += b[j]
        for j in range(m):
            gain = b[j] * (log2(b[j]) - z[j])
            excess += gain if b[j] > 1e-300 else 0.0
        rows[i] = total
        for k in range(V.shape[0]):
            s = 0.0
            w = V[k]
            for j in range(m):
                s += b[j] * w[j]
            right[i, k] = s
        for k in range(U.shape[1]):
            t, target = U[i, k], left[k]
            for j in range(m):
                target[j] += t * b[j]
    return excess


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def fill_rows(low: int, high: int, terms: Any, f: Any, buffer: Any, out: Any, first: int) -> None:
    """out = 2^(terms + f), rounded to the precision of `out`, whose rows begin at `first`."""
    b = buffer[0]
    for i in range(low, high):
        _exponentiate(i, f[i], terms, b)
        for j in range(b.size):
            out[i - first, j] = b[j]


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def scale_rows(low: int, high: int, K: Any, v: Any, a: Any, u: Any, columns: Any) -> None:
    """u = a / Kv for the rows low…high, and columns += Kᵀu: each entry is fetched from memory once."""
    m = v.size
    for i in range(low, high, 4):
        i1, i2, i3 = min(i + 1, high - 1), min(i + 2, high - 1), min(i + 3, high - 1)
        k0, k1, k2, k3 = K[i], K[i1], K[i2], K[i3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            w = v[j]
            s0 += k0[j] * w
            s1 += k1[j] * w
            s2 += k2[j] * w
            s3 += k3[j] * w
        u0 = a[i] / s0 if a[i] > 0 else 0.0
        u1 = a[i1] / s1 if a[i1] > 0 and i1 > i else 0.0
        u2 = a[i2] / s2 if a[i2] > 0 and i2 > i1 else 0.0
        u3 = a[i3] / s3 if a[i3] > 0 and i3 > i2 else 0.0
        u[i] = u0
        if i1 > i:
            u[i1] = u1
        if i2 > i1:
            u[i2] = u2
        if i3 > i2:
            u[i3] = u3
        for j in range(m):
            columns[j] += u0 * k0[j] + u1 * k1[j] + u2 * k2[j] + u3 * k3[j]
