"""Estimators that stay right while the data drifts: a labelled source once, then unlabelled batches for ever."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from driftway.adaptation.carried import Carried
from driftway.adaptation.carrying import carry_points
from driftway.adaptation.clusters import are_clusters
from driftway.adaptation.history import History, Record, signal
from driftway.adaptation.labels import ByClassifier, ByPlan, ByTrack, Labels, Sample, received_by
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap, MapModel
from driftway.adaptation.marginals import Balanced, Estimated, Marginals
from driftway.adaptation.motion import AffineMotion, MotionModel, Rest
from driftway.adaptation.persistence import describe, read, restore, write
from driftway.adaptation.renewal import Kept, Renewal, Renewed
from driftway.adaptation.scaling import Scaling, fit_scaling
from driftway.adaptation.tracking import SHIFTED, Settings, Step, advance
from driftway.adaptation.tracks import Track, TransportTrack, default_tracks
from driftway.adaptation.transport import Transport
from driftway.validation import flag, one_of, positive_integer, real_number

Double = npt.NDArray[np.float64]

MAPS = {"barycentric": BarycentricMap, "affine": AffineMap, "kernel": KernelMap}
MOTIONS = {"affine": AffineMotion, "classes": partial(AffineMotion, 0.1, by_class=True)}
LABELS = {"auto": ByTrack, "classifier": ByClassifier, "plan": ByPlan}
MARGINALS = {"balanced": Balanced, "estimated": Estimated}
RENEWALS = {"kept": Kept, "renewed": Renewed}
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
        self._settings(clusters=False)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        targets, groups = self._encode(y)
        scaling = fit_scaling(self.scale, X, groups if self._groups_matter else None, weights)
        clusters = self._may_follow_clusters() and are_clusters(scaling(X), groups, weights)
        tracks = self._tracks(clusters)
        carried = Carried.first(scaling(X), targets, groups, clusters, weights, len(tracks))
        self._source, self._scaling, self._carried = X, scaling, carried
        self.history_, self.n_seen_ = History(), 0
        self._sample = Sample(carried.source, targets, carried.weights)
        self.estimator_ = self._trained(self._sample)
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
        settings = self._settings(clusters=self._carried.clusters)
        try:
            batch, b = self._check_batch(X, sample_weight)
        except (ValueError, TypeError) as error:
            if self.on_bad_batch == "raise":
                raise
            self.n_seen_ += 1
            warnings.warn(f"batch skipped, nothing was changed: {error}", AdaptationWarning, stacklevel=2)
            return self
        carried = self._carried
        step = advance(carried, batch, b, settings)
        received = received_by(step, b, self._classes)
        renewed = _chosen("source", self.source, RENEWALS, Renewal).carry(step, batch, b, received)
        sample = _chosen("labels", self.labels, LABELS, Labels).sample(step, batch, b, received)
        if not step.moves:
            sample = Sample(carried.source, carried.targets, carried.weights)
        record, trained = self._record(step, batch, b, settings), self._trained(sample)
        # From here on nothing fails: the state changes as a whole.
        self._carried, self._sample, self.estimator_ = renewed, sample, trained
        self.history_, self.n_seen_ = self.history_.extended(record), self.n_seen_ + 1
        self._received = received
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
        carried, sample = self._carried, self._sample
        arrays = {f"carried.{field.name}": np.asarray(getattr(carried, field.name)) for field in fields(Carried)}
        arrays |= {f"sample.{name}": value for name, value in zip(Sample._fields, sample, strict=True)}
        arrays |= {"source": self._source, "centre": self._scaling.centre, "unit": self._scaling.unit}
        arrays |= {name: getattr(self, name) for name in ("_received", "classes_") if hasattr(self, name)}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names_in_"] = self.feature_names_in_.astype(str)
        if arrays.get("classes_", sample.points).dtype.hasobject:
            arrays["classes_"] = _as_strings(self.classes_)
        header = {
            "kind": type(self).__name__,
            "parameters": {name: describe(name, value) for name, value in self.get_params(deep=False).items()},
            "history": self.history_.to_dict(),
            "seen": self.n_seen_,
            "notes": dict(notes or {}),
        }
        write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **given: Any) -> Self:
        """The estimator of a file that `save` wrote; parameters that were objects of your own are given by name."""
        header, _ = read(path)
        if header["kind"] != cls.__name__:
            raise ValueError(f"{path} holds a {header['kind']}, not a {cls.__name__}")
        loaded = cls(**{name: restore(name, value, given) for name, value in header["parameters"].items()})
        loaded.restore(path)
        return loaded

    def restore(self, path: str | os.PathLike[str]) -> Self:
        """Takes the state of a file that `save` wrote, and keeps its own parameters."""
        header, arrays = read(path)
        if header["kind"] != type(self).__name__:
            raise ValueError(f"{path} holds a {header['kind']}, not a {type(self).__name__}")
        try:
            values: dict[str, Any] = {field.name: arrays[f"carried.{field.name}"] for field in fields(Carried)}
            scalars: dict[str, Any] = {"still": float, "clusters": bool, "drifting": bool, "chosen": int, "steps": int}
            values |= {name: kind(values[name]) for name, kind in scalars.items()}
            carried = Carried(**values)
            sample = Sample(*(arrays[f"sample.{name}"] for name in Sample._fields))
            history = History.from_dict(header["history"])
            source, scaling = arrays["source"], Scaling(arrays["centre"], arrays["unit"])
            seen = int(header["seen"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        if len(carried.now) != len(self._tracks(carried.clusters)):
            raise ValueError(f"{path} was saved with other settings of map and motion than this estimator has")
        self._source, self._scaling, self._carried = source, scaling, carried
        self.history_, self.n_seen_, self.n_features_in_ = history, seen, source.shape[1]
        for name in ("_received", "classes_"):
            if name in arrays:
                setattr(self, name, arrays[name])
        if "feature_names_in_" in arrays:
            self.feature_names_in_ = arrays["feature_names_in_"].astype(object)
        self._sample, self.estimator_ = sample, self._trained(sample)
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

    def _settings(self, clusters: bool) -> Settings:
        one_of("cost", self.cost, ("sequential", "static"))
        if self.scale is not None:
            one_of("scale", self.scale, ("auto", "common", "features"))
        one_of("on_bad_batch", self.on_bad_batch, ("raise", "skip"))
        flag("clusters", self.clusters)
        _chosen("labels", self.labels, LABELS, Labels)
        _chosen("source", self.source, RENEWALS, Renewal)
        transport = Transport(
            marginals=_chosen("marginals", self.marginals, MARGINALS, Marginals),
            metric=self.metric,
            static=self.cost == "static",
            epsilon=real_number("epsilon", self.epsilon, minimum=0.0, strict=True),
            relative=flag("relative_epsilon", self.relative_epsilon),
            time_weight=real_number("time_weight", self.time_weight, minimum=0.0),
            label_weight=real_number("label_weight", self.label_weight, minimum=0.0) if self._groups_matter else 0.0,
            tol=real_number("tol", self.tol, minimum=0.0, strict=True),
            max_iter=positive_integer("solver_iterations", self.solver_iterations),
            engine=self.engine,
        )
        return Settings(self._tracks(clusters), flag("stay", self.stay), transport)

    def _tracks(self, clusters: bool) -> tuple[Track, ...]:
        """The hypotheses of motion: the default ones, or the one that was asked for."""
        auto = self._automatic()
        if all(auto):
            return default_tracks(clusters)
        if any(auto):
            name, other = ("map", "motion") if auto[0] else ("motion", "map")
            raise ValueError(f'{name}="auto" goes with {other}="auto" only, got {other}={getattr(self, other)!r}')
        model = _chosen("map", self.map, MAPS, MapModel)
        motion = Rest() if self.motion is None else _chosen("motion", self.motion, MOTIONS, MotionModel)
        return (TransportTrack("given", model, motion, keeps_shape=not isinstance(model, BarycentricMap)),)

    def _automatic(self) -> list[bool]:
        return [isinstance(value, str) and value == "auto" for value in (self.map, self.motion)]

    def _may_follow_clusters(self) -> bool:
        kept = isinstance(_chosen("source", self.source, RENEWALS, Renewal), Kept)
        return self.clusters and self._groups_matter and kept and self.cost == "sequential" and all(self._automatic())

    def _check_batch(self, X: Any, sample_weight: Any) -> tuple[Double, Double]:
        batch = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        b = _check_sample_weight(sample_weight, batch, dtype=np.float64, ensure_non_negative=True)
        if not b.sum() > 0:
            raise ValueError("sample_weight must have a positive sum, got only zeros")
        if len(batch) < 2 or not np.ptp(batch[b > 0], axis=0).any():
            raise ValueError(f"a batch must have at least two different points, got {len(batch)} that are all equal")
        return self._scaling(batch), b / b.sum()

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
        return estimator.fit(sample.points, sample.targets, **extra)

    def _record(self, step: Step, batch: Double, b: Double, settings: Settings) -> Record:
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
            size=len(batch),
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


def _as_strings(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels held as objects, if all are strings."""
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("labels that are neither numbers nor strings are not saved")
    return classes.astype(str)


def _chosen(name: str, value: Any, choices: dict[str, Any], protocol: type) -> Any:
    """The object of this name, or the user's own."""
    if isinstance(value, str):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))} or an object, got {value!r}")
        return choices[value]()
    if isinstance(value, type) or not isinstance(value, protocol):
        raise TypeError(f"{name} must be one of {', '.join(map(repr, choices))} or an object, got {value!r}")
    return value


class ContinuousTransportClassifier(ClassifierMixin, ContinuousTransport):
    """A classifier for drifting data: `fit` a labelled source, then `partial_fit` unlabelled batches for ever.

    Every batch, the source is transported from where it is expected to be to the batch, and a classifier is trained
    on the source so carried. By default several hypotheses of motion compete and the batches judge them
    (`history_["track"]` says which was believed). The method of the paper is::

        ContinuousTransportClassifier(
            metric="euclidean", epsilon=0.4, relative_epsilon=False, scale=None, time_weight=0.3,
            map="barycentric", motion=None, labels="classifier", stay=False,
        )

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Trained after every step; 1-nearest-neighbour by default, as in the paper.
    cost : "sequential" or "static"
        Transport from where the source was carried to, or always from where it began.
    metric : see `PointCloudCost`
    epsilon : float
        The strength of the entropy, in units of the mean cost unless `relative_epsilon=False`.
    relative_epsilon : bool
    time_weight : float
        η_t of the paper, in the `mean` normalisation: the images stay near where they are expected.
    label_weight : float
        η_c of the paper: the group lasso keeps classes apart; in units of the mean cost as `epsilon` is.
    map : "auto", "barycentric", "affine", "kernel" or a `MapModel`
        How images are made of the raw barycentric ones.
    motion : "auto", None, "affine", "classes" or a `MotionModel`
        Where the source is expected next.
    labels : "auto", "classifier", "plan" or a `Labels`
        What the estimator is trained on: the mapped source, or the batch with labels read off the plan.
    source : "kept", "renewed" or a `Renewal`
        Whether the source keeps its points, or the labelled batch takes its place.
    marginals : "balanced", "estimated" or a `Marginals`
        Whether classes have the same masses in every batch as in the source.
    clusters : bool
        Whether classes that are clusters, as the labelled data tell, may be followed as Gaussians with free masses;
        only where map and motion are "auto", the cost is sequential and the source kept.
    scale : "auto", "common", "features" or None
        Units of the features: one for all, one for each, or as they are. "auto" asks the labelled data.
    stay : bool
        Whether to stay with the classifier of the source as long as it expects the batches better than any track.
    on_bad_batch : "raise" or "skip"
    tol, solver_iterations, engine : `tol`, `max_iter` and `engine` of `driftway.solve`

    Attributes
    ----------
    classes_ : the class labels
    batch_proba_ : of the last batch, the shares of the classes that every point received (m×K)
    n_features_in_, feature_names_in_, estimator_, images_, history_, n_steps_ : as for all estimators here

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)) + [[-2, 0]], np.zeros(100, int)
    >>> X[50:], y[50:] = X[50:] + [4, 0], 1
    >>> model = ContinuousTransportClassifier().fit(X, y)
    >>> for angle in np.linspace(0.3, 3.0, 10):                       # the classes change sides
    ...     turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    ...     model = model.partial_fit(X @ turn)
    >>> bool(model.score(X @ turn, y) > 0.95)
    True

    """

    _groups_matter = True

    def predict_proba(self, X: Any) -> Double:
        """The probabilities of the classes, by the estimator of the present."""
        check_is_fitted(self)
        found: Double = self.estimator_.predict_proba(self._scaled(X))
        proba = np.zeros((len(found), self.classes_.size))
        proba[:, self.estimator_.classes_.astype(np.intp)] = found
        return proba

    @property
    def batch_proba_(self) -> Double:
        """Of the last batch, the shares of the classes that every point received."""
        check_is_fitted(self)
        if not len(self.history_):
            raise AttributeError("batch_proba_ exists after the first partial_fit")
        return self._received

    @property
    def _classes(self) -> int | None:  # type: ignore[override]
        return int(self.classes_.size)

    def _encode(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        check_classification_targets(y)
        encoder = LabelEncoder().fit(y)
        self.classes_ = encoder.classes_
        groups = encoder.transform(y).astype(np.intp)
        return groups, groups

    def _decode(self, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.classes_[predicted.astype(np.intp)]

    def _default_estimator(self) -> Any:
        return KNeighborsClassifier(1)


class ContinuousTransportRegressor(RegressorMixin, ContinuousTransport):
    """The same for a regression: everything but the class terms.

    Parameters and attributes are those of `ContinuousTransportClassifier`; `label_weight` has no effect, and
    `batch_values_` are the mean values that the points of the last batch received.
    """

    @property
    def batch_values_(self) -> Double:
        """Of the last batch, the mean value that every point received."""
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

    def _default_estimator(self) -> Any:
        return KNeighborsRegressor(1)
