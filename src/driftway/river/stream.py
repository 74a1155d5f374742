"""The labelled source of a stream and its unlabelled batches, with features that come and go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from river.utils.dataframe import into_frame, into_series, to_numpy
from sklearn.base import clone

from driftway.adaptation.estimator import ContinuousTransport
from driftway.arrays.parameters import InstanceOf, Parameter, Whole, checked

Double = npt.NDArray[np.float64]


def declared(kind: type[ContinuousTransport]) -> tuple[Parameter, ...]:
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


class Stream:
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
        before = placed(self._labelled, self._features, features)
        after = placed(values, names, features)
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
        aligned = placed(values, names, self._features)
        lacking = [column for column, name in enumerate(self._features) if name not in names]
        aligned[:, lacking] = self._means()[lacking]
        return aligned


def placed(values: Double, names: list[Any], features: list[Any]) -> Double:
    """Columns in the order of the features, NaN for one that is not among the names."""
    ordered, column = np.full((len(values), len(features)), np.nan), {name: i for i, name in enumerate(names)}
    for place, name in enumerate(features):
        if name in column:
            ordered[:, place] = values[:, column[name]]
    return ordered
