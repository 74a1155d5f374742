"""The classifier of the present moment by itself: it predicts as the adapted one does now, and adapts no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from driftway.adaptation.classifier import ContinuousTransportClassifier
from driftway.adaptation.hypotheses.mix import corrected
from driftway.adaptation.hypotheses.sensors import SensorFit
from driftway.adaptation.hypotheses.transport import Answering
from driftway.adaptation.onnx_graph import graph_of
from driftway.adaptation.scaling import Scaling
from driftway.adaptation.source.answers import probabilities
from driftway.adaptation.source.calibration import tempered
from driftway.adaptation.source.classes import FURTHEST
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]


@dataclass(eq=False)
class Part:
    """One voice of the answer: a map back to where its estimator learned, that estimator, and what corrects it.

    Attributes
    ----------
    weight : its share of the answer
    logarithmic, log_unit : the features that are x ↦ arcsinh(x / log_unit) before all else
    centre, unit : then x ↦ (x − centre) / unit, within `furthest`
    offset, gain : then z ↦ (z − offset) / gain
    alive, instead : the features that count, and what stands for the others
    estimator, power : what answers, and the power that calibrates it; None if it is neither calibrated nor corrected
    mix, shares : of the classes, now and at the source

    """

    weight: float
    logarithmic: npt.NDArray[np.bool_]
    log_unit: Double
    centre: Double
    unit: Double
    furthest: float
    offset: Double
    gain: Double
    alive: npt.NDArray[np.bool_]
    instead: Double
    estimator: Any
    power: float | None
    mix: Double
    shares: Double

    @classmethod
    def of_sensors(cls, fit: SensorFit, weight: float) -> Self:
        """The voice of gains and offsets."""
        view, source = fit.view, fit.view.classes
        return cls(
            weight=float(weight),
            logarithmic=view.space.logarithmic,
            log_unit=view.space.unit,
            centre=source.centre,
            unit=source.unit,
            furthest=FURTHEST,
            offset=fit.map.offset,
            gain=fit.map.gain,
            alive=fit.alive,
            instead=source.moments(fit.mix)[0],
            estimator=view.answers.estimator,
            power=float(view.answers.power),
            mix=fit.answered_mix,
            shares=source.shares,
        )

    @classmethod
    def of_carried(cls, estimator: Any, scaling: Scaling, weight: float, features: int, classes: int) -> Self:
        """The voice of an estimator that was trained on the carried source: no map leads back, nothing is corrected."""
        even = np.full(classes, 1.0 / classes)
        return cls(
            weight=float(weight),
            logarithmic=np.zeros(features, dtype=np.bool_),
            log_unit=np.ones(features),
            centre=np.array(np.broadcast_to(scaling.centre, features)),
            unit=np.array(np.broadcast_to(scaling.unit, features)),
            furthest=np.inf,
            offset=np.zeros(features),
            gain=np.ones(features),
            alive=np.ones(features, dtype=np.bool_),
            instead=np.zeros(features),
            estimator=estimator,
            power=None,
            mix=even,
            shares=even,
        )

    def __call__(self, X: Double) -> Double:
        """The probabilities of the classes."""
        logs = np.where(self.logarithmic, np.arcsinh(X / self.log_unit), X)
        Z = np.clip((logs - self.centre) / self.unit, -self.furthest, self.furthest)
        back = np.where(self.alive, (Z - self.offset) / self.gain, self.instead)
        told = probabilities(self.estimator, back, len(self.shares))
        return told if self.power is None else corrected(tempered(told, self.power), self.mix, self.shares)


class PresentClassifier(ClassifierMixin, BaseEstimator):
    """What a `ContinuousTransportClassifier` predicts now, without what it needs to adapt.

    It is made of NumPy arrays and fitted estimators of scikit-learn, so that skops and ONNX can hold it. It can be had
    whatever hypothesis answers: gains and offsets are a map in front of the source's estimator, and after transport the
    estimator was trained where the points are now. The state of the stream is not in it; that is what
    `ContinuousTransportClassifier.save` keeps.

    Parameters
    ----------
    parts : list of Part
        The voices of the answer. `PresentClassifier.of` finds them.
    usual : array of shape (D,)
        What stands for a missing number.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The class labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.adaptation import PresentClassifier
    >>> y = np.repeat(["low", "high"], 50)
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + np.where(y == "high", 4, 0)[:, None]
    >>> model = ContinuousTransportClassifier(LogisticRegression()).fit(X, y).partial_fit(X + 2)
    >>> now = PresentClassifier.of(model)
    >>> bool(np.allclose(now.predict_proba(X + 2), model.predict_proba(X + 2), atol=1e-12))
    True
    >>> now.predict([[2.0, 2.0], [6.0, np.nan]]).tolist(), now.classes_.tolist()
    (['low', 'high'], ['high', 'low'])

    """

    def __init__(self, parts: Any = (), usual: Any = None) -> None:
        self.parts = parts
        self.usual = usual

    @classmethod
    def of(cls, model: ContinuousTransportClassifier) -> Self:
        """Freezes a fitted classifier as it is now.

        See the example of the class.

        Parameters
        ----------
        model : ContinuousTransportClassifier

        Returns
        -------
        PresentClassifier
            Its input are numbers: of a table with categories, what `model.encode` returns.

        """
        if not isinstance(model, ContinuousTransportClassifier):
            raise TypeError(f"model must be a ContinuousTransportClassifier, got {type(model).__name__}")
        check_is_fitted(model)
        images, classes = model.images_, model.classes_
        sizes = images.shape[1], len(classes)
        parts: list[Part] = []
        for voice in model._voices:
            if isinstance(voice.fit, SensorFit):
                parts.append(Part.of_sensors(voice.fit, voice.weight))
            elif isinstance(voice.fit, Answering):
                parts.append(Part.of_carried(voice.fit.estimator, voice.fit.scaling, voice.weight, *sizes))
            else:
                raise TypeError(
                    f"the hypothesis {voice.hypothesis.name!r} cannot be frozen; use save to keep the model"
                )
        if not parts:  # transport alone, before the first batch
            parts = [Part.of_carried(model.estimator_, model._scaling, 1.0, *sizes)]
        frozen = cls(parts, np.median(images, axis=0))
        frozen.classes_, frozen.n_features_in_ = classes, images.shape[1]
        return frozen

    def fit(self, X: Any, y: Any) -> Self:
        """Raises: it is frozen."""
        raise TypeError("a PresentClassifier cannot be fitted; fit a ContinuousTransportClassifier and freeze that")

    def predict_proba(self, X: Any) -> Double:
        """The probabilities of the classes.

        See the example of the class.

        Parameters
        ----------
        X : array of shape (m, D)

        Returns
        -------
        array of shape (m, K)

        """
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        X = np.where(np.isnan(X), self.usual, X)
        with single_blas():
            told: Double = np.sum([part.weight * part(X) for part in self.parts], axis=0)
        return told

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable classes.

        See the example of the class.

        Parameters
        ----------
        X : array of shape (m, D)

        Returns
        -------
        array of shape (m,)

        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def to_onnx(self) -> Any:
        """The same as a graph of ONNX, for runtimes without Python.

        Its input `X` is an array of doubles (m×D), in which NaN is a missing number. Its outputs are `probabilities`
        (m×K) and `index`, the most probable class by its place in `classes_`, which are in the metadata of the graph.
        The map is computed in double precision, the estimators in single. Needs the extra `driftway[onnx]`.

        Returns
        -------
        onnx.ModelProto

        Raises
        ------
        ValueError
            If skl2onnx has no converter for the estimator, or it has no probabilities. The message says what has.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from driftway import ContinuousTransportClassifier
        >>> from driftway.adaptation import PresentClassifier
        >>> y = np.arange(60) % 2
        >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 4 * y[:, None]
        >>> model = ContinuousTransportClassifier(LogisticRegression()).fit(X, y).partial_fit(X + 1)
        >>> graph = PresentClassifier.of(model).to_onnx()  # doctest: +SKIP
        >>> session = onnxruntime.InferenceSession(graph.SerializeToString())  # doctest: +SKIP
        >>> probabilities, index = session.run(None, {"X": X + 1})  # doctest: +SKIP

        """
        check_is_fitted(self, "classes_")
        return graph_of(self.parts, self.usual, self.classes_)
