"""The regressor for drifting data."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation.estimator import ContinuousTransport
from driftway.adaptation.parameters import REGRESSOR
from driftway.adaptation.source.automatic import AutomaticRegressor
from driftway.arrays.parameters import documented

Double = npt.NDArray[np.float64]

BINS = 5  # parts of the targets' range, of equal mass; their shares may change as those of classes do


@documented
class ContinuousTransportRegressor(RegressorMixin, ContinuousTransport):
    """A regressor for drifting data: `fit` it on a labelled source, then `partial_fit` it on unlabelled batches.

    It works like `ContinuousTransportClassifier`. In the place of classes it has five parts of the range of targets,
    whose proportions may change.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    batch_values_ : array of shape (m,)
        The predicted values of the points of the last batch.
    estimator_ : estimator
        The fitted estimator that predicts: that of the source, or one trained on the transported source.
    images_, image_targets_ : array of shape (n, D), (n,)
        The present positions of the source points, and their targets; D = d for numbers, and a category has a column.
    columns_ : TableColumns
        What the columns of the source are: numbers or categories, and where values are missing.
    history_ : History
        One record per step, of the last 1,000 steps.
    n_steps_, n_seen_ : int
        The number of steps, and of batches with those that were skipped.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from driftway import ContinuousTransportRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X[:, 0] - X[:, 1]
    >>> model = ContinuousTransportRegressor(LinearRegression()).fit(X, y)
    >>> for shift in (1.0, 2.0, 3.0):  # the first sensor drifts
    ...     model = model.partial_fit(X + [shift, 0.0])
    >>> bool(model.score(X + [3.0, 0.0], y) > 0.9)
    True
    >>> bool(LinearRegression().fit(X, y).score(X + [3.0, 0.0], y) < 0.0)
    True
    >>> model.batch_values_.shape, bool(np.allclose(model.batch_values_, model.predict(X + [3.0, 0.0])))
    ((100,), True)

    The other methods are those of `ContinuousTransportClassifier`; its example shows them.

    """

    _parameters = REGRESSOR

    @property
    def batch_values_(self) -> Double:
        """The predicted values of the points of the last batch (m).

        They exist after the first `partial_fit`.

        See the example of the class.
        """
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
