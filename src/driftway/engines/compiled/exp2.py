"""2^x and log₂ x as compiled code that vectorises: no calls, no branches.

They are the whole cost of a sweep, and what a library offers is not inlined into its loops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

EXACT = {"contract"}  # fused multiply-add, nothing that changes the meaning of a rounding trick

# 2^r on [−½, ½] by the polynomial of least relative error: 2.1e-16 for degree 10, 7.5e-8 for degree 5.
P64 = (
    1.0,
    0.6931471805599497,
    0.24022650695908768,
    0.055504108664458776,
    0.00961812910803467,
    0.0013333558228571126,
    0.00015403529961067333,
    1.5252658110611094e-05,
    1.3215662853000866e-06,
    1.0208539104513602e-07,
    7.037277774202637e-09,
)
P32 = tuple(
    np.float32(c)
    for c in (
        1.0000000716628104,
        0.693146967038832,
        0.24022119683030452,
        0.055507132993710975,
        0.009675543578008617,
        0.00132764691213442,
    )
)
# Adding this rounds to an integer and leaves that integer plus the exponent's bias in the lowest bits.
MAGIC64, MAGIC32 = 1.5 * 2.0**52 + 1023.0, np.float32(1.5 * 2.0**23 + 127.0)
LOW64, HIGH64 = -1021.9, 1023.4
LOW32, HIGH32, ZERO32 = np.float32(-125.9), np.float32(127.4), np.float32(0.0)


@intrinsic
def _power_of_two(typingctx: Any, t: Any) -> Any:
    """2^k for the integer k that t = k + MAGIC holds in its lowest bits."""
    integer, real, shift = (
        (ir.IntType(64), ir.DoubleType(), 52) if t == types.float64 else (ir.IntType(32), ir.FloatType(), 23)
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = builder.shl(builder.bitcast(arguments[0], integer), ir.Constant(integer, shift))
        return builder.bitcast(held, real)

    return t(t), generate


def _bits(change: Any) -> Any:
    """A function of a float that is a change of its bits, told how many of them are the mantissa's."""

    @intrinsic
    def changed(typingctx: Any, x: Any) -> Any:
        size, real, mantissa = (64, ir.DoubleType(), 52) if x == types.float64 else (32, ir.FloatType(), 23)
        integer = ir.IntType(size)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            held = change(builder, builder.bitcast(arguments[0], integer), integer, mantissa)
            return builder.bitcast(held, real)

        return x(x), generate

    return changed


def _with_exponent(builder: Any, bits: Any, integer: Any, mantissa: int, power: int) -> Any:
    """The mantissa of these bits with another exponent, 2^power."""
    bias = 1023 if mantissa == 52 else 127
    return builder.or_(builder.and_(bits, integer(2**mantissa - 1)), integer((bias + power) << mantissa))


# Of x = m·2^k with 1 ≤ m < 2: 2^52 + 1023 + k (in float32 2^23 + 127 + k), and m.
biased_exponent = _bits(
    lambda b, x, integer, mantissa: _with_exponent(b, b.lshr(x, integer(mantissa)), integer, mantissa, mantissa)
)
mantissa_of = _bits(lambda b, x, integer, mantissa: _with_exponent(b, x, integer, mantissa, 0))
LOG2 = tuple(2.0 / (math.log(2.0) * (2 * k + 1)) for k in range(9))  # of artanh


@njit(fastmath=EXACT, forceinline=True)
def log2(x: float) -> float:
    """log₂ of a positive normal float64."""
    k = biased_exponent(x) - (2.0**52 + 1023.0)
    m: Any = mantissa_of(x)
    high = m > 1.4142135623730951
    m = 0.5 * m if high else m
    k = k + 1.0 if high else k
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = LOG2[8] * q + LOG2[7]
    p = (((p * q + LOG2[6]) * q + LOG2[5]) * q + LOG2[4]) * q + LOG2[3]
    return k + s * (((p * q + LOG2[2]) * q + LOG2[1]) * q + LOG2[0])


@njit(fastmath=EXACT, forceinline=True)
def _exp2_double(x: float) -> float:
    x = x if x < HIGH64 else HIGH64
    t = x + MAGIC64
    r = x - (t - MAGIC64)
    q = r * r
    even = ((((P64[10] * q + P64[8]) * q + P64[6]) * q + P64[4]) * q + P64[2]) * q + P64[0]
    odd = (((P64[9] * q + P64[7]) * q + P64[5]) * q + P64[3]) * q + P64[1]
    value = (odd * r + even) * _power_of_two(t)  # type: ignore[call-arg]
    return value if x > LOW64 else 0.0


@njit(fastmath=EXACT, forceinline=True)
def _exp2_single(x: Any) -> Any:
    x = x if x < HIGH32 else HIGH32
    t = x + MAGIC32
    r = x - (t - MAGIC32)
    p = ((((P32[5] * r + P32[4]) * r + P32[3]) * r + P32[2]) * r + P32[1]) * r + P32[0]
    value = p * _power_of_two(t)  # type: ignore[call-arg]
    return value if x > LOW32 else ZERO32


def exp2(x: Any) -> Any:
    """2^x in the precision of x; 0 below its range, and the largest power above it."""
    raise NotImplementedError  # only the compiled versions exist


@overload(exp2)
def _exp2(x: Any) -> Any:
    def single(x: Any) -> Any:
        return _exp2_single(x)

    def double(x: Any) -> Any:
        return _exp2_double(x)

    return single if x == types.float32 else double
