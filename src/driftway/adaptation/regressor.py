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
from driftway.adaptation.source.automatic import AutomaticRegressor

Double = npt.NDArray[np.float64]

BINS = 5  # parts of the targets' range, of equal mass, whose shares may change as those of classes do


class ContinuousTransportRegressor(RegressorMixin, ContinuousTransport):
    """A regression for drifting data: `fit` a labelled source, then `partial_fit` unlabelled batches for ever.

    Parameters, attributes, `explain()` and missing values are as for `ContinuousTransportClassifier`.
    `estimator="auto"` is the mean of those among random forest, ridge regression and 5 nearest neighbours that do best
    on the source. In the place of classes there are parts of the targets' range, whose mix may change. `label_weight`
    has no effect, and `batch_values_` are the values of the points of the last batch.
    """

    @property
    def batch_values_(self) -> Double:
        """Of the last batch, the values that its points were given."""
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

    def _chosen(self, told: Double) -> npt.NDArray[Any]:
        return told

    def _bins(self, targets: npt.NDArray[Any], groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        edges = np.unique(np.quantile(targets, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        found = np.searchsorted(edges, targets, side="right")
        return np.unique(found, return_inverse=True)[1].astype(np.intp)

    def _default_estimator(self) -> Any:
        return KNeighborsRegressor(1)

    def _automatic_estimator(self) -> Any:
        return AutomaticRegressor()
