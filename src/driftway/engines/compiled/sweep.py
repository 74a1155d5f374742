"""The sweep as compiled code: what the engine runs where Numba is installed.

Everything is in units of log₂, so that the exponential is a shift of the exponent and a polynomial. The
loops are written to be vectorised by LLVM: no calls, no branches that depend on an entry. A row is formed
tile by tile in the nearest cache; four rows at a time meet the columns.

What is called from compiled code is not cached, and what is called per entry is inlined by force. Otherwise the code of
a caller would depend on what was compiled or loaded before it, by this process or by another, and versions of it round
differently. What is called per row is too long for LLVM to inline it by itself. It is left so: each of its loops is
compiled once and not once per caller, which halves the time to the first answer and costs a call per row.

A loop that writes to one array and reads others has a vectorised version and a plain one, which is taken where they are
nearer to each other than a few vectors, and sums come out differently. So that bits do not depend on where arrays are,
the buffer that exponentials are written to has a margin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from driftway.engines.compiled.exp2 import exp2, log2

FAST = {"contract", "reassoc", "nsz"}  # sums in any order
TILE = 1024  # entries of a row formed at once: they and what they are made of stay in the first-level cache


@njit(fastmath=FAST, nogil=True, error_model="numpy")
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


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _exponentiate_pair(a0: Any, a1: Any, b0: Any, b1: Any, g: Any, shift: Any, out: Any) -> Any:
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(g[j] + shift + a0 * b0[j] + a1 * b1[j])
        out[j] = value
        total += value
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _exponentiate_plane(
    x0: Any, x1: Any, y0: Any, y1: Any, scale: Any, g: Any, shift: Any, ahead: Any, out: Any
) -> Any:
    """out = 2^ahead and its sum, while `ahead` becomes the exponents of the row that is given, the next one.

    Its square roots are taken beside the polynomials of this one: other units of the core do them, and neither waits
    for the other.
    """
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(ahead[j])
        out[j] = value
        total += value
        square = (x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j])
        ahead[j] = g[j] + shift + scale * math.sqrt(square)
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _exponentiate_plane_and_pair(
    x0: Any,
    x1: Any,
    y0: Any,
    y1: Any,
    scale: Any,
    a0: Any,
    a1: Any,
    b0: Any,
    b1: Any,
    g: Any,
    shift: Any,
    ahead: Any,
    out: Any,
) -> Any:
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(ahead[j])
        out[j] = value
        total += value
        square = (x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j])
        ahead[j] = g[j] + shift + a0 * b0[j] + a1 * b1[j] + scale * math.sqrt(square)
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _exponentiate_in_place(out: Any) -> Any:
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(out[j])
        out[j] = value
        total += value
    return total


@njit(fastmath=FAST, nogil=True, error_model="numpy")
def _exponentiate(i: int, count: int, last: int, f: Any, terms: Any, ahead: Any, out: Any, totals: Any) -> None:
    """out = the rows i … i + count − 1 of the plan, and their sums; what they are made of is unpacked once for all.

    `ahead` holds the exponents of row i on entry and those of row i + count on exit, if that is no later than `last`.
    """
    base, _, x, y, euclidean, scale, A, B, g = terms
    d, rank = x.shape[1], A.shape[1]
    if d == 2 and euclidean and rank == 0:  # one pass for the commonest forms
        y0, y1 = y[0], y[1]
        for r in range(count):
            k = min(i + r + 1, last)
            totals[r] = _exponentiate_plane(x[k, 0], x[k, 1], y0, y1, scale, g, f[k], ahead, out[r])
    elif d == 2 and euclidean and rank == 2:
        y0, y1, b0, b1 = y[0], y[1], B[0], B[1]
        for r in range(count):
            k = min(i + r + 1, last)
            x0, x1, a0, a1 = x[k, 0], x[k, 1], A[k, 0], A[k, 1]
            totals[r] = _exponentiate_plane_and_pair(x0, x1, y0, y1, scale, a0, a1, b0, b1, g, f[k], ahead, out[r])
    elif d == 0 and base.shape[0] == 0 and rank == 2:
        b0, b1 = B[0], B[1]
        for r in range(count):
            totals[r] = _exponentiate_pair(A[i + r, 0], A[i + r, 1], b0, b1, g, f[i + r], out[r])
    else:
        for r in range(count):
            _form(i + r, f[i + r], terms, out[r])
            totals[r] = _exponentiate_in_place(out[r])


@njit(fastmath=FAST, nogil=True, error_model="numpy")
def _exponentiate_safely(i: int, terms: Any, out: Any) -> Any:
    """out = row i of the plan, shifted by its maximum; its sum, and the shift."""
    _form(i, out.dtype.type(0), terms, out)
    top = out[0]
    for j in range(1, out.size):
        top = out[j] if out[j] > top else top
    for j in range(out.size):
        out[j] -= top
    return _exponentiate_in_place(out), -top


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _add_rows(q0: Any, q1: Any, q2: Any, q3: Any, rows: Any, out: Any) -> None:
    """out += Σ q·rows over four rows."""
    b0, b1, b2, b3 = rows[0], rows[1], rows[2], rows[3]
    for j in range(out.size):
        out[j] += q0 * b0[j] + q1 * b1[j] + q2 * b2[j] + q3 * b3[j]


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
    zero, one = buffer.dtype.type(0), buffer.dtype.type(1)
    b0, b1, b2, b3, ahead = buffer[0], buffer[1], buffer[2], buffer[3], buffer[4]
    m, q, totals = columns.size, np.empty_like(buffer[:4, 0]), np.empty_like(buffer[:4, 0])
    _form(low, f[low], terms, ahead)
    for i in range(low, high, 4):
        count = min(4, high - i)
        _exponentiate(i, count, high - 1, f, terms, ahead, buffer, totals)
        for r in range(count):
            shifts[i + r], rows[i + r], q[r] = f[i + r], totals[r], one
            if mass.size:
                if mass[i + r] > 0 and not (totals[r] > 1.0 / safe and totals[r] < safe):
                    # The last potential was no safe shift.
                    totals[r], shifts[i + r] = _exponentiate_safely(i + r, terms, buffer[r])
                q[r] = mass[i + r] / totals[r] if mass[i + r] > 0 else zero
                rows[i + r] = mass[i + r]
                shifts[i + r] = shifts[i + r] + math.log2(q[r]) if q[r] > 0 else -np.inf
        q[count:] = zero
        buffer[count:4] = zero
        _add_rows(q[0], q[1], q[2], q[3], buffer, columns)
        for k in range(V.shape[0]):
            v = V[k]
            s0 = s1 = s2 = s3 = zero
            for j in range(m):
                s0 += b0[j] * v[j]
                s1 += b1[j] * v[j]
                s2 += b2[j] * v[j]
                s3 += b3[j] * v[j]
            totals[0], totals[1], totals[2], totals[3] = s0, s1, s2, s3
            for r in range(count):
                right[i + r, k] = q[r] * totals[r]
        for k in range(U.shape[1]):
            for r in range(4):
                totals[r] = q[r] * U[i + r, k] if r < count else zero
            _add_rows(totals[0], totals[1], totals[2], totals[3], buffer, left[k])


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
    b, ahead, totals = buffer[0], buffer[4], np.empty_like(buffer[:4, 0])
    _form(low, f[low], terms, ahead)
    for i in range(low, high):
        _exponentiate(i, min(1, high - i), high - 1, f, terms, ahead, buffer, totals)
        for j in range(b.size):
            out[i - first, j] = b[j]


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def form_rows(low: int, high: int, terms: Any, out: Any) -> None:
    """out = the terms themselves."""
    for i in range(low, high):
        _form(i, 0.0, terms, out[i])


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def sum_rows(low: int, high: int, gamma: Any, other: Any, rows: Any, columns: Any) -> tuple[float, float]:
    """⟨γ, other⟩ and Σ γ log₂ γ over the rows low…high of arrays; fills `rows`, and adds to `columns`."""
    inner = entropy = 0.0
    for i in range(low, high):
        x, y, total = gamma[i], other[i], 0.0
        for j in range(columns.size):
            value = x[j]
            total += value
            inner += value * y[j]
            columns[j] += value
            gain = value * log2(value)
            entropy += gain if value > 1e-300 else 0.0
        rows[i] = total
    return inner, entropy


@njit(fastmath=FAST, nogil=True, error_model="numpy", cache=True)
def scale_and_add(low: int, high: int, gamma: Any, s: Any, t: Any, u: Any, v: Any, out: Any) -> None:
    """out = s γ t + u v for the rows low…high."""
    for i in range(low, high):
        x, y, p, q = gamma[i], out[i], s[i], u[i]
        for j in range(t.size):
            y[j] = p * x[j] * t[j] + q * v[j]


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
