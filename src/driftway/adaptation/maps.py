"""Map models: from the raw barycentric images of the source to the images that are believed.

Raw images shrink, because entropy averages over targets, and they follow the noise of a small batch. A model of
few parameters undoes both.
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
    """One method: the images that are believed, given the barycentric ones."""

    def images(self, points: Double, barycentric: Double, weights: Double, size: int) -> Double:
        """The images of `points`, whose barycentric images come from a batch of `size` points."""


@dataclass(frozen=True)
class BarycentricMap:
    """The raw barycentric images, as in the paper: the name of this map is "barycentric".

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
    """An affine map, its linear part shrunk towards the identity: the name of this map is "affine".

    Parameters
    ----------
    ridge : float
        The shrinkage for a batch of as many points as features; it falls with the size of the batch.

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
    """An affine map and a smooth remainder, by kernel ridge regression; the name of this map is "kernel".

    The kernel is Gaussian.

    Parameters
    ----------
    bandwidth : float
        Of the kernel, in units of the median distance between source points; positive.
    ridge : float
        As for `AffineMap`; also the regularisation of the remainder.

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
