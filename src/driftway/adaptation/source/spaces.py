"""Spaces of features: as given, and with the skewed features of one sign on a logarithmic scale.

Both are made from the labelled source alone. Gains act on a positive feature by multiplication, which is a shift of its
logarithm; so drift that is irregular in one space is often regular in the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import skew

Double = npt.NDArray[np.float64]

# A feature has one sign if all but this share of its values have, for a zero or two are no sign.
OTHER_SIGN = 0.005
# The logarithm must bring the skewness this much nearer to zero.
LESS_SKEWED = 0.3
# The unit of a logarithm is this quantile of its feature's sizes, below which arcsinh is nearly linear, or the median
# where that is zero. A regression's is the median: its estimator follows the noise of small values further than the
# borders of classes do.
UNIT, UNIT_OF_A_REGRESSION = 0.25, 0.5
# A second space is worth its cost if this share of the features differs in it.
WORTHWHILE = 0.1


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """x ↦ arcsinh(x / unit) in the features where `logarithmic`, x elsewhere."""

    logarithmic: npt.NDArray[np.bool_]
    unit: Double

    def __call__(self, X: Double) -> Double:
        if not self.logarithmic.any():
            return X
        out = X.copy()
        out[:, self.logarithmic] = np.arcsinh(X[:, self.logarithmic] / self.unit[self.logarithmic])
        return out

    def inverse(self, X: Double) -> Double:
        """From this space back to the features as given."""
        if not self.logarithmic.any():
            return X
        out = X.copy()
        out[:, self.logarithmic] = np.sinh(X[:, self.logarithmic]) * self.unit[self.logarithmic]
        return out


def feature_spaces(X: Double, regression: bool = False) -> tuple[FeatureSpace, ...]:
    """The space as given, and the logarithmic one where the labelled source says that it is worthwhile."""
    d = X.shape[1]
    given = FeatureSpace(np.zeros(d, dtype=np.bool_), np.ones(d))
    unit, median = np.quantile(np.abs(X), [UNIT_OF_A_REGRESSION if regression else UNIT, 0.5], axis=0)
    unit = np.where(unit > 0, unit, median)
    one_sign = ((X >= 0).mean(axis=0) >= 1.0 - OTHER_SIGN) | ((X <= 0).mean(axis=0) >= 1.0 - OTHER_SIGN)
    varies = (np.ptp(X, axis=0) > 0) & (unit > 0) & one_sign
    if not varies.any():
        return (given,)
    before = np.abs(skew(X[:, varies], axis=0))
    after = np.abs(skew(np.arcsinh(X[:, varies] / unit[varies]), axis=0))
    logarithmic = np.zeros(d, dtype=np.bool_)
    logarithmic[np.flatnonzero(varies)[after < before - LESS_SKEWED]] = True
    if logarithmic.mean() < WORTHWHILE:
        return (given,)
    return given, FeatureSpace(logarithmic, np.where(logarithmic, unit, 1.0))
