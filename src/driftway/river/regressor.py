"""The regressor for streams of river whose targets end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from river import base
from river.utils.dataframe import into_frame, to_native_series, to_numpy

from driftway.adaptation import ContinuousTransportRegressor as Regressor
from driftway.arrays.parameters import documented
from driftway.river.stream import Stream, declared

Double = npt.NDArray[np.float64]


@documented
class ContinuousTransportRegressor(Stream, base.MiniBatchRegressor):
    """A regressor of river for streams whose labels end: labelled rows first, then unlabelled batches.

    `learn_many(X, y)` and `learn_one(x, y)` add to the labelled source. `learn_many(X)` adapts to a batch, and
    `learn_one(x)` collects rows until they are one. Labels that come later are added to the source as the drift has
    moved it by then.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    transport_ : ContinuousTransportRegressor
        The fitted estimator of driftway. Its `history_` has a record per batch.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from driftway.river import ContinuousTransportRegressor
    >>> X = pd.DataFrame({"x": np.linspace(0.0, 1.0, 30)})
    >>> model = ContinuousTransportRegressor()
    >>> model.predict_one({"x": 0.0})  # no value has been seen
    0.0
    >>> model.learn_many(X, 2.0 * X["x"])
    >>> for shift in (0.2, 0.4, 0.6):  # the sensor drifts
    ...     model.learn_many(X + shift)
    >>> bool(abs(model.predict_many(X + 0.6) - 2.0 * X["x"]).mean() < 0.2)
    True

    """

    _parameters = declared(Regressor)
    _kind = Regressor
    _number = np.float64

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """Predicts the value of one row; 0 before the first labelled row.

        See the example of the class.

        Parameters
        ----------
        x : dict
            The features by name.

        Returns
        -------
        float

        """
        return float(self._values(list(x), np.array([list(x.values())], dtype=np.float64).reshape(1, -1))[0])

    def predict_many(self, X: Any) -> Any:
        """Predicts the values of the rows of X; 0 before the first labelled row.

        See the example of the class.

        Parameters
        ----------
        X : data frame
            Of any library that river supports.

        Returns
        -------
        series
            Of the same library.

        """
        frame = into_frame(X)
        return to_native_series(self._values(list(frame.columns), to_numpy(frame)), name=None, like=frame)

    def _values(self, names: list[Any], values: Double) -> Double:
        transport = self._ready()
        if transport is None or not len(values):
            return np.full(len(values), self._targets.sum())  # one value was seen, or none
        return transport.predict(self._aligned(names, values))

    def _encoded(self, targets: Iterable[Any]) -> npt.NDArray[Any]:
        found = np.array(list(targets), dtype=np.float64)
        if not np.isfinite(found).all():
            raise ValueError("y must be finite, but it contains NaN or infinity")
        return found
