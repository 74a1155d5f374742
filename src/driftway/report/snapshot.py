"""Snapshots: one step of an adaptation as the report shows it, in values that JSON has."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from driftway.adaptation import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.report.projection import Projection, rounded

# The largest number of points that the page shows of a cloud.
MAX_POINTS = 300


@dataclass(frozen=True)
class Cloud:
    """Points as the report shows them: those of the mapped source, or of a batch.

    Attributes
    ----------
    coordinates : list of list of float
        One list per axis of the projection.
    targets : list of float
        Indices of classes, or values. For a batch, those predicted.
    confidence : list of float or None
        For a batch of a classifier, the probability of the predicted class for every point.
    truth : list or None
        The true targets if they are known: −1 for a class that the source does not have, None for an unknown one.
    size : int
        The number of points, of which at most 300 are shown.

    Examples
    --------
    >>> from driftway.report import Cloud
    >>> Cloud(coordinates=[[0.0, 1.0], [2.0, 3.0]], targets=[0, 1], confidence=[0.9, 0.8], truth=None, size=2).size
    2

    """

    coordinates: list[list[float]]
    targets: list[float]
    confidence: list[float] | None
    truth: list[float | None] | None
    size: int


@dataclass(frozen=True)
class Snapshot:
    """One step of an adaptation as the report shows it. It is made by `take_snapshot`.

    Attributes
    ----------
    key : str
        The name of the batch.
    record : dict
        The record of the step in `history_`; infinities and NaN are None.
    axes : list of str
        Descriptions of the coordinates of the clouds.
    source, batch : Cloud
        The mapped source with its targets, and the batch with the predicted ones.
    shares : list of float
        The shares of the classes among the predictions; for a regression, their 10, 50 and 90 % quantiles.
    usual : list of float
        The same for the source.
    confidence : float or None
        The mean confidence over the whole batch.
    score, baseline : float or None
        Accuracy (for a regression R²) of the estimator and of one without adaptation, if the truth is known.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.report import Projection, take_snapshot
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X)
    >>> shot = take_snapshot(model, "Monday", X, Projection.fit(X))
    >>> shot.key, shot.record["step"], shot.axes, shot.usual
    ('Monday', 1, ['feature 0', 'feature 1'], [0.5, 0.5])

    """

    key: str
    record: dict[str, Any]
    axes: list[str]
    source: Cloud
    batch: Cloud
    shares: list[float]
    usual: list[float]
    confidence: float | None
    score: float | None
    baseline: float | None

    def to_dict(self) -> dict[str, Any]:
        """Describes the snapshot by values that JSON has; `from_dict` reads them.

        Returns
        -------
        dict

        Examples
        --------
        >>> import json
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> from driftway.report import Projection, take_snapshot
        >>> y = np.repeat([0, 1], 20)
        >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X)
        >>> described = take_snapshot(model, "Monday", X, Projection.fit(X)).to_dict()
        >>> json.loads(json.dumps(described))["key"]
        'Monday'

        """
        return asdict(self)

    @classmethod
    def from_dict(cls, described: dict[str, Any]) -> Self:
        """Makes the snapshot that `to_dict` described.

        Parameters
        ----------
        described : dict
            A result of `to_dict`.

        Returns
        -------
        Snapshot

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> from driftway.report import Projection, Snapshot, take_snapshot
        >>> y = np.repeat([0, 1], 20)
        >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X)
        >>> shot = take_snapshot(model, "Monday", X, Projection.fit(X))
        >>> Snapshot.from_dict(shot.to_dict()) == shot
        True

        """
        clouds = {name: Cloud(**described[name]) for name in ("source", "batch")}
        return cls(**{**described, **clouds})


def take_snapshot(
    estimator: ContinuousTransportClassifier | ContinuousTransportRegressor,
    key: Any,
    batch: Any,
    projection: Projection,
    truth: Any = None,
    *,
    baseline: Any = None,
) -> Snapshot:
    """Takes a snapshot of the step that `estimator.partial_fit(batch)` has just made, for `write_report`.

    Parameters
    ----------
    estimator : ContinuousTransportClassifier or ContinuousTransportRegressor
    key : object
        The name of the batch; it is shown by `str`.
    batch : array or data frame of shape (m, d)
        The batch of the last `partial_fit`.
    projection : Projection
        The projection of the source, the same for all steps.
    truth : array of shape (m,), optional
        The true targets of the batch if they are known; None or NaN where one is not.
    baseline : fitted estimator, optional
        An estimator without adaptation, to compare scores with.

    Returns
    -------
    Snapshot

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.report import Projection, take_snapshot
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
    >>> model, projection, shots = ContinuousTransportClassifier(estimator=None).fit(X, y), Projection.fit(X), []
    >>> for day, shift in [("Monday", 1.0), ("Tuesday", 2.0)]:
    ...     model = model.partial_fit(X + shift)
    ...     shots.append(take_snapshot(model, day, X + shift, projection, truth=y))
    >>> [(shot.key, shot.score) for shot in shots]
    [('Monday', 1.0), ('Tuesday', 1.0)]

    """
    if not isinstance(estimator, ContinuousTransportClassifier | ContinuousTransportRegressor):
        raise TypeError(f"estimator must be one of driftway's continuous estimators, got {type(estimator).__name__}")
    points = estimator.encode(batch)
    if not len(estimator.history_) or len(points) != estimator.history_[-1].size:
        raise ValueError(f"batch must be that of the last partial_fit, got another one of {len(points)} points")
    carried, predicted = estimator._carried, estimator.predict(batch)
    wanted = None if truth is None else _truth(truth, predicted)
    view = _Classes(estimator) if isinstance(estimator, ContinuousTransportClassifier) else _Values()
    # Sorted by target, so that the shown points have the classes in their true proportions.
    order = np.argsort(carried.targets, kind="stable")
    source, some = order[_even(len(order))], _even(len(points))
    confidence = view.confidence(predicted)
    return Snapshot(
        key=str(key),
        record={name: _plain(value) for name, value in asdict(estimator.history_[-1]).items()},
        axes=list(projection.names),
        source=Cloud(
            projection(estimator.images_[source]), view.plain(carried.targets[source]), None, None, len(order)
        ),
        batch=Cloud(
            projection(points[some]),
            view.plain(view.encode(predicted[some])),
            None if confidence is None else rounded(confidence[some], 2),
            None if wanted is None else view.known(wanted[some]),
            len(points),
        ),
        shares=view.shares(view.encode(predicted), np.ones(len(points))),
        usual=view.shares(carried.targets, carried.weights),
        confidence=None if confidence is None else round(float(confidence.mean()), 4),
        score=None if wanted is None else view.score(wanted, predicted),
        baseline=None if wanted is None or baseline is None else view.score(wanted, baseline.predict(batch)),
    )


class _Classes:
    """The view of a classifier: targets are classes."""

    def __init__(self, estimator: ContinuousTransportClassifier) -> None:
        self._names, self._received = estimator.classes_, estimator.batch_proba_
        self._numbers = {name: number for number, name in enumerate(estimator.classes_.tolist())}

    def encode(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array([self._numbers.get(label, -1) for label in labels.tolist()], dtype=np.intp)

    def plain(self, targets: npt.NDArray[Any]) -> list[float]:
        return targets.astype(int).tolist()

    def known(self, truth: npt.NDArray[Any]) -> list[float | None]:
        return [None if _missing(label) else self._numbers.get(label, -1) for label in truth.tolist()]

    def confidence(self, predicted: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
        return self._received[np.arange(len(predicted)), self.encode(predicted)]

    def shares(self, targets: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> list[float]:
        masses = np.bincount(targets.astype(np.intp), weights, len(self._names))
        return rounded(masses / masses.sum(), 4)

    def score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float | None:
        right = [a == b for a, b in zip(truth.tolist(), predicted.tolist(), strict=True) if not _missing(a)]
        return round(sum(right) / len(right), 4) if right else None


class _Values:
    """The view of a regression: targets are numbers."""

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values.astype(np.float64)

    def plain(self, targets: npt.NDArray[Any]) -> list[float]:
        return [float(f"{value:.4g}") for value in targets]

    def known(self, truth: npt.NDArray[Any]) -> list[float | None]:
        return [None if _missing(value) else float(f"{value:.4g}") for value in truth.tolist()]

    def confidence(self, predicted: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
        return None

    def shares(self, targets: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> list[float]:
        order = np.argsort(targets)
        places = np.cumsum(weights[order]) / weights.sum()
        return self.plain(np.asarray(targets)[order][np.searchsorted(places, [0.1, 0.5, 0.9]).clip(max=len(order) - 1)])

    def score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float | None:
        there = np.array([not _missing(value) for value in truth.tolist()])
        wanted, found = truth[there].astype(np.float64), np.asarray(predicted, dtype=np.float64)[there]
        spread = ((wanted - wanted.mean()) ** 2).sum() if len(wanted) else 0.0
        return round(float(1.0 - ((wanted - found) ** 2).sum() / spread), 4) if spread > 0 else None


def _even(size: int, most: int = MAX_POINTS) -> npt.NDArray[np.intp]:
    """At most `most` evenly spaced indices below `size`; the script of the page computes the same ones."""
    count = min(size, most)
    return np.arange(count, dtype=np.intp) * size // max(count, 1)


def _truth(truth: Any, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
    wanted = np.asarray(truth)
    if wanted.shape != predicted.shape:
        raise ValueError(f"truth must have one target per point, shape {predicted.shape}, got {wanted.shape}")
    got, wants = _kind(wanted), _kind(predicted)
    if got and got != wants:
        raise ValueError(f"truth must be {wants} like the targets of the source, got {got}")
    return wanted


def _kind(targets: npt.NDArray[Any]) -> str:
    """The type of the known targets, "numbers" or "strings"; empty if none is known."""
    first = next((value for value in targets.tolist() if not _missing(value)), None)
    return "" if first is None else "strings" if isinstance(first, str) else "numbers"


def _missing(value: Any) -> bool:
    """Whether a target is missing: None, NaN, or the missing values of data frames."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _plain(value: Any) -> Any:
    """A value that JSON has: floats to six digits, None for infinities and NaN."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
