"""Matrices held as arrays: by their values, or by the exponentials of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driftway.geometry.cost import is_plain
from driftway.geometry.matrices import Matrix
from driftway.geometry.terms import Terms

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dense(Matrix):
    """A matrix held as an array.

    Attributes
    ----------
    values : array (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.geometry import Dense
    >>> (0.5 * Dense(np.eye(2))).values.tolist()
    [[0.5, 0.0], [0.0, 0.5]]

    """

    values: Double

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    @property
    def held(self) -> Double:
        return self.values

    def rows(self, block: slice) -> Double:
        return self.values[block].copy()

    def terms(self, *, bilinear: bool = True) -> Terms | None:
        return Terms.of(self.shape, base=self.values) if is_plain(self.values) else None

    def combined(self, own: float, other: Dense, theirs: float) -> Dense:
        result = self.values * own if own != 1.0 else self.values.copy()
        result += other.values if theirs == 1.0 else theirs * other.values
        return Dense(result)

    def __mul__(self, factor: float) -> Dense:
        return Dense(self.values * factor)


@dataclass(frozen=True, eq=False)
class LogOf(Matrix):
    """The entrywise logarithm of an array: how plans are held that are mixtures of others."""

    values: Double

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    @property
    def exponential(self) -> Double:
        return self.values

    def rows(self, block: slice) -> Double:
        with np.errstate(divide="ignore"):
            return np.log(self.values[block])

    def combined(self, own: float, other: LogOf, theirs: float) -> LogOf:
        raise TypeError("logarithms of mixtures are not combined")

    def __mul__(self, factor: float) -> LogOf:
        raise TypeError("logarithms of mixtures are not scaled")
