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
from driftway.adaptation.parameters import REGRESSOR
from driftway.adaptation.source.automatic import AutomaticRegressor
from driftway.arrays.parameters import documented

Double = npt.NDArray[np.float64]

BINS = 5  # parts of the targets' range, of equal mass, whose shares may change as those of classes do


@documented
class ContinuousTransportRegressor(RegressorMixin, ContinuousTransport):
    """A regression for drifting data: `fit` a labelled source, then `partial_fit` unlabelled batches for ever.

    It works as `ContinuousTransportClassifier` does. In the place of classes there are parts of the targets' range,
    whose mix may change.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    batch_values_ : the values of the points of the last batch (m)
    n_features_in_, feature_names_in_ : as in scikit-learn
    estimator_ : the estimator that answers: the source's own, or the one trained on the transported source
    images_ : where the source points are now (n×d)
    history_ : one record per step
    n_steps_ : steps made

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
        """The values that the points of the last batch were given (m).

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
