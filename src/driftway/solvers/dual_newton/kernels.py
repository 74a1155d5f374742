"""Compiled passes over transport with a group lasso: what the semi-dual is made of.

Everything is in units of ε and for total mass 1. Rows are sorted by class and matrices are transposed (m×n), so
that a column of the plan is contiguous and holds its groups one after another. For the group of a class in a
column with scores sᵢ, where κ = η/ε and ω is Wright's function, w + log w = x for w = ω(x),

    γᵢ = N wᵢ/κ,    wᵢ = ω(sᵢ − log N + log κ),    N = ‖γ‖, so that ‖w‖ = κ.

Loops over a group are written to be vectorised by LLVM: no calls, no branches that depend on an entry.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from driftway.engines.compiled.compiling import FAST, inlined_by_llvm, kernel
from driftway.engines.compiled.exp2 import EXACT
from driftway.engines.compiled.omega import HIGH, OMEGA_RESIDUAL, moved, omega, omega_low

# What Σ w² may fall to before the root that was guessed is called far too large, in float64 and in float32.
UNDERFLOW, UNDERFLOW32 = 1e-280, 1e-30
# A root is found by evaluating ω until a step is this short, in float64 and in float32, then by moving the values of ω
# along with it.
SHORT, SHORT32, EVALUATIONS, MOVES = 4e-3, 0.1, 60, 8


@inlined_by_llvm(FAST)
def _fill_scores(cost: Any, inverse: float, F: Any, shift: float, out: Any) -> Any:
    """out = F − cost·inverse + shift; how many of them are high for ω (a sum vectorises, a maximum does not)."""
    real = out.dtype.type
    unit, more, count, zero, one, limit = real(inverse), real(shift), real(0), real(0), real(1), real(HIGH)
    for i in range(out.size):
        x = F[i] - cost[i] * unit + more
        out[i] = x
        count += one if x > limit else zero
    return count


@inlined_by_llvm(EXACT)
def fill_omega(cost: Any, inverse: float, F: Any, shift: float, w: Any) -> None:
    """w = ω(F − cost·inverse + shift)."""
    if _fill_scores(cost, inverse, F, shift, w) > 0:
        for i in range(w.size):
            w[i] = omega(w[i])
    else:
        for i in range(w.size):
            w[i] = omega_low(w[i])


@inlined_by_llvm(FAST)
def _sums(w: Any) -> tuple[float, float, float]:
    """Σ w, Σ w² and Q = Σ w²/(1 + w)."""
    one = w.dtype.type(1)
    total = square = q = w.dtype.type(0)
    for i in range(w.size):
        y = w[i]
        total += y
        square += y * y
        q += y * y / (one + y)
    return float(total), float(square), float(q)


@inlined_by_llvm(FAST)
def _move(w: Any, r: float) -> tuple[float, float, float]:
    """w = ω(x) becomes ω(x + r); the same sums."""
    one, step = w.dtype.type(1), w.dtype.type(r)
    total = square = q = w.dtype.type(0)
    for i in range(w.size):
        y = moved(w[i], step)
        w[i] = y
        total += y
        square += y * y
        q += y * y / (one + y)
    return float(total), float(square), float(q)


@inlined_by_llvm(set())
def solve_group(
    cost: Any, inverse: float, F: Any, root: float, kappa: float, tolerance: float, w: Any
) -> tuple[float, float, float, float, float]:
    """The root L of ‖w‖ = κ where w = ω(F − cost·inverse − L + log κ), started at `root`; ∞ if there is no guess.

    h(L) = log ‖w/κ‖ falls with slope −Q/Σw² in [−1, 0): Newton's method in a bracket, until |h| is `tolerance`.
    All depends on F − L only, so however little mass the group has, nothing over- or underflows. Returns
    L, Σw, Σw², Q and how far x − w − log w may be from zero in float64.
    """
    log_kappa = math.log(kappa)
    tiny, short = (UNDERFLOW, SHORT) if w.itemsize == 8 else (UNDERFLOW32, SHORT32)
    L, low, high = root, -np.inf, np.inf
    total = square = q = 0.0
    h = step = 0.0
    for _ in range(EVALUATIONS):
        square = 0.0
        if np.inf > L:
            fill_omega(cost, inverse, F, log_kappa - L, w)
            total, square, q = _sums(w)
        if not square > tiny:  # L is far too large; κ/√n ≤ max w ≤ κ brackets the root
            _fill_scores(cost, inverse, F, 0.0, w)
            top, high = w.max(), min(high, L)
            L = top - kappa / math.sqrt(w.size)
            if not high > L:
                L = top - kappa
            continue
        h = 0.5 * math.log(square) - log_kappa
        if h > 0:
            low = max(low, L)
        else:
            high = min(high, L)
        step = h * square / q
        if abs(step) < short:
            break
        if not low < L + step < high:
            step = 0.5 * (low + high) - L
        L += step
    residual = OMEGA_RESIDUAL
    for _ in range(MOVES):
        if abs(h) <= tolerance:
            break
        total, square, q = _move(w, -step)
        L += step
        residual += step**4 / 72.0 + 1e-16
        h = 0.5 * math.log(square) - log_kappa
        step = h * square / q
    return L, total, square, q, residual


@inlined_by_llvm(FAST)
def combine(basis: Any, theta: Any, out: Any) -> None:
    """out = Σ_k basis_k Θ_k."""
    for i in range(out.size):
        out[i] = basis[0] * theta[0, i]
    for k in range(1, basis.size):
        for i in range(out.size):
            out[i] += basis[k] * theta[k, i]


@inlined_by_llvm(FAST)
def add(x: float, y: Any, out: Any) -> None:
    """out += x·y."""
    for i in range(y.size):
        out[i] += x * y[i]


@inlined_by_llvm(FAST)
def _derivatives(
    w: Any, scale: float, Q: float, over_a: Any, gamma: Any, diagonal: Any, d_out: Any, w_out: Any
) -> None:
    """γ, the diagonal of diag(d) + c v vᵀ, and d/a and w as they are kept, without denormal numbers.

    c v² is N/κQ (w²/(1 + w))², in which no factor overflows.
    """
    real = w.dtype.type
    unit, more, zero, one, least = real(scale), real(scale / Q), real(0), real(1), real(1e-30)
    for i in range(w.size):
        share = w[i] / (one + w[i])
        d = unit * share
        u = share * w[i]
        gamma[i] = unit * w[i]
        diagonal[i] = d + more * u * u
        kept = d * over_a[i]
        d_out[i] = kept if kept > least else zero
        w_out[i] = w[i] if w[i] > least else zero


@partial(kernel, fastmath=set())
def evaluate(
    low: int,
    high: int,
    cost: Any,
    inverse: float,
    theta: Any,
    basis: Any,
    over_a: Any,
    b: Any,
    starts: Any,
    kappa: float,
    tolerance: float,
    roots: Any,
    g: Any,
    slopes: Any,
    d: Any,
    w: Any,
    sums: Any,
    diagonal: Any,
) -> float:
    """The semi-dual's part of the columns low…high at scores Θ·Ŷ − cost·inverse: a lower bound of ⟨g, b⟩ − Σψ*.

    theta (q×n), basis Ŷ (m×q), over_a = 1/a, starts (K+1) where classes begin. Filled: `roots` (m×K; on entry a
    guess of log N − g, or ∞), g (m), `slopes` c (m×K), d/a and w (m×n), from which the Hessian is made. Added to:
    `sums` γŶ (q×n) and `diagonal` (2q−1 × n), the sums of diag(H), diag(H) Ŷ_k and diag(H) Ŷ_k² over the columns.

    Unfinished roots and residuals cost accuracy, no rigour: for w of norm κρ that solves w + log w = x to within r,
    ψ*(s) ≤ eʳ (Σγ + (e^κ(ρ−1) − 1) ‖γ‖).
    """
    n, K, rank = cost.shape[1], starts.size - 1, basis.shape[1]
    row, F = np.empty(n, cost.dtype), np.empty(n, cost.dtype)
    gamma, h = np.empty(n, cost.dtype), np.empty(n, cost.dtype)
    S, S2, Q, residual = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    value = 0.0
    for j in range(low, high):
        if rank > 1 or j == low:  # without moments all columns see the same
            combine(basis[j], theta, F)
        top = -np.inf
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            roots[j, k], S[k], S2[k], Q[k], residual[k] = solve_group(
                cost[j, s], inverse, F[s], roots[j, k], kappa, tolerance, row[s]
            )
            top = max(top, roots[j, k])
        total = 0.0
        for k in range(K):
            total += math.exp(roots[j, k] - top) * S[k] / kappa
        g[j] = math.log(b[j]) - top - math.log(total)
        value += (g[j] - 1.0) * b[j]
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            N, rho = math.exp(roots[j, k] + g[j]), math.sqrt(S2[k]) / kappa
            beyond = kappa * (rho - 1.0)
            excess = rho * (math.expm1(beyond) * N if beyond < 700.0 else math.exp(beyond + roots[j, k] + g[j]))
            value -= excess + math.expm1(residual[k]) * (N * S[k] / kappa + excess)
            slopes[j, k] = kappa / (N * Q[k]) if N * Q[k] > UNDERFLOW else 0.0
            _derivatives(row[s], N / kappa, Q[k], over_a[s], gamma[s], h[s], d[j, s], w[j, s])
        add(1.0, h, diagonal[0])
        for k in range(rank):
            add(basis[j, k], gamma, sums[k])
        for k in range(1, rank):
            add(basis[j, k], h, diagonal[k])
            add(basis[j, k] ** 2, h, diagonal[rank - 1 + k])
    return value


@inlined_by_llvm(FAST)
def _pairings(d: Any, w: Any, p: Any) -> tuple[float, float]:
    """⟨v, p⟩ and ⟨γ, p⟩, where v = d w and γ = d + v."""
    in_v = in_d = p.dtype.type(0)
    for i in range(p.size):
        t = d[i] * p[i]
        in_v += w[i] * t
        in_d += t
    return float(in_v), float(in_d) + float(in_v)


@inlined_by_llvm(FAST)
def _add_applied(d: Any, w: Any, p: Any, x: float, y: float, out: Any) -> None:
    """Adds d p + v x − γ y."""
    real = p.dtype.type
    first, second = real(y), real(x - y)
    for i in range(p.size):
        out[i] += d[i] * (p[i] - first + second * w[i])


@partial(kernel, fastmath=set())
def hessian_times(
    low: int,
    high: int,
    d: Any,
    w: Any,
    slopes: Any,
    basis: Any,
    a: Any,
    b: Any,
    starts: Any,
    direction: Any,
    out: Any,
    slide: Any,
) -> None:
    """Adds to `out` (q×n) the part of −∇²(⟨g, b⟩ − Σψ*) · direction of the columns low…high, over a.

    d/a and w are those of `evaluate`. `slide` (m×K) is filled with the derivative of the roots along the direction.
    """
    n, K, rank = d.shape[1], starts.size - 1, basis.shape[1]
    p, weighted, column = np.empty(n, d.dtype), np.empty(n, d.dtype), np.empty(n, d.dtype)
    for j in range(low, high):
        if rank > 1 or j == low:  # without moments all columns see the same
            combine(basis[j], direction, p)
            for i in range(n):
                weighted[i] = p[i] * a[i]
        mean = 0.0
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            in_v, in_gamma = _pairings(d[j, s], w[j, s], weighted[s])
            slide[j, k] = slopes[j, k] * in_v
            mean += in_gamma
        mean /= b[j]
        if rank == 1:
            for k in range(K):
                s = slice(starts[k], starts[k + 1])
                _add_applied(d[j, s], w[j, s], p[s], slide[j, k], mean, out[0, s])
            continue
        column[:] = 0
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            _add_applied(d[j, s], w[j, s], p[s], slide[j, k], mean, column[s])
        for k in range(rank):
            add(basis[j, k], column, out[k])


@inlined_by_llvm(FAST)
def _precondition(blocks: Any, right: Any, out: Any) -> float:
    """out = the inverse of the blocks ((h, hμᵀ), (hμ, hμμᵀ + diag t)) of the rows times `right`; ⟨right, out⟩."""
    head, mean, tail = blocks
    product = 0.0
    first, top = right[0], out[0]
    for i in range(first.size):
        top[i] = first[i] / head[i]
    for k in range(1, right.shape[0]):
        given, target, m, t = right[k], out[k], mean[k - 1], tail[k - 1]
        for i in range(first.size):
            target[i] = (given[i] - m[i] * first[i]) / t[i]
            top[i] -= m[i] * target[i]
            product += given[i] * target[i]
    for i in range(first.size):
        product += first[i] * top[i]
    return product


@kernel
def precondition(blocks: Any, right: Any, out: Any) -> float:
    """The same, to be called from Python."""
    return _precondition(blocks, right, out)


@kernel
def conjugate_step(
    product: Any, a: Any, added: Any, blocks: Any, x: Any, residual: Any, p: Any, square: float
) -> tuple[float, float]:
    """A step of conjugate gradients along p, whose image is a·product + added·p: x, the residual and p follow.

    `square` is ⟨residual, z⟩ for the preconditioned residual z. Returns the length of the step, which is 0 if rounding
    left no positive curvature, and the next square; `product` is lost.
    """
    curvature = 0.0
    for k in range(p.shape[0]):
        image, more, along = product[k], added[k], p[k]
        for i in range(along.size):
            image[i] = a[i] * image[i] + more[i] * along[i]
            curvature += image[i] * along[i]
    if not curvature > 0:
        return 0.0, square
    t = square / curvature
    for k in range(p.shape[0]):
        add(t, p[k], x[k])
        add(-t, product[k], residual[k])
    following = _precondition(blocks, residual, product)
    ratio = following / square
    for k in range(p.shape[0]):
        z, along = product[k], p[k]
        for i in range(along.size):
            along[i] = z[i] + ratio * along[i]
    return t, following
