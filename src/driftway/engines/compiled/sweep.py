"""The sweep as compiled code: what the engine runs where Numba is installed.

A row is  g + scale·(base[i − first] or ‖xᵢ − y‖^(1 or 2)) + Aᵢ B,  all in one precision; what there is none of is
`None`, as are flags that are not set. A kernel is compiled for each of these kinds by itself, with the loops that it
needs. Four rows at a time meet the columns.

A loop that writes to one array and reads others has a vectorised version and a plain one, which is taken where they are
nearer to each other than a few vectors, and sums come out differently. So that bits do not depend on where arrays are,
the buffer that exponentials are written to has a margin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftway.engines.compiled.compiling import kernel
from driftway.engines.compiled.exp2 import exp2, log2
from driftway.engines.compiled.rows import (
    add_products,
    exponentiate,
    exponentiate_ahead,
    exponentiate_ahead_and_products,
    exponentiate_products,
    form_cloud,
    form_given,
    form_plane,
    form_shifted,
    largest_products,
    lower,
)


@kernel
def sweep_rows(
    low: int,
    high: int,
    base: Any,
    first: int,
    x: Any,
    y: Any,
    scale: Any,
    A: Any,
    B: Any,
    g: Any,
    alone: Any,
    plane: Any,
    cloud: Any,
    euclidean: Any,
    products: Any,
    ahead: Any,
    formed: Any,
    f: Any,
    mass: Any,
    safe: float,
    V: Any,
    U: Any,
    shifts: Any,
    rows: Any,
    right: Any,
    left: Any,
    buffer: Any,
    weights: Any,
) -> None:
    """One pass over the rows low…high of γ = 2^(terms + f), each scaled to its mass if masses are given.

    Fills `shifts` (log₂-potentials), `rows` and `right` = γVᵀ, and adds to `left` = Uᵀγ.
    """
    zero, one = buffer.dtype.type(0), buffer.dtype.type(1)
    b0, b1, b2, b3, following, q, w = buffer[0], buffer[1], buffer[2], buffer[3], buffer[4], weights[0], weights[1]
    if ahead is not None:
        form_plane(x[low], y, scale, euclidean, g, f[low], following)
        if A is not None:
            add_products(A[low], B, following)
    for i in range(low, high, 4):
        count = min(4, high - i)
        for r in range(count):
            out, shift, total, tried = buffer[r], f[i + r], zero, 0
            weighed = mass.size > 0 and mass[i + r] > 0
            # Where the last potential is no safe shift, the row's largest entry is.
            while tried == 0 or (tried == 1 and weighed and not (total > 1.0 / safe and total < safe)):
                if products is not None:
                    if tried:
                        shift = -largest_products(A[i + r], B, g)
                    total = exponentiate_products(A[i + r], B, g, shift, out)
                if ahead is not None and not tried:
                    k = min(i + r + 1, high - 1)
                    if A is not None:
                        total = exponentiate_ahead_and_products(x[k], y, scale, A[k], B, g, f[k], following, out)
                    if A is None:
                        total = exponentiate_ahead(x[k], y, scale, g, f[k], following, out)
                if formed is not None and (tried or ahead is None):
                    start = zero if tried else shift
                    if alone is not None:
                        form_shifted(g, start, out)
                    if base is not None:
                        form_given(base[i + r - first], scale, g, start, out)
                    if plane is not None:
                        form_plane(x[i + r], y, scale, euclidean, g, start, out)
                    if cloud is not None:
                        form_cloud(x[i + r], y, scale, euclidean, g, start, out)
                    if A is not None:
                        add_products(A[i + r], B, out)
                    if tried:
                        shift = -lower(out)
                    total = exponentiate(out)
                tried += 1
            q[r], rows[i + r], shifts[i + r] = one, total, shift
            if mass.size:
                q[r] = mass[i + r] / total if weighed else zero
                rows[i + r] = mass[i + r]
                shifts[i + r] = shifts[i + r] + math.log2(q[r]) if q[r] > 0 else -np.inf
        for r in range(count, 4):
            q[r] = zero
            buffer[r] = zero
        for k in range(V.shape[0]):
            v = V[k]
            s0 = s1 = s2 = s3 = zero
            for j in range(v.size):
                s0 += b0[j] * v[j]
                s1 += b1[j] * v[j]
                s2 += b2[j] * v[j]
                s3 += b3[j] * v[j]
            w[0], w[1], w[2], w[3] = s0, s1, s2, s3
            for r in range(count):
                right[i + r, k] = q[r] * w[r]
        for k in range(U.shape[1]):
            target = left[k]
            for r in range(4):
                w[r] = q[r] * U[i + r, k] if r < count else zero
            w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
            for j in range(target.size):
                target[j] += w0 * b0[j] + w1 * b1[j] + w2 * b2[j] + w3 * b3[j]


@kernel
def form_rows(
    low: int,
    high: int,
    base: Any,
    first: int,
    x: Any,
    y: Any,
    scale: Any,
    A: Any,
    B: Any,
    g: Any,
    alone: Any,
    plane: Any,
    cloud: Any,
    euclidean: Any,
    products: Any,
    ahead: Any,
    formed: Any,
    f: Any,
    out: Any,
) -> None:
    """out = terms + f."""
    for i in range(low, high):
        row = out[i - low]
        if alone is not None:
            form_shifted(g, f[i], row)
        if base is not None:
            form_given(base[i - first], scale, g, f[i], row)
        if plane is not None:
            form_plane(x[i], y, scale, euclidean, g, f[i], row)
        if cloud is not None:
            form_cloud(x[i], y, scale, euclidean, g, f[i], row)
        if A is not None:
            add_products(A[i], B, row)


@kernel
def fill_rows(
    low: int,
    high: int,
    base: Any,
    first: int,
    x: Any,
    y: Any,
    scale: Any,
    A: Any,
    B: Any,
    g: Any,
    alone: Any,
    plane: Any,
    cloud: Any,
    euclidean: Any,
    products: Any,
    ahead: Any,
    formed: Any,
    f: Any,
    buffer: Any,
    out: Any,
) -> None:
    """out = 2^(terms + f), rounded to the precision of `out`, for the kinds that are formed in one pass."""
    row, following = buffer[0], buffer[4]
    if ahead is not None:
        form_plane(x[low], y, scale, euclidean, g, f[low], following)
        if A is not None:
            add_products(A[low], B, following)
    for i in range(low, high):
        if ahead is not None:
            k = min(i + 1, high - 1)
            if A is not None:
                exponentiate_ahead_and_products(x[k], y, scale, A[k], B, g, f[k], following, row)
            if A is None:
                exponentiate_ahead(x[k], y, scale, g, f[k], following, row)
        if products is not None:
            exponentiate_products(A[i], B, g, f[i], row)
        for j in range(row.size):
            out[i - low, j] = row[j]


@kernel
def exponentiate_rows(logs: Any, out: Any) -> None:
    """out = 2^logs, rounded to the precision of `out`."""
    for i in range(logs.shape[0]):
        z, row = logs[i], out[i]
        for j in range(row.size):
            row[j] = exp2(z[j])


@kernel
def round_rows(
    logs: Any, mass: Any, u: Any, v: Any, V: Any, U: Any, rows: Any, right: Any, left: Any, buffer: Any, excess: float
) -> float:
    """The same sums for γ' = γ + u vᵀ, where γ = 2^logs; u is what the rows lack of their mass if masses are given.

    Adds Σ γ' log₂(γ'/γ) to the excess, and returns it.
    """
    b = buffer[0]
    for i in range(logs.shape[0]):
        z, total = logs[i], 0.0
        for j in range(b.size):
            value = exp2(z[j])
            b[j] = value
            total += value
        lacking = max(mass[i] - total, 0.0) if mass.size else u[i]
        total = 0.0
        for j in range(b.size):
            b[j] += lacking * v[j]
            total += b[j]
        for j in range(b.size):
            gain = b[j] * (log2(b[j]) - z[j])
            excess += gain if b[j] > 1e-300 else 0.0
        rows[i] = total
        for k in range(V.shape[0]):
            s, w = 0.0, V[k]
            for j in range(b.size):
                s += b[j] * w[j]
            right[i, k] = s
        for k in range(U.shape[1]):
            t, target = U[i, k], left[k]
            for j in range(b.size):
                target[j] += t * b[j]
    return excess


@kernel
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


@kernel
def scale_and_add(low: int, high: int, gamma: Any, s: Any, t: Any, u: Any, v: Any, out: Any) -> None:
    """out = s γ t + u v for the rows low…high."""
    for i in range(low, high):
        x, y, p, q = gamma[i], out[i], s[i], u[i]
        for j in range(t.size):
            y[j] = p * x[j] * t[j] + q * v[j]


@kernel
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
