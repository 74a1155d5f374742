"""Wright's ω as compiled code that vectorises: w + log w = x for w = ω(x)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from driftway.elementary import EXACT, exp2

LOG2E = 1.4426950408889634
MAGIC, MAGIC_BITS = 1.5 * 2.0**52, 0x4338000000000000
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
