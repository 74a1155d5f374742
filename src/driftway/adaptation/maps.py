"""Map models: from the barycentric images of the source to its new positions.

Barycentric images shrink, because entropy averages over targets, and they follow the noise of a small batch. A model
with few parameters corrects both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist
from sklearn.kernel_ridge import KernelRidge

from driftway.adaptation.affine import fit_affine
from driftway.arrays.validation import real_number

Double = npt.NDArray[np.float64]

SAMPLE = 500  # points from which a typical distance is taken


@runtime_checkable
class MapModel(Protocol):
    """Protocol of map models. `AffineMap`, `BarycentricMap` and `KernelMap` have its one method."""

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        """Computes the new positions of points.

        Parameters
        ----------
        points : array of shape (n, d)
            The positions of the source before the step.
        barycentric : array of shape (n, d)
            Their barycentric images under the plan.
        weights : array of shape (n,)
            The masses of the points.
        size : int
            The number of points in the batch.

        Returns
        -------
        array of shape (n, d)

        """


@dataclass(frozen=True)
class BarycentricMap:
    """The map `map="barycentric"`: the barycentric images themselves, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.adaptation import BarycentricMap
    >>> points, barycentric = np.array([[0.0], [1.0]]), np.array([[2.1], [2.9]])
    >>> BarycentricMap().images(points, barycentric, weights=np.full(2, 0.5), size=100).tolist()
    [[2.1], [2.9]]

    """

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        return barycentric


@dataclass(frozen=True)
class AffineMap:
    """The map `map="affine"`: an affine map whose linear part is shrunk towards the identity.

    Parameters
    ----------
    ridge : float
        The shrinkage for a batch with as many points as features; in others it is inversely proportional to the size.

    Examples
    --------
    The barycentric images are noisy, the fitted ones are not:

    >>> import numpy as np
    >>> from driftway.adaptation import AffineMap
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(200, 2))
    >>> noisy = points + [3.0, 0.0] + 0.3 * rng.normal(size=(200, 2))
    >>> images = AffineMap().images(points, noisy, weights=np.full(200, 1 / 200), size=200)
    >>> bool(abs(images - (points + [3.0, 0.0])).max() < 0.2)
    True

    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        real_number("ridge", self.ridge, minimum=0.0)

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        displacement = fit_affine(points, barycentric - points, weights, self.ridge * points.shape[1] / size)
        return points + displacement(points)


@dataclass(frozen=True)
class KernelMap:
    """The map `map="kernel"`: an affine map plus a smooth remainder, by kernel ridge regression with a Gaussian kernel.

    Parameters
    ----------
    bandwidth : float
        The bandwidth of the kernel, positive, in units of the median distance between source points.
    ridge : float
        The shrinkage of the affine map, as for `AffineMap`, and the regularisation of the remainder.

    Examples
    --------
    It follows a bend, which an affine map does not:

    >>> import numpy as np
    >>> from driftway.adaptation import AffineMap, KernelMap
    >>> points, weights = np.linspace(-1, 1, 100)[:, None], np.full(100, 0.01)
    >>> bent = points + points**2
    >>> def error(model):
    ...     return abs(model.images(points, bent, weights, size=100) - bent).mean()
    >>> bool(error(KernelMap()) < 0.2 * error(AffineMap()))
    True

    """

    bandwidth: float = 0.5
    ridge: float = 1.0

    def __post_init__(self) -> None:
        real_number("bandwidth", self.bandwidth, minimum=0.0, strict=True)
        real_number("ridge", self.ridge, minimum=0.0)

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        affine = AffineMap(self.ridge).images(points, barycentric, weights, size)
        typical = float(np.median(pdist(points[:: max(1, len(points) // SAMPLE)]))) if len(points) > 1 else 0.0
        if typical <= 0:
            return affine
        gamma = 0.5 / (self.bandwidth * typical) ** 2
        alpha = max(self.ridge, 1e-6) * len(points) / size
        model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)
        model.fit(points, barycentric - affine, sample_weight=weights / weights.mean())
        return np.asarray(affine + model.predict(points), dtype=np.float64)
