"""Compiled passes over transport with a group lasso: what the semi-dual is made of.

Everything is in units of ε and for total mass 1. Rows are sorted by class and matrices are transposed (m×n), so
that a column of the plan is contiguous and holds its groups one after another. For the group of a class in a
column with scores sᵢ, where κ = η/ε and ω is Wright's function, w + log w = x for w = ω(x),

    γᵢ = N wᵢ/κ,    wᵢ = ω(sᵢ − log N + log κ),    N = ‖γ‖, so that ‖w‖ = κ.

Loops over a group are written to be vectorised by LLVM: no calls, no branches that depend on an entry.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from driftway.compiled import FAST
from driftway.elementary import EXACT, exp2

LOG2E = 1.4426950408889634
MAGIC, MAGIC_BITS = 1.5 * 2.0**52, 0x4338000000000000
# What Σ w² may fall to before the root that was guessed is called far too large.
UNDERFLOW = 1e-280
# A root is found by evaluating ω until a step is this short, then by moving the values of ω along with it.
SHORT, EVALUATIONS, MOVES = 4e-3, 60, 8
# The residual x − w − log w that `omega` may leave.
OMEGA_RESIDUAL = 2e-13


@intrinsic
def _as_float(typingctx: Any, i: Any) -> Any:
    """The float64 of these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _as_bits(typingctx: Any, x: Any) -> Any:
    """The bits of a float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _exponent_bits(typingctx: Any, i: Any) -> Any:
    """The exponent of a positive number, by a logical shift, which vectorises where an arithmetic one does not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.lshr(arguments[0], ir.Constant(ir.IntType(64), 52))

    return types.int64(types.int64), generate


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def moved(w: float, r: float) -> float:
    """ω(x + r) from w = ω(x), by a step of Fritsch, Shafer & Crowley (1973): it leaves a residual below r⁴/72."""
    p = 1.0 + w
    q = p * (p + 0.6666666666666666 * r)
    return w + w * (r * (q - 0.5 * r)) / (p * (q - r))


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def omega(x: float) -> float:
    """Wright's ω of a real number: a guess to 1e-3, then one exponential and one step; no branches."""
    z = x if x > -6.0 else -6.0
    z = z if z < 4.0 else 4.0
    y = z * z
    low = (0.5676374633312704 + z * 0.3614225280615171) + y * (
        (0.07295417449334539 - z * 0.0008144031988794637)
        + y
        * (
            (-0.0014646628853252142 + z * 9.065462254329597e-05)
            + y * ((3.482505518849159e-05 - z * 1.984778630968346e-06) - y * 4.6252685621547055e-07)
        )
    )
    # Above 4 the asymptotic series, with a logarithm to 1e-4.
    X = x if x > 4.0 else 4.0
    bits: Any = _as_bits(X)  # type: ignore[call-arg]
    e = _as_float(_exponent_bits(bits) | MAGIC_BITS) - (MAGIC + 1023.0)
    t = _as_float((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    s = t * t
    log = e * 0.6931471805599453 + (
        (-1.7317264411435938 + t * 2.792836515601201)
        + s * ((-1.4405921621322573 + t * 0.43393244200672443) - s * 0.0543709335555871)
    )
    i = 1.0 / X
    series = 1.0 + i * (0.5 * (log - 2.0) + i * 0.8 * (1.0 + log * (-1.5 + log * 0.3333333333333333)))
    high = X - log + (log * i) * series
    guess = high if x > 4.0 else low
    w = exp2((x - guess) * LOG2E)
    return moved(w, guess - w)  # the residual, since log w = x − guess


@njit(fastmath=EXACT, nogil=True, error_model="numpy", forceinline=True)
def fill_omega(cost: Any, inverse: float, F: Any, shift: float, w: Any) -> None:
    """w = ω(F − cost·inverse + shift)."""
    for i in range(w.size):
        w[i] = omega(F[i] - cost[i] * inverse + shift)


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _sums(w: Any) -> tuple[float, float, float]:
    """Σ w, Σ w² and Q = Σ w²/(1 + w)."""
    total = square = q = 0.0
    for i in range(w.size):
        y = w[i]
        total += y
        square += y * y
        q += y * y / (1.0 + y)
    return total, square, q


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _move(w: Any, r: float) -> tuple[float, float, float]:
    """w = ω(x) becomes ω(x + r); the same sums."""
    total = square = q = 0.0
    for i in range(w.size):
        y = moved(w[i], r)
        w[i] = y
        total += y
        square += y * y
        q += y * y / (1.0 + y)
    return total, square, q


@njit(nogil=True, error_model="numpy", forceinline=True)
def solve_group(
    cost: Any, inverse: float, F: Any, root: float, kappa: float, tolerance: float, w: Any
) -> tuple[float, float, float, float, float]:
    """The root L of ‖w‖ = κ where w = ω(F − cost·inverse − L + log κ), started at `root`; ∞ if there is no guess.

    h(L) = log ‖w/κ‖ falls with slope −Q/Σw² in [−1, 0): Newton's method in a bracket, until |h| is `tolerance`.
    All depends on F − L only, so however little mass the group has, nothing over- or underflows. Returns
    L, Σw, Σw², Q and how far x − w − log w may be from zero.
    """
    log_kappa = math.log(kappa)
    L, low, high = root, -np.inf, np.inf
    total = square = q = 0.0
    h = step = 0.0
    for _ in range(EVALUATIONS):
        square = 0.0
        if np.inf > L:
            fill_omega(cost, inverse, F, log_kappa - L, w)
            total, square, q = _sums(w)
        if not square > UNDERFLOW:  # L is far too large; κ/√n ≤ max w ≤ κ brackets the root
            top = -np.inf
            for i in range(w.size):
                top = max(top, F[i] - cost[i] * inverse)
            high = min(high, L)
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
        if abs(step) < SHORT:
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


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _combine(basis: Any, theta: Any, out: Any) -> None:
    """out = Σ_k basis_k Θ_k."""
    for i in range(out.size):
        out[i] = basis[0] * theta[0, i]
    for k in range(1, basis.size):
        for i in range(out.size):
            out[i] += basis[k] * theta[k, i]


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _add(x: float, y: Any, out: Any) -> None:
    for i in range(y.size):
        out[i] += x * y[i]


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _derivatives(
    w: Any, scale: float, slope: float, over_a: Any, gamma: Any, diagonal: Any, d_out: Any, w_out: Any
) -> None:
    """γ, the diagonal of diag(d) + c v vᵀ, and d/a and w as they are kept, without denormal numbers."""
    for i in range(w.size):
        x = scale * w[i]
        d = x / (1.0 + w[i])
        v = d * w[i]
        gamma[i] = x
        diagonal[i] = d + slope * v * v
        kept = d * over_a[i]
        d_out[i] = kept if kept > 1e-30 else 0.0
        w_out[i] = w[i] if w[i] > 1e-30 else 0.0


@njit(nogil=True, error_model="numpy", cache=True)
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
    row, F, gamma, h = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    S, S2, Q, residual = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    value = 0.0
    for j in range(low, high):
        _combine(basis[j], theta, F)
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
            excess = math.expm1(min(kappa * (rho - 1.0), 700.0)) * N * rho
            value -= excess + math.expm1(residual[k]) * (N * S[k] / kappa + excess)
            slopes[j, k] = kappa / (N * Q[k]) if N > UNDERFLOW else 0.0
            _derivatives(row[s], N / kappa, slopes[j, k], over_a[s], gamma[s], h[s], d[j, s], w[j, s])
        _add(1.0, h, diagonal[0])
        for k in range(rank):
            _add(basis[j, k], gamma, sums[k])
        for k in range(1, rank):
            _add(basis[j, k], h, diagonal[k])
            _add(basis[j, k] ** 2, h, diagonal[rank - 1 + k])
    return value


@njit(nogil=True, error_model="numpy", cache=True)
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
    out: Any,
) -> None:
    """The columns low…high of the plan, as rows of `out` (m×n), from the roots that `evaluate` left."""
    n, K = cost.shape[1], starts.size - 1
    F, L, S = np.empty(n), np.empty(K), np.empty(K)
    for j in range(low, high):
        _combine(basis[j], theta, F)
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            L[k], S[k], _, _, _ = solve_group(cost[j, s], inverse, F[s], roots[j, k], kappa, tolerance, out[j, s])
        top, total = L.max(), 0.0
        for k in range(K):
            total += math.exp(L[k] - top) * S[k]
        for k in range(K):
            scale = math.exp(L[k] - top) * b[j] / total
            for i in range(starts[k], starts[k + 1]):
                out[j, i] *= scale


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _pairings(d: Any, w: Any, p: Any) -> tuple[float, float]:
    """⟨v, p⟩ and ⟨γ, p⟩, where v = d w and γ = d + v."""
    in_v = in_d = 0.0
    for i in range(p.size):
        t = d[i] * p[i]
        in_v += w[i] * t
        in_d += t
    return in_v, in_d + in_v


@njit(fastmath=FAST, nogil=True, error_model="numpy", forceinline=True)
def _apply(d: Any, w: Any, p: Any, x: float, y: float, out: Any) -> None:
    """d p + v x − γ y."""
    for i in range(p.size):
        out[i] = d[i] * (p[i] - y + (x - y) * w[i])


@njit(nogil=True, error_model="numpy", cache=True)
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
    n, K = d.shape[1], starts.size - 1
    p, weighted, column = np.empty(n), np.empty(n), np.empty(n)
    for j in range(low, high):
        _combine(basis[j], direction, p)
        for i in range(n):
            weighted[i] = p[i] * a[i]
        mean = 0.0
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            in_v, in_gamma = _pairings(d[j, s], w[j, s], weighted[s])
            slide[j, k] = slopes[j, k] * in_v
            mean += in_gamma
        mean /= b[j]
        for k in range(K):
            s = slice(starts[k], starts[k + 1])
            _apply(d[j, s], w[j, s], p[s], slide[j, k], mean, column[s])
        for k in range(basis.shape[1]):
            _add(basis[j, k], column, out[k])
