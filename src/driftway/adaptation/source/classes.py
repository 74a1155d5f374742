"""The classes of the labelled source in standardised units: moments, discriminant directions, and clouds of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf

from driftway.adaptation.source.clouds import ClassClouds, class_clouds

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# The total covariance is shrunk this much towards independent features, so that it can be inverted.
SHRUNK = 0.05
# More discriminant directions than this are noise on a few hundred labelled points.
MOST_DIRECTIONS = 9
# Fourth moments below that of two points and above that of very heavy tails are accidents of the sample.
KURTOSIS = (1.5, 1000.0)
# In the full space points are compared within this many deviations: what is further out is out.
REACH = 4.0
# Nothing is further away than so many deviations: kilograms told in micrograms are followed, and squares stay numbers.
FURTHEST = 1e9
# A feature with so few values on the source is a code, which no gain or offset turns into another, as long as batches
# have no other values in it; values are the same within this part of a deviation.
FEW_VALUES, SAME = 2, 1e-6


@dataclass(frozen=True, eq=False)
class SourceClasses:
    """What the hypotheses need to know of the labelled source.

    Attributes
    ----------
    centre, unit : mean and standard deviation of the features (d); all else is in these units
    points, groups, weights : the source (n×d), its class numbers and its masses
    shares : of the classes (K)
    means, variances : of the features in every class (K×d)
    spectrum, axes : eigenvalues and eigenvectors of the total covariance
    gain_spectrum, gain_axes : those of m times the covariance of the log-spreads of m points
    dimension : the effective one, (tr C)² / tr C²
    kurtosis : fourth moments of the features (d)
    codes : the values of features that have few on the source (2×d), NaN for others
    directions : discriminant directions, whitened within classes (d×r)
    apart : how well the classes are told apart there, from 0 to 1
    near : the classes in the discriminant space
    full : the classes in the whole space, within `REACH`

    """

    centre: Double
    unit: Double
    points: Double
    groups: Groups
    weights: Double
    shares: Double
    means: Double
    variances: Double
    spectrum: Double
    axes: Double
    gain_spectrum: Double
    gain_axes: Double
    dimension: float
    kurtosis: Double
    codes: Double
    directions: Double
    apart: float
    near: ClassClouds
    full: ClassClouds

    def standardised(self, X: Double) -> Double:
        """In units of the source, within `FURTHEST`."""
        return np.clip((X - self.centre) / self.unit, -FURTHEST, FURTHEST)

    def movable(self, batch: Double) -> npt.NDArray[np.bool_]:
        """The features that a gain and an offset may have changed: not codes in which a batch has no other value."""
        apart = np.abs(batch[:, None, :] - self.codes).min(axis=1)
        return ~(apart <= SAME).all(axis=0)

    def moments(self, mix: Double) -> tuple[Double, Double]:
        """Mean and variance of the features if the classes have these shares."""
        mean = mix @ self.means
        return mean, np.maximum(mix @ (self.variances + self.means**2) - mean**2, 1e-6)


def source_classes(X: Double, groups: Groups, weights: Double, classes: int) -> SourceClasses:
    """Learns the classes from a labelled source."""
    weights = weights / weights.sum()
    centre = weights @ X
    spread = np.sqrt(weights @ (X - centre) ** 2)
    unit = np.where(spread > 1e-9 * np.abs(centre) + 1e-300, spread, 1.0)
    Z = (X - centre) / unit
    n, d = Z.shape
    inside = np.zeros((n, classes))
    inside[np.arange(n), groups] = weights
    shares = inside.sum(axis=0)
    inside /= shares
    means = inside.T @ Z
    variances = np.maximum(inside.T @ Z**2 - means**2, 0.0)
    total = (1.0 - SHRUNK) * (Z * weights[:, None]).T @ Z + SHRUNK * np.eye(d)
    spectrum, axes = np.linalg.eigh(total)
    kurtosis = np.clip(weights @ Z**4, *KURTOSIS)
    gain_spectrum, gain_axes = np.linalg.eigh(_of_log_spreads(total, kurtosis))
    directions = _discriminants(Z, means, groups, shares)
    return SourceClasses(
        centre=centre,
        unit=unit,
        points=Z,
        groups=groups,
        weights=weights,
        shares=shares,
        means=means,
        variances=variances,
        spectrum=spectrum,
        axes=axes,
        gain_spectrum=gain_spectrum,
        gain_axes=gain_axes,
        dimension=float(np.trace(total) ** 2 / np.sum(total**2)),
        kurtosis=kurtosis,
        codes=np.stack([_codes(column) for column in Z.T], axis=1),
        directions=directions,
        apart=_apart(Z @ directions, means @ directions, shares, weights),
        near=class_clouds(Z @ directions, groups, weights, classes),
        full=class_clouds(np.clip(Z, -REACH, REACH), groups, weights, classes),
    )


def _of_log_spreads(covariance: Double, kurtosis: Double) -> Double:
    """m times the covariance of the logarithms of the features' spreads in m points.

    Of one feature it is (kurtosis − 1)/4. Two features share the square of their correlation of it, as Gaussians
    do.
    """
    spread, own = np.sqrt(np.diag(covariance)), np.sqrt((kurtosis - 1.0) / 4.0)
    shared = (covariance / np.outer(spread, spread)) ** 2
    return np.asarray(own[:, None] * shared * own)


def _apart(points: Double, centres: Double, shares: Double, weights: Double) -> float:
    """How well classes are told apart, from 0 to 1: the share of the labels' variance that Gaussian ones explain."""
    proba = softmax(np.log(shares) - 0.5 * cdist(points, centres, "sqeuclidean"), axis=1)
    explained = weights @ (proba - weights @ proba) ** 2
    return float(min(explained.sum() / max(float(shares @ (1.0 - shares)), 1e-12), 1.0))


def _codes(column: Double) -> Double:
    """The lowest and the highest value of a feature that has no other, NaN if it has."""
    values = np.unique(column)
    return values[[0, -1]] if values.size <= FEW_VALUES else np.full(FEW_VALUES, np.nan)


def _discriminants(Z: Double, means: Double, groups: Groups, shares: Double) -> Double:
    """Directions in which the classes differ most, in units of their spread; principal ones where all are one class."""
    d, classes = Z.shape[1], len(shares)
    within = ledoit_wolf(Z - means[groups])[0] + 1e-6 * np.eye(d)
    values, vectors = np.linalg.eigh(within)
    whitening = vectors / np.sqrt(values)
    if classes == 1:
        return whitening[:, -min(d, 2) :]
    between = (means - shares @ means) * np.sqrt(shares)[:, None]
    found = np.linalg.svd(between @ whitening, full_matrices=False)[2]
    return whitening @ found[: min(classes - 1, d, MOST_DIRECTIONS)].T
