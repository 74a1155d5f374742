"""Estimators that stay right while the data drifts: a labelled source once, then unlabelled batches for ever."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from driftway.adaptation import saved
from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.carried import Carried
from driftway.adaptation.carrying import carry_points
from driftway.adaptation.clusters import are_clusters
from driftway.adaptation.history import History, Record, signal
from driftway.adaptation.labels import ByClassifier, Labels, Sample, received_by
from driftway.adaptation.maps import MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import MotionModel
from driftway.adaptation.parameters import labels_of, may_follow_clusters, renewal_of, settings_of, tracks_of
from driftway.adaptation.renewal import Renewal
from driftway.adaptation.scaling import fit_scaling
from driftway.adaptation.tracking import SHIFTED, Settings, Step, advance
from driftway.arrays.validation import points
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]

UNUSUAL = 5.0  # standard deviations of the log-energy beyond which a step warns


class AdaptationWarning(UserWarning):
    """A step of adaptation that looks unsafe."""


class ContinuousTransport(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What classifier and regressor share: the source is transported to batch after batch.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : as in scikit-learn
    estimator_ : the estimator of the present
    images_ : where the source points are now (n×d)
    image_targets_ : their targets (n)
    history_ : a `History`, one record per step
    n_steps_ : steps made
    n_seen_ : batches seen, with those that were skipped

    """

    _groups_matter = False
    _carried: Carried
    history_: History
    n_seen_: int

    def __init__(
        self,
        estimator: Any = None,
        *,
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
        """Starts from a labelled source.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Masses of the source points; equal by default.

        """
        with all_or_nothing(self):
            self._begin(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Adapts to one unlabelled batch.

        A bad batch raises, or with `on_bad_batch="skip"` warns, and leaves everything as it was.

        Parameters
        ----------
        X : array of shape (m, d)
        y : ignored, there for scikit-learn's sake: batches have no labels
        sample_weight : array of shape (m,), optional

        """
        check_is_fitted(self)
        settings = settings_of(self, clusters=self._carried.clusters, classes=self._groups_matter)
        try:
            batch, b, held = self._check_batch(X, sample_weight)
        except (ValueError, TypeError) as error:
            if self.on_bad_batch == "raise":
                raise
            self.n_seen_ += 1
            warnings.warn(f"batch skipped, nothing was changed: {error}", AdaptationWarning, stacklevel=2)
            return self
        carried = self._carried
        if len(settings.tracks) != len(carried.now):
            raise ValueError("map and motion cannot change after fit: what is carried belongs to other ones")
        with single_blas():  # the solver has threads of its own, and all else is small
            step = advance(carried, batch, b, settings)
            received = received_by(step, b, self._classes)
            renewed = renewal_of(self).carry(step, batch, b, received) if step.believed else step.carried
            sample = labels_of(self).sample(step, batch, b, received)
        if len(renewed.source) < len(carried.source) and not self._learns_from(renewed):
            renewed = step.carried
        if not step.moves:
            sample = Sample(carried.source, carried.targets, carried.weights)
        try:
            trained = self._trained(sample)
        except ValueError:
            if sample.points is not batch:
                raise
            # The batch may be too small to learn from, the source is not.
            sample = ByClassifier().sample(step, batch, b, received)
            trained = self._trained(sample)
        record = self._record(step, held.size, settings)
        # From here on nothing fails: the state changes as a whole.
        self._carried, self._sample, self.estimator_ = renewed, sample, trained
        self.history_, self.n_seen_ = self.history_.extended(record), self.n_seen_ + 1
        self._received = _among(held, received)
        if record.warning:
            warnings.warn(f"step {record.step}: {record.warning}", AdaptationWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The targets of points of the present."""
        check_is_fitted(self)
        predicted: npt.NDArray[Any] = self.estimator_.predict(self._scaled(X))
        return self._decode(predicted)

    def transform(self, X: Any) -> Double:
        """Carries further points of the source's distribution to the present."""
        check_is_fitted(self)
        points, carried, first = self._scaled(X), self._carried, self._first("transform")
        return self._scaling.inverse(carry_points(points, first, carried.images, carried.weights))

    def inverse_transform(self, X: Any) -> Double:
        """Carries points of the present back to where the source began."""
        check_is_fitted(self)
        points, carried, first = self._scaled(X), self._carried, self._first("inverse_transform")
        return self._scaling.inverse(carry_points(points, carried.images, first, carried.weights))

    @property
    def images_(self) -> Double:
        """Where the carried points are now, in the units of the data."""
        check_is_fitted(self)
        return self._scaling.inverse(self._carried.images)

    @property
    def image_targets_(self) -> npt.NDArray[Any]:
        """The targets of the carried points."""
        check_is_fitted(self)
        return self._decode(self._carried.targets)

    @property
    def n_steps_(self) -> int:
        """Steps made since the source."""
        return len(self.history_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Writes the state to one file, without pickle and as a whole: a killed process leaves the old one.

        Parameters
        ----------
        path : the file
        notes : mapping that JSON can hold, optional
            Kept in the same file, so that they are always those of this state; `read_notes(path)` gives them back.

        """
        check_is_fitted(self)
        saved.save(self, path, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **given: Any) -> Self:
        """The estimator of a file that `save` wrote; parameters that were objects of your own are given by name."""
        return cls(**saved.parameters_in(path, cls.__name__, given)).restore(path)

    def restore(self, path: str | os.PathLike[str]) -> Self:
        """Takes the state of a file that `save` wrote, and keeps its own parameters."""
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

    # Details.

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings_of(self, clusters=False, classes=self._groups_matter)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        X = points("X", X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        targets, groups = self._encode(y)
        scaling = fit_scaling(self.scale, X, groups if self._groups_matter else None, weights)
        clusters = self._groups_matter and may_follow_clusters(self) and are_clusters(scaling(X), groups, weights)
        tracks = tracks_of(self, clusters)
        carried = Carried.first(scaling(X), targets, groups, clusters, weights, len(tracks))
        self._source, self._scaling, self._carried = X, scaling, carried
        self.history_, self.n_seen_ = History(), 0
        self._sample = Sample(carried.source, targets, carried.weights)
        self.estimator_ = self._trained(self._sample)

    def _learns_from(self, carried: Carried) -> bool:
        """Whether the points that would be carried on are enough to learn from, as later steps have to."""
        try:
            self._trained(Sample(carried.source, carried.targets, carried.weights))
        except ValueError:
            return False
        return True

    def _check_batch(self, X: Any, sample_weight: Any) -> tuple[Double, Double, npt.NDArray[np.bool_]]:
        """The scaled points that have weight, their weights, and which of the batch they are."""
        batch = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        b = _check_sample_weight(sample_weight, batch, dtype=np.float64, ensure_non_negative=True)
        if not b.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        if len(batch) < 2 or not np.ptp(batch[b > 0], axis=0).any():
            raise ValueError(f"a batch must have at least two different points, got {len(batch)} that are all equal")
        held = b > 0
        with np.errstate(over="ignore"):
            scaled = points("X", self._scaling(batch[held]))
        return scaled, b[held] / b.sum(), held

    def _scaled(self, X: Any) -> Double:
        return self._scaling(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    def _first(self, method: str) -> Double:
        """Where the carried points began."""
        first = self._scaling(self._source)
        if len(first) != len(self._carried.source) or not np.array_equal(first, self._carried.source):
            raise ValueError(f'{method} needs the source\'s own points, which source="renewed" gives up')
        return first

    def _trained(self, sample: Sample) -> Any:
        estimator = self._default_estimator() if self.estimator is None else clone(self.estimator)
        extra = {}
        if has_fit_parameter(estimator, "sample_weight") and np.ptp(sample.weights) > 0:
            extra["sample_weight"] = sample.weights * (len(sample.weights) / sample.weights.sum())
        trained = estimator.fit(sample.points, sample.targets, **extra)
        trained.predict(sample.points[:1])  # some find only now that they have too few points
        return trained

    def _record(self, step: Step, size: int, settings: Settings) -> Record:
        solution, unusual, warning = step.solution, signal(self.history_, step.energy), []
        shift = np.nan if self._classes is None else step.class_shift
        if not solution.converged:
            warning.append(f"the plan is not solved to tol={settings.transport.tol:g} (gap {solution.gap:.1e})")
        if unusual > UNUSUAL:
            warning.append(f"the batch is {unusual:.0f} standard deviations further from what was expected than usual")
        if step.denies(SHIFTED):
            warning.append(
                f"about {100 * shift:.0f} % of the mass seems to have changed class, which balanced marginals deny; "
                'consider marginals="estimated"'
            )
        return Record(
            step=step.carried.steps,
            size=size,
            track=step.track.name,
            answer="adapted" if step.moves else "source",
            transport=step.transport,
            displacement=step.displacement,
            energy=step.energy,
            signal=unusual,
            drift=step.drift,
            class_shift=shift,
            gap=solution.gap,
            converged=solution.converged,
            seconds=step.seconds,
            warning="; ".join(warning),
        )


def _among(held: npt.NDArray[np.bool_], received: Double) -> Double:
    """What points received among those without weight, who received nothing: equal shares, or no value."""
    if held.all():
        return received
    nothing = np.nan if received.ndim == 1 else 1.0 / received.shape[1]
    out = np.full((held.size, *received.shape[1:]), nothing)
    out[held] = received
    return out
