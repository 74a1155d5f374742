"""The protocol, the same for all: adapt to an unlabelled batch, then predict it, or the step's test where there is one.

Who adapts sees features in units of the source: each standardised on it where the stream says that units are mixed,
otherwise all divided by one number, so that a rotation stays a rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.streams import Double, Sample, Stream

Make = Callable[[], Any]  # a new estimator with fit, predict and, to classify, predict_proba
Map = Callable[[Double], Double]
Predict = Callable[[Double], npt.NDArray[Any]]
Score = Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]  # of what was predicted, and the truth


def accuracy(predicted: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    """The share that is right."""
    return float(np.mean(predicted == truth))


def error(predicted: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def scores(stream: Stream, adapt: Callable[[Double], Predict], score: Score = accuracy) -> list[float]:
    """`adapt` sees every batch in turn and never a label; what it returns is scored."""
    found = []
    for (batch, _), (X, y) in zip(stream.batches, scored(stream), strict=True):
        found.append(score(adapt(batch)(X), y))
    return found


def scored(stream: Stream) -> list[Sample]:
    """What is predicted in every step."""
    return stream.batches if stream.tests is None else stream.tests


def source_units(stream: Stream) -> Map:
    """Centre on the source and divide: every feature by its own deviation if units are mixed, else all by one."""
    if stream.mixed_units:
        return standardiser(stream.X)
    mean, deviation = stream.X.mean(axis=0), float(np.sqrt(stream.X.var(axis=0).mean()))
    return lambda Z: (Z - mean) / deviation


def standardiser(X: Double) -> Map:
    """Z ↦ (Z − mean of X) / deviation of X; a feature that is constant in X is centred only."""
    mean, deviation = moments(X)
    return lambda Z: (Z - mean) / deviation


def moments(X: Double) -> tuple[Double, Double]:
    """Mean and deviation of every feature; 1 for the deviation of one that is constant."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    # A constant feature has a deviation of a few roundings rather than of 0.
    constant = deviation <= 1e-12 * np.abs(X).max(axis=0)
    return mean, np.where(constant, 1.0, deviation)
