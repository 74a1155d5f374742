"""Common base of the continuous estimators: `fit` on a labelled source, then `partial_fit` on unlabelled batches."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.batches import Batch, among, batch_rows, rows_with_gaps
from driftway.adaptation.carrying import carry_points
from driftway.adaptation.encoding import Encoding
from driftway.adaptation.history import Record
from driftway.adaptation.hypotheses.transport import TransportedSource
from driftway.adaptation.labels import Labels
from driftway.adaptation.learning import SourceLearner
from driftway.adaptation.maps import MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import MotionModel
from driftway.adaptation.recording import of_sensors, of_transport
from driftway.adaptation.renewal import Renewal
from driftway.adaptation.resolution import settings_of
from driftway.adaptation.saving import Saving
from driftway.adaptation.tracker import Told, mixed
from driftway.adaptation.warning import AdaptationWarning
from driftway.adaptation.words import gaps_in_words, in_words
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]


class ContinuousTransport(Encoding, TransformerMixin, Saving, SourceLearner):
    """Common base of classifier and regressor: hypotheses about the drift are fitted to every batch, and predict.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : as in scikit-learn
    columns_ : TableColumns
        What the columns of the source are: numbers or categories, and where values are missing.
    estimator_ : estimator
        The fitted estimator that predicts: that of the source, or one trained on the transported source.
    images_ : array of shape (n, D)
        The present positions of the source points.
    image_targets_ : array of shape (n,)
        Their targets.
    history_ : History
        One record per step, of the last 1,000 steps.
    n_steps_ : int
        The number of steps.
    n_seen_ : int
        The number of batches, with those that were skipped.

    """

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        hypotheses: str = "auto",
        cost: str = "sequential",
        metric: Any = "sqeuclidean",
        epsilon: float = 0.1,
        relative_epsilon: bool = True,
        time_weight: float = 0.0,
        label_weight: float = 0.0,
        map: str | MapModel = "auto",  # noqa: A002 - what it is
        motion: str | MotionModel | None = "auto",
        labels: str | Labels = "auto",
        source: str | Renewal = "kept",
        marginals: str | Marginals = "balanced",
        clusters: bool = True,
        scale: str | None = "auto",
        stay: bool = True,
        on_bad_batch: str = "raise",
        tol: float = 1e-5,
        solver_iterations: int = 1000,
        engine: Any = None,
    ) -> None:
        self.estimator = estimator
        self.hypotheses = hypotheses
        self.cost = cost
        self.metric = metric
        self.epsilon = epsilon
        self.relative_epsilon = relative_epsilon
        self.time_weight = time_weight
        self.label_weight = label_weight
        self.map = map
        self.motion = motion
        self.labels = labels
        self.source = source
        self.marginals = marginals
        self.clusters = clusters
        self.scale = scale
        self.stay = stay
        self.on_bad_batch = on_bad_batch
        self.tol = tol
        self.solver_iterations = solver_iterations
        self.engine = engine

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from a labelled source, and forgets everything learned before.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The source points: numbers, or categories as texts. A missing number is replaced by the median of its
            column. Rows without any value are ignored; at least two rows must be left.
        y : array of shape (n,)
            The targets: class labels, or numbers for a regression.
        sample_weight : array of shape (n,), optional
            The masses of the points, non-negative; equal by default.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data cannot be used, or a parameter is not valid. The estimator stays as it was.

        """
        with all_or_nothing(self):
            self._begin(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Adapts to one unlabelled batch.

        A batch that cannot be used raises an error, or with `on_bad_batch="skip"` a warning, and changes nothing. A
        batch that no hypothesis explains is predicted as well as possible and does not change the state; a
        second such batch is followed.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The batch, with the columns of the source. A missing number is replaced by the median of its column in the
            batch. Rows without any value are ignored.
        y : ignored
            Batches have no labels; the argument is there for the conventions of scikit-learn.
        sample_weight : array of shape (m,), optional
            The masses of the points, non-negative; equal by default.

        Returns
        -------
        self

        """
        check_is_fitted(self)
        began = time.perf_counter()
        settings = settings_of(self, heaps=self._carried.heaps)
        try:
            rows = batch_rows(self, X, sample_weight, self._scaling)
        except (ValueError, TypeError) as error:
            if self.on_bad_batch == "raise":
                raise
            self.n_seen_ += 1
            warnings.warn(f"batch skipped, nothing was changed: {error}", AdaptationWarning, stacklevel=2)
            return self
        if len(settings.tracks) != len(self._carried.now):
            raise ValueError("map and motion cannot change after fit: what is carried belongs to other ones")
        tracker = self._tracker
        if tracker.transport is not None:
            tracker = replace(tracker, transport=replace(tracker.transport, settings=settings))
        with single_blas():  # the solver has threads of its own, and all else is small
            told = tracker.advance(self._state, rows.points, rows.weights)
            record = self._record(told, rows, began)
            received = self._received_of(told, rows.points)
        # From here on nothing fails: the state changes as a whole.
        self._tracker, self._state, self._voices = tracker, told.state, told.voices
        if told.transported is not None:
            self._sample = told.transported.sample
        self.estimator_ = self._answering()
        self.history_, self.n_seen_ = self.history_.extended(record), self.n_seen_ + 1
        self._received = among(rows.held, received)
        if record.warning:
            warnings.warn(f"step {record.step}: {record.warning}", AdaptationWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predicts the targets of present points, that is, points distributed like the last batch.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Missing numbers are replaced by the present median of the feature.

        Returns
        -------
        array of shape (m,)

        """
        check_is_fitted(self)
        if not self._tracker.panels:
            with single_blas():
                predicted: npt.NDArray[Any] = self.estimator_.predict(self._scaling(self._complete(X)))
            return self._decode(predicted)
        return self._decode(self._chosen(self._told(X)))

    def explain(self) -> str:
        """Describes in one sentence what has moved since the source.

        Shifts of features are in units of their standard deviations on the source. A change of the shares of classes is
        described, too, and how much of the last batch was missing.

        See the example of the class.

        Returns
        -------
        str

        """
        check_is_fitted(self)
        if not len(self.history_):
            return "no batch has come since the source"
        names, classes = list(self.columns_.encoded_names), getattr(self, "classes_", [])
        return in_words(self._voices[0].fit.explain(), names, classes) + gaps_in_words(self.history_[-1])

    def transform(self, X: Any) -> Double:
        """Maps points from the source to the present.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Points distributed like the source. Missing numbers stay missing.

        Returns
        -------
        array of shape (m, D)
            D = d for numbers; a category has a column of its own (`get_feature_names_out`).

        Raises
        ------
        ValueError
            With `source="renewed"`, which does not keep the points of the source.

        """
        check_is_fitted(self)
        return self._carry(X, self._first("transform"), self._scaling(self.images_))

    def inverse_transform(self, X: Any) -> Double:
        """Maps present points back to the source.

        So a model that was trained on the source, and cannot be trained again, can predict present points.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Points distributed like the last batch. Missing numbers stay missing.

        Returns
        -------
        array of shape (m, D)
            D = d for numbers; a category has a column of its own (`get_feature_names_out`).

        Raises
        ------
        ValueError
            With `source="renewed"`, which does not keep the points of the source.

        """
        check_is_fitted(self)
        return self._carry(X, self._scaling(self.images_), self._first("inverse_transform"))

    @property
    def images_(self) -> Double:
        """The present positions of the source points (n×D), in the units of the data.

        See the example of the class.
        """
        check_is_fitted(self)
        if self._voices:
            return self._voices[0].fit.images()
        return self._scaling.inverse(self._carried.images)

    @property
    def image_targets_(self) -> npt.NDArray[Any]:
        """The targets of the points in `images_` (n).

        See the example of the class.
        """
        check_is_fitted(self)
        return self._decode(self._carried.targets)

    @property
    def n_steps_(self) -> int:
        """The number of batches adapted to since `fit`, without skipped ones.

        See the example of the class.
        """
        return self.history_.steps

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")

    # Details.

    def _told(self, X: Any) -> Double:
        """Probabilities of the classes or values, by all hypotheses that answer."""
        with single_blas():
            return mixed(self._voices, self._complete(X))

    def _received_of(self, told: Told, batch: Double) -> Double:
        """What the points of a batch received: from the plan where that answers, else what was said of them."""
        if told.transported is not None and told.voices[0].fit is told.transported:
            return told.transported.received
        return told.of_batch(batch)

    def _carry(self, X: Any, here: Double, there: Double) -> Double:
        """Points carried as the source is from here to there, with what is usual here for missing values meanwhile."""
        points = self._scaling(rows_with_gaps(self, X).points)
        missing = np.isnan(points)
        carried = carry_points(np.where(missing, np.median(here, axis=0), points), here, there, self._carried.weights)
        return np.where(missing, np.nan, self._scaling.inverse(carried))

    def _first(self, method: str) -> Double:
        """Where the carried points began."""
        first = self._scaling(self._source)
        if len(first) != len(self._carried.source) or not np.array_equal(first, self._carried.source):
            raise ValueError(f'{method} needs the source\'s own points, which source="renewed" gives up')
        return first

    def _record(self, told: Told, rows: Batch, began: float) -> Record:
        seconds, size, gaps = time.perf_counter() - began, rows.held.size, rows.gaps
        if isinstance(told.voices[0].hypothesis, TransportedSource):
            record = of_transport(told, self.history_, size, self._classes, self.tol, seconds)
        else:
            names = np.array(self.columns_.encoded_names, dtype=object)
            record = of_sensors(told, self.history_, size, names, getattr(self, "classes_", None), seconds)
        warning = "; ".join(filter(None, [record.warning, gaps.warning]))
        return replace(record, missing=gaps.missing, unseen=gaps.unseen, warning=warning)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags
