"""Wright's ω as compiled code that vectorises: w + log w = x for w = ω(x), in float64 and float32.

A guess g is worth one exponential: w = exp(x − g) has the residual x − w − log w = g − w, and a step of Fritsch, Shafer
and Crowley (1973) raises that to the fourth power. So the guess may be as rough as 1e-3, or 3e-2 for float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from driftway.engines.compiled.exp2 import EXACT, biased_exponent, exp2, mantissa_of
from driftway.engines.compiled.layout import LN2, LOG2E

# Above this the guess is the asymptotic series, below it a polynomial.
HIGH = 4.0
# The residual x − w − log w that `omega` may leave in float64.
OMEGA_RESIDUAL = 5e-13
ONE, HALF, THIRDS, LN2_32, HIGH32, LOW32, LOG2E32, BIAS = (
    np.float32(x) for x in (1.0, 0.5, 2.0 / 3.0, LN2, HIGH, -6.0, LOG2E, 2.0**23 + 127.0)
)
C0, C1, C2, C3, C4 = (
    np.float32(x) for x in (0.5785271293, 0.3534857281, 0.06393989503, 0.0008144410188, -0.0004592537918)
)
L0, L1, L2 = (np.float32(x) for x in (-1.1534357106485156, 1.3928029778142428, -0.2355015426560968))


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _moved_double(w: float, r: float) -> float:
    p = 1.0 + w
    q = p * (p + 0.6666666666666666 * r)
    return w + w * (r * (q - 0.5 * r)) / (p * (q - r))


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _moved_single(w: Any, r: Any) -> Any:
    p = ONE + w
    q = p * (p + THIRDS * r)
    return w + w * (r * (q - HALF * r)) / (p * (q - r))


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _low_double(x: float) -> float:
    """The guess up to HIGH."""
    z = x if x > -7.0 else -7.0
    y = z * z
    return (0.567228322 + z * 0.3595029905 + y * (0.07335023959 + z * 0.0001310538706)) + y * y * (
        -0.001479266861 - z * 2.423954055e-05 + y * (2.726805234e-05 + z * 2.017484458e-06)
    )


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _low_single(x: Any) -> Any:
    z = x if x > LOW32 else LOW32
    return C0 + z * (C1 + z * (C2 + z * (C3 + z * C4)))


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _high_double(x: float) -> float:
    """The guess from HIGH on: the asymptotic series, with a logarithm to 1e-4."""
    e = biased_exponent(x) - (2.0**52 + 1023.0)
    t: Any = mantissa_of(x)
    s = t * t
    log = e * 0.6931471805599453 + (
        (-1.7317264411435938 + t * 2.792836515601201)
        + s * ((-1.4405921621322573 + t * 0.43393244200672443) - s * 0.0543709335555871)
    )
    i = 1.0 / x
    series = 1.0 + i * (0.5 * (log - 2.0) + i * 0.8 * (1.0 + log * (-1.5 + log * 0.3333333333333333)))
    return x - log + (log * i) * series


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _high_single(x: Any) -> Any:
    e = biased_exponent(x) - BIAS
    t: Any = mantissa_of(x)
    log = e * LN2_32 + (L0 + t * (L1 + t * L2))
    return x - log + log / x


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _guessed_double(x: float, guess: float) -> float:
    w = exp2((x - guess) * LOG2E)
    return _moved_double(w, guess - w)


@njit(fastmath=EXACT, error_model="numpy", inline="always")
def _guessed_single(x: Any, guess: Any) -> Any:
    w = exp2((x - guess) * LOG2E32)
    return _moved_single(w, guess - w)


def moved(w: Any, r: Any) -> Any:
    """ω(x + r) from w = ω(x) by one step, which leaves a residual below r⁴/72."""
    raise NotImplementedError  # only the compiled versions exist


def omega(x: Any) -> Any:
    """Wright's ω of a real number: a guess, one exponential and one step; no branches."""
    raise NotImplementedError  # only the compiled versions exist


def omega_low(x: Any) -> Any:
    """The same for numbers up to HIGH, at half the cost."""
    raise NotImplementedError  # only the compiled versions exist


@overload(moved, inline="always")
def _moved(w: Any, r: Any) -> Any:
    def single(w: Any, r: Any) -> Any:
        return _moved_single(w, r)

    def double(w: Any, r: Any) -> Any:
        return _moved_double(w, r)

    return single if w == types.float32 else double


@overload(omega_low, inline="always")
def _omega_low(x: Any) -> Any:
    def single(x: Any) -> Any:
        return _guessed_single(x, _low_single(x))

    def double(x: Any) -> Any:
        return _guessed_double(x, _low_double(x))

    return single if x == types.float32 else double


@overload(omega, inline="always")
def _omega(x: Any) -> Any:
    def single(x: Any) -> Any:
        low, high = _low_single(x if x < HIGH32 else HIGH32), _high_single(x if x > HIGH32 else HIGH32)
        return _guessed_single(x, high if x > HIGH32 else low)

    def double(x: Any) -> Any:
        low, high = _low_double(x if x < HIGH else HIGH), _high_double(x if x > HIGH else HIGH)
        return _guessed_double(x, high if x > HIGH else low)

    return single if x == types.float32 else double
