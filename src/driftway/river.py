"""Adapter for river: continuous adaptation of streams whose labels end. Needs the extra `driftway[river]`.

Call `learn_many(X, y)` while there are labels, and `learn_many(X)` for every batch after that. Single rows are
collected into batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from driftway.adaptation import ContinuousTransportClassifier as Classifier
from driftway.adaptation import ContinuousTransportRegressor as Regressor
from driftway.adaptation.estimator import ContinuousTransport
from driftway.arrays.parameters import InstanceOf, Parameter, Whole, checked, documented

try:
    from river import base
    from river.utils.dataframe import into_frame, into_series, to_native_frame, to_native_series, to_numpy
except ImportError as error:
    raise ImportError("driftway.river needs river ≥ 0.26: pip install 'driftway[river]'") from error

__all__ = ["ContinuousTransportClassifier", "ContinuousTransportRegressor"]

Double = npt.NDArray[np.float64]


def _declared(kind: type[ContinuousTransport]) -> tuple[Parameter, ...]:
    """The parameters of a stream estimator whose transport is of this class."""
    return (
        Parameter(
            "transport",
            None,
            InstanceOf(kind),
            "The estimator that follows the drift, with its parameters.",
            'None is one with `estimator=None` and `hypotheses="transport"`.',
        ),
        Parameter(
            "batch_size",
            100,
            Whole(2),
            "The number of unlabelled rows that `learn_one` collects before it adapts to them.",
        ),
        Parameter("window_size", 1000, Whole(), "The number of labelled rows to keep: the latest ones."),
    )


class _Stream:
    """Common base of classifier and regressor: labelled rows are the source, unlabelled ones are batches to adapt to.

    Features are identified by name. As everywhere in river they may come and go. A feature that a row lacks gets its
    mean over the labelled rows, and one that no labelled row has is ignored.
    """

    _parameters: ClassVar[tuple[Parameter, ...]]
    _kind: type[ContinuousTransport]
    _number: type[np.generic]

    def __init__(self, transport: Any = None, batch_size: int = 100, window_size: int = 1000) -> None:
        self.transport, self.batch_size, self.window_size = transport, batch_size, window_size
        checked(self)
        self._features: list[Any] = []
        self._labelled = np.empty((0, 0))  # NaN where a row lacks a feature
        self._targets: npt.NDArray[Any] = np.empty(0, dtype=self._number)
        self._waiting: list[dict[Any, float]] = []
        self._fitted: ContinuousTransport | None = None

    @property
    def transport_(self) -> ContinuousTransport:
        """The fitted estimator with its `history_`; it exists after two labelled rows.

        See the example of the class.
        """
        fitted = self._ready()
        if fitted is None:
            raise AttributeError("transport_ exists after two labelled rows")
        return fitted

    def learn_one(self, x: dict[Any, Any], y: Any = None) -> None:
        """Learns one row: a labelled one is added to the source, unlabelled ones are adapted to in batches.

        Parameters
        ----------
        x : dict
            The features by name.
        y : label, optional
            The label; None for an unlabelled row.

        Examples
        --------
        >>> from driftway.river import ContinuousTransportClassifier
        >>> model = ContinuousTransportClassifier(batch_size=4)
        >>> for x, y in [(0.0, "a"), (1.0, "a"), (5.0, "b"), (6.0, "b")]:
        ...     model.learn_one({"x": x}, y)
        >>> for x in (0.5, 1.5, 5.5, 6.5):  # one batch
        ...     model.learn_one({"x": x})
        >>> model.transport_.n_steps_
        1

        """
        if y is not None:
            self._learn_labelled(list(x), np.array([list(x.values())], dtype=np.float64), [y])
            return
        self._expect_source()
        self._waiting.append({name: float(value) for name, value in x.items()})
        if len(self._waiting) >= self.batch_size:
            rows, self._waiting = self._waiting, []
            self._adapt(np.concatenate([self._aligned(list(row), np.array([list(row.values())])) for row in rows]))

    def learn_many(self, X: Any, y: Any = None) -> None:
        """Learns a batch: a labelled one is added to the source, an unlabelled one is adapted to.

        See the example of the class.

        Parameters
        ----------
        X : data frame
            Of any library that river supports.
        y : series, optional
            The labels; None for an unlabelled batch.

        """
        frame = into_frame(X)
        values = to_numpy(frame)
        if y is None:
            self._adapt(self._aligned(list(frame.columns), values))
        elif len(values):
            self._learn_labelled(list(frame.columns), values, into_series(y).to_list())

    # Details.

    def _ready(self) -> ContinuousTransport | None:
        """The fitted estimator, or None before two labelled rows. It is fitted here, since rows may come one by one."""
        if self._fitted is None and len(self._targets) > 1:
            fresh = self._kind(None, hypotheses="transport") if self.transport is None else clone(self.transport)
            missing = np.isnan(self._labelled)
            self._fitted = fresh.fit(np.where(missing, self._means(), self._labelled), self._targets)
        return self._fitted

    def _encoded(self, targets: Iterable[Any]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _learn_labelled(self, names: list[Any], values: Double, targets: list[Any]) -> None:
        """Adds labelled rows to the source; if the source has moved, to its images."""
        if not np.isfinite(values).all():
            raise ValueError(
                "labelled rows must be finite, but they contain NaN or infinity; leave missing features out"
            )
        if len(values) != len(targets):
            raise ValueError(f"y must have one label for each of {len(values)} rows, got {len(targets)}")
        encoded = self._encoded(targets)
        self._move_source()
        features = sorted({*self._features, *names}, key=str)  # independent of the order in the rows
        before = _placed(self._labelled, self._features, features)
        after = _placed(values, names, features)
        self._features = features
        self._labelled = np.concatenate([before, after])[-self.window_size :]
        self._targets = np.concatenate([self._targets, encoded])[-self.window_size :]
        self._fitted = None

    def _move_source(self) -> None:
        """Replaces the source by its images if it has followed a drift."""
        fitted = self._fitted
        if fitted is not None and fitted.n_steps_ and fitted.history_[-1].answer == "adapted":
            self._labelled, self._targets = fitted.images_, fitted.image_targets_

    def _adapt(self, batch: Double) -> None:
        self._expect_source().partial_fit(batch)

    def _expect_source(self) -> ContinuousTransport:
        transport = self._ready()
        if transport is None:
            raise ValueError("at least two labelled rows are needed before unlabelled ones; pass y")
        return transport

    def _means(self) -> Double:
        """The mean of every feature over the labelled rows that have it; 0 if none of the window has."""
        here = ~np.isnan(self._labelled)
        return np.where(here, self._labelled, 0.0).sum(axis=0) / np.maximum(here.sum(axis=0), 1)

    def _aligned(self, names: list[Any], values: Double) -> Double:
        """Rows with the features of the source, in its order; missing ones are filled with their means."""
        placed = _placed(values, names, self._features)
        lacking = [column for column, name in enumerate(self._features) if name not in names]
        placed[:, lacking] = self._means()[lacking]
        return placed


def _placed(values: Double, names: list[Any], features: list[Any]) -> Double:
    """Columns in the order of the features, NaN for one that is not among the names."""
    placed, column = np.full((len(values), len(features)), np.nan), {name: i for i, name in enumerate(names)}
    for place, name in enumerate(features):
        if name in column:
            placed[:, place] = values[:, column[name]]
    return placed


@documented
class ContinuousTransportClassifier(_Stream, base.MiniBatchClassifier):
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

    _parameters = _declared(Classifier)
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


@documented
class ContinuousTransportRegressor(_Stream, base.MiniBatchRegressor):
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

    _parameters = _declared(Regressor)
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
