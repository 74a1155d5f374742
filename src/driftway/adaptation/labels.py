"""From a step to the labelled sample that a classifier of the present is trained on."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from driftway.adaptation.tracking import Step

Double = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """Points with their targets (class numbers, or values) and weights."""

    points: Double
    targets: npt.NDArray[Any]
    weights: Double


@runtime_checkable
class Labels(Protocol):
    """One method: the sample to train on after a step."""

    def sample(self, step: Step, batch: Double, b: Double, received: Double) -> Sample:
        """The sample for a batch with weights b, whose points received these shares of every class, or values."""


class ByClassifier:
    """The mapped source with its own labels, as in the paper."""

    def sample(self, step: Step, batch: Double, b: Double, received: Double) -> Sample:
        carried = step.carried
        held = step.masses > 0
        return Sample(carried.images[held], carried.targets[held], step.masses[held])


class ByPlan:
    """The batch with labels read off the plan: the class most of a point's mass came from, or its mean value.

    If that is one class for all, which trains no classifier, the mapped source is taken instead.
    """

    def sample(self, step: Step, batch: Double, b: Double, received: Double) -> Sample:
        targets = as_targets(received)
        if received.ndim == 2 and np.unique(targets).size < min(2, received.shape[1]):
            return ByClassifier().sample(step, batch, b, received)
        return Sample(batch, targets, b)


class ByTrack:
    """By the classifier where the believed track keeps the shape of the source, else by the plan."""

    def sample(self, step: Step, batch: Double, b: Double, received: Double) -> Sample:
        strategy = ByClassifier() if step.track.keeps_shape else ByPlan()
        return strategy.sample(step, batch, b, received)


def received_by(step: Step, b: Double, classes: int | None) -> Double:
    """What every target point received: shares of the classes (m×K), or for a regression its mean value (m)."""
    carried = step.carried
    if step.received is not None:
        return step.received
    if classes is None:
        return np.asarray(step.plan.T @ carried.targets, dtype=np.float64) / _column_masses(step)
    indicator = np.eye(classes)[carried.targets.astype(np.intp)]
    shares = np.maximum(np.asarray(step.plan.T @ indicator, dtype=np.float64), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.full_like(shares, 1.0 / classes), where=total > 0)


def as_targets(received: Double) -> npt.NDArray[Any]:
    """Class numbers, or the values themselves."""
    return received if received.ndim == 1 else received.argmax(axis=1)


def _column_masses(step: Step) -> Double:
    mass = np.asarray(step.plan.marginals[1], dtype=np.float64)
    return np.where(mass > 0, mass, 1.0)
