"""Rows of a log-plan and their exponentials, as code that is written into kernels.

Everything is in units of log₂, so that the exponential is a shift of the exponent and a polynomial. The loops are
written to be vectorised by LLVM: no calls, no branches that depend on an entry. What takes several passes is formed
tile by tile in the nearest cache.
"""

from __future__ import annotations

import math
from typing import Any

from driftway.engines.compiled.compiling import inlined
from driftway.engines.compiled.exp2 import exp2

TILE = 1024  # entries of a row formed at once: they and what they are made of stay in the first-level cache


@inlined
def form_plane(x: Any, y: Any, scale: Any, euclidean: Any, g: Any, shift: Any, out: Any) -> None:
    """out = g + shift + scale·‖x − y‖^(1 or 2) in the plane."""
    x0, x1, y0, y1 = x[0], x[1], y[0], y[1]
    for j in range(out.size):
        apart = (x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j])
        if euclidean is not None:
            apart = math.sqrt(apart)
        out[j] = g[j] + shift + scale * apart


@inlined
def form_cloud(x: Any, y: Any, scale: Any, euclidean: Any, g: Any, shift: Any, out: Any) -> None:
    """The same for any number of features."""
    for low in range(0, out.size, TILE):
        high = min(low + TILE, out.size)
        z, h, x0, y0 = out[low:high], g[low:high], x[0], y[0, low:high]
        for j in range(z.size):
            z[j] = (x0 - y0[j]) * (x0 - y0[j])
        for k in range(1, x.size):
            xk, yk = x[k], y[k, low:high]
            for j in range(z.size):
                z[j] += (xk - yk[j]) * (xk - yk[j])
        for j in range(z.size):
            apart = z[j]
            if euclidean is not None:
                apart = math.sqrt(apart)
            z[j] = h[j] + shift + scale * apart


@inlined
def form_given(given: Any, scale: Any, g: Any, shift: Any, out: Any) -> None:
    """out = g + shift + scale·given."""
    for j in range(out.size):
        out[j] = g[j] + shift + scale * given[j]


@inlined
def form_shifted(g: Any, shift: Any, out: Any) -> None:
    """out = g + shift."""
    for j in range(out.size):
        out[j] = g[j] + shift


@inlined
def add_products(a: Any, B: Any, out: Any) -> None:
    """out += aB, by two terms at a time."""
    for low in range(0, out.size, TILE):
        high = min(low + TILE, out.size)
        z = out[low:high]
        for k in range(0, a.size - 1, 2):
            a0, a1, b0, b1 = a[k], a[k + 1], B[k, low:high], B[k + 1, low:high]
            for j in range(z.size):
                z[j] += a0 * b0[j] + a1 * b1[j]
        if a.size % 2:
            a0, b0 = a[a.size - 1], B[a.size - 1, low:high]
            for j in range(z.size):
                z[j] += a0 * b0[j]


@inlined
def exponentiate(out: Any) -> Any:
    """out = 2^out, and its sum."""
    total = out.dtype.type(0)
    for j in range(out.size):
        value = exp2(out[j])
        out[j] = value
        total += value
    return total


@inlined
def exponentiate_products(a: Any, B: Any, g: Any, shift: Any, out: Any) -> Any:
    """out = 2^(g + shift + aB) for two terms, and its sum."""
    total, a0, a1, b0, b1 = out.dtype.type(0), a[0], a[1], B[0], B[1]
    for j in range(out.size):
        value = exp2(g[j] + shift + a0 * b0[j] + a1 * b1[j])
        out[j] = value
        total += value
    return total


@inlined
def largest_products(a: Any, B: Any, g: Any) -> Any:
    """The largest entry of g + aB for two terms."""
    a0, a1, b0, b1 = a[0], a[1], B[0], B[1]
    top = g[0] + a0 * b0[0] + a1 * b1[0]
    for j in range(1, g.size):
        entry = g[j] + a0 * b0[j] + a1 * b1[j]
        top = entry if entry > top else top
    return top


@inlined
def exponentiate_ahead(x: Any, y: Any, scale: Any, g: Any, shift: Any, following: Any, out: Any) -> Any:
    """out = 2^following and its sum, while `following` becomes the next row: distances in the plane.

    Square roots of that row are taken beside the polynomials of this one: other units of the core do them, and neither
    waits for the other.
    """
    total, x0, x1, y0, y1 = out.dtype.type(0), x[0], x[1], y[0], y[1]
    for j in range(out.size):
        value = exp2(following[j])
        out[j] = value
        total += value
        square = (x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j])
        following[j] = g[j] + shift + scale * math.sqrt(square)
    return total


@inlined
def exponentiate_ahead_and_products(
    x: Any, y: Any, scale: Any, a: Any, B: Any, g: Any, shift: Any, following: Any, out: Any
) -> Any:
    """The same with two terms of a product beside the distances."""
    total, x0, x1, y0, y1, a0, a1, b0, b1 = out.dtype.type(0), x[0], x[1], y[0], y[1], a[0], a[1], B[0], B[1]
    for j in range(out.size):
        value = exp2(following[j])
        out[j] = value
        total += value
        square = (x0 - y0[j]) * (x0 - y0[j]) + (x1 - y1[j]) * (x1 - y1[j])
        following[j] = g[j] + shift + a0 * b0[j] + a1 * b1[j] + scale * math.sqrt(square)
    return total


@inlined
def lower(out: Any) -> Any:
    """Subtracts its largest entry from a row, and returns it."""
    top = out[0]
    for j in range(1, out.size):
        top = out[j] if out[j] > top else top
    for j in range(out.size):
        out[j] -= top
    return top
