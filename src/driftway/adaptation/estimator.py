"""Estimators that stay right while the data drifts: a labelled source once, then unlabelled batches for ever."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from driftway.adaptation import saved
from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.carried import Carried
from driftway.adaptation.carrying import carry_points
from driftway.adaptation.heaps import Heaps
from driftway.adaptation.history import History, Record
from driftway.adaptation.hypotheses.transport import TransportedSource
from driftway.adaptation.labels import Labels, Sample
from driftway.adaptation.maps import MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import MotionModel
from driftway.adaptation.recording import of_sensors, of_transport
from driftway.adaptation.renewal import Renewal
from driftway.adaptation.resolution import (
    hypotheses_of,
    labels_of,
    may_follow_clusters,
    renewal_of,
    settings_of,
    tracks_of,
)
from driftway.adaptation.scaling import fit_scaling
from driftway.adaptation.source.answers import fitted_clone
from driftway.adaptation.source.view import source_views
from driftway.adaptation.tracker import Panel, Told, Tracker, TrackerState, Voice, mixed
from driftway.adaptation.tracker_arrays import unpacked
from driftway.adaptation.tracking import Settings
from driftway.adaptation.words import in_words
from driftway.arrays.parameters import Parameter
from driftway.arrays.validation import points
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]


class AdaptationWarning(UserWarning):
    """Warning that a step of adaptation looks unsafe; its text says why.

    It is issued by `partial_fit`, for example if a batch is unlike everything seen before, and by a batch that is
    skipped with `on_bad_batch="skip"`. The same text is in the column `warning` of `history_`.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from driftway import AdaptationWarning, ContinuousTransportClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    >>> model = ContinuousTransportClassifier(None, on_bad_batch="skip").fit(X, y)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", AdaptationWarning)
    ...     model = model.partial_fit(np.zeros((5, 2)))  # all points are equal
    >>> [str(warning.message).split(":")[0] for warning in caught]
    ['batch skipped, nothing was changed']

    """


class ContinuousTransport(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What classifier and regressor share: hypotheses of the drift are fitted to batch after batch, and answer.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : as in scikit-learn
    estimator_ : the estimator that answers: the source's own, or the one trained on the transported source
    images_ : where the source points are now (n×d)
    image_targets_ : their targets (n)
    history_ : a `History`, one record per step
    n_steps_ : steps made
    n_seen_ : batches seen, with those that were skipped

    """

    _parameters: ClassVar[tuple[Parameter, ...]]
    _groups_matter = False
    _tracker: Tracker
    _state: TrackerState
    _voices: tuple[Voice, ...]
    history_: History
    n_seen_: int

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
        """Learns from a labelled source; forgets everything learned before.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The source points. Rows with missing values (NaN) take no part; at least two rows must be left.
        y : array of shape (n,)
            Their targets: class labels, or numbers for a regression.
        sample_weight : array of shape (n,), optional
            Non-negative masses of the source points; equal by default.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data cannot be used, or a parameter has no such value. The estimator stays as it was.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat(["low", "high"], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.where(y == "high", 5, 0)[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)  # None: one nearest neighbour
        >>> model.classes_.tolist(), model.n_steps_
        (['high', 'low'], 0)

        """
        with all_or_nothing(self):
            self._begin(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Adapts to one unlabelled batch.

        Rows with missing values take no part. A bad batch raises, or with `on_bad_batch="skip"` warns, and leaves
        everything as it was. A batch that no hypothesis explains is answered as well as can be and changes no state; a
        second one is believed.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The batch, with the columns of the source.
        y : ignored
            It is there for scikit-learn's sake: batches have no labels.
        sample_weight : array of shape (m,), optional
            Non-negative masses of the points; equal by default.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat([0, 1], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 5 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> for shift in (1.5, 3.0, 4.5):  # until one class is nearly where the other was
        ...     model = model.partial_fit(X + shift)
        >>> model.n_steps_, bool(model.score(X + 4.5, y) > 0.95)
        (3, True)

        """
        check_is_fitted(self)
        began = time.perf_counter()
        settings = settings_of(self, heaps=self._carried.heaps)
        try:
            batch, b, held = self._check_batch(X, sample_weight)
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
            told = tracker.advance(self._state, batch, b)
            record = self._record(told, held.size, began)
            received = self._received_of(told, batch)
        # From here on nothing fails: the state changes as a whole.
        self._tracker, self._state, self._voices = tracker, told.state, told.voices
        if told.transported is not None:
            self._sample = told.transported.sample
        self.estimator_ = self._answering()
        self.history_, self.n_seen_ = self.history_.extended(record), self.n_seen_ + 1
        self._received = _among(held, received)
        if record.warning:
            warnings.warn(f"step {record.step}: {record.warning}", AdaptationWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The predicted targets of points of the present, that is, distributed as the last batch was.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Missing values (NaN) are replaced by the present mean of the feature.

        Returns
        -------
        array of shape (m,)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat(["a", "b"], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.where(y == "b", 5, 0)[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> model.predict([[0.0, 0.0], [5.0, np.nan]]).tolist()
        ['a', 'b']

        """
        check_is_fitted(self)
        if not self._tracker.panels:
            predicted: npt.NDArray[Any] = self.estimator_.predict(self._scaling(self._complete(X)))
            return self._decode(predicted)
        return self._decode(self._chosen(self._told(X)))

    def explain(self) -> str:
        """Says in one sentence what moved since the source.

        Shifts of features are in units of their standard deviations on the source. If the shares of classes changed, it
        says that, too.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat([0, 1], 100)
        >>> X = np.random.default_rng(0).normal(size=(200, 2)) + 5 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> model.explain()
        'no batch has come since the source'
        >>> for shift in (1.0, 2.0, 3.0):  # the second sensor drifts
        ...     model = model.partial_fit(X + [0.0, shift])
        >>> model.explain()
        'since the source, feature 1 rose by 1.1 deviations'

        """
        check_is_fitted(self)
        if not len(self.history_):
            return "no batch has come since the source"
        return in_words(self._voices[0].fit.explain(), list(self._names()), getattr(self, "classes_", []))

    def transform(self, X: Any) -> Double:
        """Carries points from where the source began to the present.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Points distributed as the source was. Missing values stay missing.

        Returns
        -------
        array of shape (m, d)

        Raises
        ------
        ValueError
            With `source="renewed"`, which does not keep the points of the source.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat([0, 1], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 5 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> for shift in (1.5, 3.0):
        ...     model = model.partial_fit(X + shift)
        >>> bool(abs(model.transform(X) - (X + 3.0)).mean() < 0.3)
        True

        """
        check_is_fitted(self)
        return self._carry(X, self._first("transform"), self._scaling(self.images_))

    def inverse_transform(self, X: Any) -> Double:
        """Carries points of the present back to where the source began.

        A model that was trained on the source, and that cannot be trained again, can thus be used on the points of the
        present.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Points distributed as the last batch was. Missing values stay missing.

        Returns
        -------
        array of shape (m, d)

        Raises
        ------
        ValueError
            With `source="renewed"`, which does not keep the points of the source.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat([0, 1], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 5 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> for shift in (1.5, 3.0):
        ...     model = model.partial_fit(X + shift)
        >>> bool(abs(model.inverse_transform(X + 3.0) - X).mean() < 0.3)
        True

        """
        check_is_fitted(self)
        return self._carry(X, self._scaling(self.images_), self._first("inverse_transform"))

    @property
    def images_(self) -> Double:
        """Where the points of the source are now (n×d), in the units of the data.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat([0, 1], 30)
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 5 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> bool(np.allclose(model.images_, X))
        True
        >>> model = model.partial_fit(X + 1.5)
        >>> bool((model.images_ > X).all())
        True

        """
        check_is_fitted(self)
        if self._voices:
            return self._voices[0].fit.images()
        return self._scaling.inverse(self._carried.images)

    @property
    def image_targets_(self) -> npt.NDArray[Any]:
        """The targets of the points in `images_` (n).

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> y = np.repeat(["a", "b"], 3)
        >>> X = np.arange(6.0)[:, None]
        >>> ContinuousTransportClassifier(estimator=None).fit(X, y).image_targets_.tolist()
        ['a', 'a', 'a', 'b', 'b', 'b']

        """
        check_is_fitted(self)
        return self._decode(self._carried.targets)

    @property
    def n_steps_(self) -> int:
        """The number of batches that were adapted to since `fit`, without those that were skipped.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> model.n_steps_, model.partial_fit(X).n_steps_
        (0, 1)

        """
        return len(self.history_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Saves parameters and state to one file.

        The file contains no pickles. It is replaced as a whole: a process that is killed while it saves leaves the old
        file.

        Parameters
        ----------
        path : str or path
            The file.
        notes : mapping that JSON can hold, optional
            Kept in the same file, so that they always belong to this state;
            `driftway.adaptation.persistence.read_notes(path)` returns them.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.npz")
        ...     same = ContinuousTransportClassifier.load(Path(folder) / "model.npz")
        >>> bool((same.predict(X) == model.predict(X)).all())
        True

        """
        check_is_fitted(self)
        saved.save(self, path, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Iterable[type] = (), **given: Any) -> Self:
        """The estimator of a file that `save` wrote, with its parameters and its state.

        Parameters
        ----------
        path : str or path
            The file.
        trusted : classes of scikit-learn, optional
            That the file may name beside those of `driftway.adaptation.permitted.ESTIMATORS`.
        **given : parameters of the estimator
            Parameters that are objects, such as an estimator of your own, are not in the file and must be given again.

        Returns
        -------
        estimator

        Raises
        ------
        StateError
            A ValueError that names the file, if it is damaged, foreign, or names what it may not.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from driftway import ContinuousTransportClassifier
        >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
        >>> model = ContinuousTransportClassifier(LogisticRegression()).fit(X, y).partial_fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.npz")
        ...     same = ContinuousTransportClassifier.load(Path(folder) / "model.npz", estimator=LogisticRegression())
        >>> same.n_steps_, bool((same.predict(X) == model.predict(X)).all())
        (1, True)

        """
        return saved.loaded(cls, path, tuple(trusted), given)

    def restore(self, path: str | os.PathLike[str]) -> Self:
        """Takes the state of a file that `save` wrote, and keeps the parameters of this estimator.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        self

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X).save(Path(folder) / "model.npz")
        ...     lenient = ContinuousTransportClassifier(estimator=None, on_bad_batch="skip")
        ...     lenient = lenient.restore(Path(folder) / "model.npz")
        >>> lenient.n_steps_, lenient.on_bad_batch
        (1, 'skip')

        """
        settings_of(self, heaps=None)
        saved.take_up(self, path)
        return self

    # What the two estimators do differently.

    _classes: int | None = None

    def _encode(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        raise NotImplementedError

    def _decode(self, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _chosen(self, told: Double) -> npt.NDArray[Any]:
        """Targets from probabilities, or the values themselves."""
        raise NotImplementedError

    def _automatic_estimator(self) -> Any:
        raise NotImplementedError

    def _bins(self, targets: npt.NDArray[Any], groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Groups of the source whose mix may change: the classes, or for a regression parts of the targets' range."""
        return groups

    # Details.

    @property
    def _carried(self) -> Carried:
        """What the transported source carries, or the source alone where nothing is transported."""
        carried: Carried = self._state.carried
        return carried

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings_of(self, heaps=None)
        kinds = hypotheses_of(self)
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_min_samples=2, ensure_all_finite="allow-nan"
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        held = (weights > 0) & ~np.isnan(X).any(axis=1)
        if held.sum() < 2:
            raise ValueError(f"X must have at least two rows without missing values, got {held.sum()}")
        X, y, weights = points("X", X[held]), y[held], weights[held]
        targets, groups = self._encode(y)
        with single_blas():  # as later steps have it, so that all bits are the same after a restart
            scaling = fit_scaling(self.scale, X, groups if self._groups_matter else None, weights)
            self._source, self._scaling = X, scaling
            carried = self._at_rest(targets, groups, weights / weights.sum(), kinds)
            self._sample = Sample(carried.source, targets, carried.weights)
            self._tracker = self._hypotheses(carried, kinds)
        self._state = self._tracker.start()
        self._voices = self._tracker.first_voices()
        self.history_, self.n_seen_ = History(), 0
        self.estimator_ = self._answering()

    def _at_rest(
        self, targets: npt.NDArray[Any], groups: npt.NDArray[np.intp], weights: Double, kinds: tuple[str, ...]
    ) -> Carried:
        """The source where it began."""
        places = self._scaling(self._source)
        may = self._groups_matter and may_follow_clusters(self) and "transport" in kinds
        heaps = Heaps.of(places, groups, weights, int(groups.max()) + 1) if may else None
        return Carried.first(places, targets, groups, heaps, weights, len(tracks_of(self, heaps)))

    def _hypotheses(self, carried: Carried, kinds: tuple[str, ...]) -> Tracker:
        """All hypotheses of the source; the transported one is trained as it is asked."""
        settings = settings_of(self, heaps=carried.heaps)
        panels: tuple[Panel, ...] = ()
        if "sensors" in kinds:
            groups = self._bins(carried.targets, carried.groups)
            estimator = self._automatic_estimator() if _is_auto(self.estimator) else self._own_estimator()
            views = source_views(self._source, carried.targets, groups, carried.weights, estimator, self._classes)
            panels = tuple(Panel.of(view, self.stay) for view in views)
        return Tracker(
            panels, self._transport(carried, settings) if "transport" in kinds else None, carried, self._scaling.unit
        )

    def _resume(self, carried: Carried, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Takes up the state of saved arrays; what was learned from the source is learned again, to the same bits."""
        kinds = hypotheses_of(self)
        with single_blas():
            if "sensors" in kinds:  # the source is kept, and a state to return to
                if len(carried.groups) != len(self._source) or np.unique(carried.groups).size != (self._classes or 1):
                    raise ValueError("what is carried is not of all points and classes of the source")
                carried = self._at_rest(carried.targets, carried.groups, carried.weights, kinds)
            self._tracker = self._hypotheses(carried, kinds)
        self._state, self._voices = unpacked(self._tracker, arrays, self._sample, self._classes)
        self.estimator_ = self._answering()

    def _transport(self, first: Carried, settings: Settings) -> TransportedSource:
        return TransportedSource(
            first, settings, labels_of(self), renewal_of(self), self._scaling, self._classes, self._trained
        )

    def _answering(self) -> Any:
        """The estimator that answers, loudest first."""
        if not self._voices:
            return self._trained(self._sample)
        return self._voices[0].fit.estimator

    def _told(self, X: Any) -> Double:
        """Probabilities of the classes or values, by all hypotheses that answer."""
        with single_blas():
            return mixed(self._voices, self._complete(X))

    def _received_of(self, told: Told, batch: Double) -> Double:
        """What the points of a batch received: from the plan where that answers, else what was said of them."""
        if told.transported is not None and told.voices[0].fit is told.transported:
            return told.transported.received
        return told.of_batch(batch)

    def _check_batch(self, X: Any, sample_weight: Any) -> tuple[Double, Double, npt.NDArray[np.bool_]]:
        """The points that take part, their weights, and which of the batch they are."""
        batch = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan")
        b = _check_sample_weight(sample_weight, batch, dtype=np.float64, ensure_non_negative=True)
        if not b.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        held = (b > 0) & ~np.isnan(batch).any(axis=1)
        batch, b = batch[held], b[held]
        if len(batch) < 2 or not np.ptp(batch, axis=0).any():
            raise ValueError(
                f"a batch must have at least two different points without missing values, got {len(batch)} "
                f"{'that are all equal' if len(batch) > 1 else 'of them'}"
            )
        with np.errstate(over="ignore"):
            points("X", self._scaling(batch))
        return batch, b / b.sum(), held

    def _complete(self, X: Any) -> Double:
        """Points of the present, with what is usual now in the place of missing values."""
        X = self._with_gaps(X)
        missing = np.isnan(X)
        return np.where(missing, self.images_.mean(axis=0), X) if missing.any() else X

    def _carry(self, X: Any, here: Double, there: Double) -> Double:
        """Points carried as the source is from here to there, with what is usual here for missing values meanwhile."""
        points = self._scaling(self._with_gaps(X))
        missing = np.isnan(points)
        carried = carry_points(np.where(missing, here.mean(axis=0), points), here, there, self._carried.weights)
        return np.where(missing, np.nan, self._scaling.inverse(carried))

    def _with_gaps(self, X: Any) -> Double:
        found: Double = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan")
        return found

    def _first(self, method: str) -> Double:
        """Where the carried points began."""
        first = self._scaling(self._source)
        if len(first) != len(self._carried.source) or not np.array_equal(first, self._carried.source):
            raise ValueError(f'{method} needs the source\'s own points, which source="renewed" gives up')
        return first

    def _own_estimator(self) -> Any:
        """The user's estimator, or the paper's."""
        return self._default_estimator() if self.estimator is None or _is_auto(self.estimator) else self.estimator

    def _trained(self, sample: Sample) -> Any:
        """The estimator of the transported source: trained at every step, so never the automatic one."""
        return fitted_clone(self._own_estimator(), sample.points, sample.targets, sample.weights)

    def _record(self, told: Told, size: int, began: float) -> Record:
        seconds = time.perf_counter() - began
        if isinstance(told.voices[0].hypothesis, TransportedSource):
            return of_transport(told, self.history_, size, self._classes, self.tol, seconds)
        return of_sensors(told, self.history_, size, self._names(), getattr(self, "classes_", None), seconds)

    def _names(self) -> npt.NDArray[Any]:
        named = [f"feature {j}" for j in range(self.n_features_in_)]
        return getattr(self, "feature_names_in_", np.array(named, dtype=object))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _among(held: npt.NDArray[np.bool_], received: Double) -> Double:
    """What points received among those without weight, who received nothing: equal shares, or no value."""
    if held.all():
        return received
    nothing = np.nan if received.ndim == 1 else 1.0 / received.shape[1]
    out = np.full((held.size, *received.shape[1:]), nothing)
    out[held] = received
    return out
