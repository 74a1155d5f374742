"""Motion models: the expected positions of the source when the next batch comes.

They are the source of the next cost, and the target of the time regulariser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from driftway.adaptation.affine import fit_affine
from driftway.arrays.validation import flag, real_number

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Batch points of a class at which its own velocity has a weight of one half.
CLASS_COUNT = 5.0


@runtime_checkable
class MotionModel(Protocol):
    """Protocol of motion models. `AffineMotion` and `Rest` have its one method."""

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        """Predicts the next positions of points.

        Parameters
        ----------
        before, now : array of shape (n, d)
            The positions of the points before and after the step.
        velocity : array of shape (n, d)
            Their velocity as it was predicted before the step.
        groups : array of shape (n,)
            The classes of the points, as indices.
        weights : array of shape (n,)
            The masses of the points.
        size : int
            The number of points in the batch.

        Returns
        -------
        array of shape (n, d)

        """


@dataclass(frozen=True)
class Rest:
    """The motion `motion=None`: points are expected to stay, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.adaptation import Rest
    >>> before, now = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    >>> groups, weights = np.array([0, 1]), np.full(2, 0.5)
    >>> Rest().predict(before, now, np.zeros((2, 1)), groups, weights, size=100).tolist()
    [[2.0], [3.0]]

    """

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        return now


@dataclass(frozen=True)
class AffineMotion:
    """The motions "affine" and "classes": an affine velocity for all points, and optionally a translation per class.

    Parameters
    ----------
    gain : float in [0, 1]
        The share of the newest velocity in the running average: 1 for fast drift, less for slow drift with noise.
    ridge : float
        The shrinkage of the linear part for a batch with as many points as features.
    by_class : bool
        Whether each class has a translation of its own, as for "classes".

    Examples
    --------
    Points that moved by 2 are expected to move by 2 again:

    >>> import numpy as np
    >>> from driftway.adaptation import AffineMotion
    >>> before, now = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    >>> groups, weights = np.array([0, 1]), np.full(2, 0.5)
    >>> AffineMotion().predict(before, now, np.zeros((2, 1)), groups, weights, size=100).round(6).tolist()
    [[4.0], [5.0]]

    """

    gain: float = 1.0
    ridge: float = 1.0
    by_class: bool = False

    def __post_init__(self) -> None:
        real_number("gain", self.gain, minimum=0.0, maximum=1.0)
        real_number("ridge", self.ridge, minimum=0.0)
        flag("by_class", self.by_class)

    def predict(
        self, before: Double, now: Double, velocity: Double, groups: Groups, weights: Double, size: int
    ) -> Double:
        moved, share = now - before, weights / weights.sum()
        classes = groups if self.by_class else np.zeros_like(groups)
        members = [classes == k for k in np.unique(classes[weights > 0])]
        # The linear part is what is common within the classes, or it would explain what they do on their own.
        points, displacement = now.copy(), moved.copy()
        for member in members:
            own = share[member] / share[member].sum()
            points[member] -= own @ now[member]
            displacement[member] -= own @ moved[member]
        linear = fit_affine(points, displacement, weights, self.ridge * now.shape[1] / size).linear
        newest = share @ moved + (now - share @ now) @ linear
        for member in members:
            count, remainder = size * share[member].sum(), (moved - newest)[member]
            newest[member] += count / (count + CLASS_COUNT) * (share[member] @ remainder / share[member].sum())
        return now + self.gain * newest + (1.0 - self.gain) * velocity
