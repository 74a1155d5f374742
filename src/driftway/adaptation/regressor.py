"""The regression that stays right while the data drifts."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation.estimator import ContinuousTransport

Double = npt.NDArray[np.float64]


class ContinuousTransportRegressor(RegressorMixin, ContinuousTransport):
    """The same for a regression: everything but the class terms.

    Parameters and attributes are those of `ContinuousTransportClassifier`; `label_weight` has no effect, and
    `batch_values_` are the mean values that the points of the last batch received.
    """

    @property
    def batch_values_(self) -> Double:
        """Of the last batch, the mean value that every point received."""
        check_is_fitted(self)
        if not len(self.history_):
            raise AttributeError("batch_values_ exists after the first partial_fit")
        return self._received

    def _encode(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        values = np.asarray(y)
        if not np.issubdtype(values.dtype, np.number) and not isinstance(values.flat[0], Real):
            raise ValueError(f"y must be numbers for a regression, got {values.dtype}")
        return values.astype(np.float64), np.zeros(len(values), dtype=np.intp)

    def _decode(self, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return predicted

    def _default_estimator(self) -> Any:
        return KNeighborsRegressor(1)
