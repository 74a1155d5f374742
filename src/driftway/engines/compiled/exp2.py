"""2^x and log₂ x as compiled code that vectorises: no calls, no branches.

They are the whole cost of a sweep, and what a library offers is not inlined into its loops. They are written as
instructions of LLVM: functions of Numba would be compiled by themselves before every caller, and a caller's leave to
reorder sums must not reach the tricks that round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

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
P32 = (
    1.0000000716628104,
    0.693146967038832,
    0.24022119683030452,
    0.055507132993710975,
    0.009675543578008617,
    0.00132764691213442,
)
# Adding this rounds to an integer and leaves that integer plus the exponent's bias in the lowest bits.
MAGIC64, MAGIC32 = 1.5 * 2.0**52 + 1023.0, 1.5 * 2.0**23 + 127.0
LOW64, HIGH64 = -1021.9, 1023.4
LOW32, HIGH32 = -125.9, 127.4
LOG2 = tuple(2.0 / (math.log(2.0) * (2 * k + 1)) for k in range(9))  # of artanh


class _Real:
    """A float64 or float32 of LLVM with the operators of Python, which it may fuse but not reorder."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value, self.type = builder, value, value.type
        double = value.type == ir.DoubleType()
        self.mantissa, self.bias, self.integer = (52, 1023, ir.IntType(64)) if double else (23, 127, ir.IntType(32))

    def _of(self, other: _Real | float) -> _Real:
        """The number as it is, or one of Python in this precision."""
        if isinstance(other, _Real):
            return other
        rounded = other if self.mantissa == 52 else float(np.float32(other))
        return _Real(self.builder, ir.Constant(self.type, rounded))

    def _with(self, operation: str, other: _Real | float) -> _Real:
        value = getattr(self.builder, operation)(self.value, self._of(other).value, flags=tuple(EXACT))
        return _Real(self.builder, value)

    def __add__(self, other: _Real | float) -> _Real:
        return self._with("fadd", other)

    def __sub__(self, other: _Real | float) -> _Real:
        return self._with("fsub", other)

    def __mul__(self, other: _Real | float) -> _Real:
        return self._with("fmul", other)

    def __truediv__(self, other: _Real | float) -> _Real:
        return self._with("fdiv", other)

    def polynomial(self, *coefficients: float) -> _Real:
        """Its value here by Horner's scheme; the constant term comes first."""
        value = self._of(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = value * self + coefficient
        return value

    def where(self, relation: str, bound: float, then: _Real | float, otherwise: _Real | float) -> _Real:
        """One number where this one is so related to the bound, else another; no branch."""
        is_so = self.builder.fcmp_ordered(relation, self.value, self._of(bound).value)
        return _Real(self.builder, self.builder.select(is_so, self._of(then).value, self._of(otherwise).value))

    def bits(self) -> Any:
        """As an integer of the same size."""
        return self.builder.bitcast(self.value, self.integer)

    def of_bits(self, bits: Any) -> _Real:
        """The number of this type that has these bits."""
        return _Real(self.builder, self.builder.bitcast(bits, self.type))

    def with_exponent(self, bits: Any, power: int) -> _Real:
        """The mantissa of these bits with another exponent, 2^power."""
        kept = self.builder.and_(bits, self.integer(2**self.mantissa - 1))
        return self.of_bits(self.builder.or_(kept, self.integer((self.bias + power) << self.mantissa)))


def _elementary(function: Callable[[_Real], _Real]) -> Any:
    """The function for compiled code, in the precision of its argument."""

    @intrinsic
    def compiled(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return function(_Real(builder, arguments[0])).value

        return x(x), generate

    return compiled


def _exp2(x: _Real) -> _Real:
    low, high, magic = (LOW64, HIGH64, MAGIC64) if x.mantissa == 52 else (LOW32, HIGH32, MAGIC32)
    x = x.where("<", high, x, high)
    t = x + magic
    r = x - (t - magic)
    if x.mantissa == 52:
        q = r * r
        value = q.polynomial(*P64[1::2]) * r + q.polynomial(*P64[::2])
    else:
        value = r.polynomial(*P32)
    power = t.of_bits(x.builder.shl(t.bits(), x.integer(x.mantissa)))
    return x.where(">", low, value * power, 0.0)


def _biased_exponent(x: _Real) -> _Real:
    return x.with_exponent(x.builder.lshr(x.bits(), x.integer(x.mantissa)), x.mantissa)


def _mantissa_of(x: _Real) -> _Real:
    return x.with_exponent(x.bits(), 0)


def _log2(x: _Real) -> _Real:
    k, m = _biased_exponent(x) - (2.0**x.mantissa + x.bias), _mantissa_of(x)
    root = 1.4142135623730951
    k, m = m.where(">", root, k + 1.0, k), m.where(">", root, m * 0.5, m)
    s = (m - 1.0) / (m + 1.0)
    return k + s * (s * s).polynomial(*LOG2)


exp2 = _elementary(_exp2)  # 2^x in the precision of x; 0 below its range, and the largest power above it
log2 = _elementary(_log2)  # log₂ of a positive normal float64
# Of x = m·2^k with 1 ≤ m < 2: 2^52 + 1023 + k (in float32 2^23 + 127 + k), and m.
biased_exponent, mantissa_of = _elementary(_biased_exponent), _elementary(_mantissa_of)
