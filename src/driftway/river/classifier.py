"""The classifier for streams of river whose labels end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from river import base
from river.utils.dataframe import into_frame, to_native_frame, to_native_series, to_numpy

from driftway.adaptation import ContinuousTransportClassifier as Classifier
from driftway.arrays.parameters import documented
from driftway.river.stream import Stream, declared

Double = npt.NDArray[np.float64]


@documented
class ContinuousTransportClassifier(Stream, base.MiniBatchClassifier):
    """A classifier of river for streams whose labels end: labelled rows first, then unlabelled batches.

    `learn_many(X, y)` and `learn_one(x, y)` add to the labelled source. `learn_many(X)` adapts to a batch, and
    `learn_one(x)` collects rows until they are one. Labels that come later are added to the source as the drift has
    moved it by then.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    transport_ : ContinuousTransportClassifier
        The fitted estimator of driftway. Its `history_` has a record per batch. Its classes are indices into
        `classes_`.
    classes_ : list
        The labels seen, in order of appearance.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from driftway.river import ContinuousTransportClassifier

    >>> rng = np.random.default_rng(0)
    >>> def batch(time):
    ...     y = np.tile(["calm", "storm"], 50)
    ...     wind = rng.normal(size=100) + 6 * (y == "storm") + time
    ...     return pd.DataFrame({"wind": wind, "wave": rng.normal(size=100) - time}), pd.Series(y)

    >>> model = ContinuousTransportClassifier()
    >>> model.predict_proba_one({"wind": 0.0, "wave": 0.0})  # no label has been seen
    {}
    >>> model.learn_many(*batch(0))
    >>> for time in range(1, 11):
    ...     X, y = batch(time)
    ...     model.learn_many(X)
    >>> bool((model.predict_many(X) == y).mean() > 0.95)
    True
    >>> model.predict_proba_many(X).columns.tolist(), model.predict_proba_one({"wind": 10.0, "wave": -10.0})
    (['calm', 'storm'], {'calm': 1.0, 'storm': 0.0})
    >>> model.transport_.n_steps_
    10

    """

    _parameters = declared(Classifier)
    _kind = Classifier
    _number = np.intp

    def __init__(self, transport: Any = None, batch_size: int = 100, window_size: int = 1000) -> None:
        super().__init__(transport, batch_size, window_size)
        self.classes_: list[Any] = []

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predicts the probabilities of the labels for one row; an empty dictionary before the first label.

        See the example of the class.

        Parameters
        ----------
        x : dict
            The features by name.

        Returns
        -------
        dict of label to float

        """
        proba = self._proba(list(x), np.array([list(x.values())], dtype=np.float64).reshape(1, -1))
        return dict(zip(self.classes_, proba[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Predicts the probabilities of the labels for the rows of X.

        See the example of the class.

        Parameters
        ----------
        X : data frame
            Of any library that river supports.

        Returns
        -------
        data frame
            Of the same library, with one column per label seen.

        """
        frame = into_frame(X)
        proba = self._proba(list(frame.columns), to_numpy(frame))
        return to_native_frame(dict(zip(self.classes_, proba.T, strict=True)), like=frame)

    def predict_many(self, X: Any) -> Any:
        """Predicts the labels of the rows of X; missing values before the first label.

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
        proba = self._proba(list(frame.columns), to_numpy(frame))
        found = [self.classes_[best] for best in proba.argmax(axis=1)] if self.classes_ else [None] * len(proba)
        return to_native_series(found, name=None, like=frame)

    def _proba(self, names: list[Any], values: Double) -> Double:
        proba, transport = np.zeros((len(values), len(self.classes_))), self._ready()
        if transport is None:
            return np.ones_like(proba)  # one label was seen, or none
        if len(values):
            proba[:, transport.classes_] = transport.predict_proba(self._aligned(names, values))
        return proba

    def _encoded(self, targets: Iterable[Any]) -> npt.NDArray[Any]:
        targets = list(targets)
        if any(label is None or label != label for label in targets):
            raise ValueError("y must have no missing labels; learn unlabelled rows in a batch of their own")
        self.classes_ = list(dict.fromkeys([*self.classes_, *targets]))
        number = {label: code for code, label in enumerate(self.classes_)}
        return np.array([number[label] for label in targets], dtype=np.intp)
