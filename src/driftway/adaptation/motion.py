"""Motion models: where the carried source will be when the next batch comes.

The prediction is the source of the next cost and the target of the time regulariser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from driftway.adaptation.affine import fit_affine
from driftway.validation import real_number

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Target points that a group's own velocity is worth before it is believed by half.
GROUP_COUNT = 5.0


@runtime_checkable
class MotionModel(Protocol):
    """One method: where the points will be."""

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        """The next places of points that went from `before` to `now`, when their velocity was taken for `velocity`.

        `groups` numbers the classes of the points; `size` is the size of the batch that `now` was found by.
        """


@dataclass(frozen=True)
class Rest:
    """Points stay where they are, as in the paper."""

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        return now


@dataclass(frozen=True)
class AffineMotion:
    """One affine velocity for all points.

    Parameters
    ----------
    gain : float in [0, 1]
        The share of the newest velocity in the running average: 1 for fast drift, less for slow drift in noise.
    ridge : float
        Shrinkage of the linear part for a batch of as many points as features.

    """

    gain: float = 1.0
    ridge: float = 1.0

    def __post_init__(self) -> None:
        real_number("gain", self.gain, minimum=0.0, maximum=1.0)
        real_number("ridge", self.ridge, minimum=0.0)

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        newest = fit_affine(now, now - before, weights, self.ridge * now.shape[1] / size)(now)
        return now + self.gain * newest + (1.0 - self.gain) * velocity


@dataclass(frozen=True)
class GroupMotion:
    """An affine velocity for all points, and a translation of its own for every class.

    Parameters
    ----------
    gain, ridge : see `AffineMotion`

    """

    gain: float = 0.1
    ridge: float = 1.0

    def __post_init__(self) -> None:
        real_number("gain", self.gain, minimum=0.0, maximum=1.0)
        real_number("ridge", self.ridge, minimum=0.0)

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        moved = now - before
        # The linear part is what is common within the groups, or it would explain what they do on their own.
        points, displacement = now.copy(), moved.copy()
        members = [member for group in np.unique(groups) if weights[member := groups == group].sum() > 0]
        for member in members:
            share = weights[member] / weights[member].sum()
            points[member] -= share @ now[member]
            displacement[member] -= share @ moved[member]
        common = fit_affine(points, displacement, weights, self.ridge * now.shape[1] / size)
        share = weights / weights.sum()
        newest = share @ moved + (now - share @ now) @ common.linear
        remainder = moved - newest
        for member in members:
            count = size * share[member].sum()
            own = share[member] @ remainder[member] / share[member].sum()
            newest[member] += count / (count + GROUP_COUNT) * own
        return now + self.gain * newest + (1.0 - self.gain) * velocity
