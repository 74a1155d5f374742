"""Whether the classes of the labelled source are clusters, so that they can be followed as Gaussians."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier

from driftway.adaptation.gaussians import gaussians_of

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Points per feature, and one more, that a covariance takes.
PER_FEATURE = 2
# The gain in the Bayesian information criterion by which two Gaussians are clearly better than one, and the accuracy
# that following clusters may lose to nearest neighbours on the labelled data.
CLEAR, WORSE = 10.0, 0.02
LEAST, SAMPLE = 1e-3, 2000


def are_clusters(points: Double, groups: Groups, weights: Double) -> bool:
    """Whether every class is one cluster, and following the clusters tells the classes.

    No class may be described clearly better by two Gaussians than by one (Bayesian information criterion): it then has
    a shape, or parts that may go their own ways. Then a trial: one half of the source is taken for the labelled one
    and the other for a batch, and the clusters must tell the classes of the batch about as well as neighbours do.
    """
    classes, counts = np.unique(groups, return_counts=True)
    if classes.size < 2 or counts.min() < 2 * PER_FEATURE * (points.shape[1] + 1):
        return False
    if not all(_is_one(points[groups == k]) for k in classes):
        return False
    order = np.argsort(groups, kind="stable")
    halves = order[::2], order[1::2]
    lost = [_lost(points, groups, weights, *pair) for pair in (halves, halves[::-1])]
    return bool(np.mean(lost) <= WORSE)


def _is_one(points: Double) -> bool:
    sample = points[:: -(-len(points) // SAMPLE)]
    least = LEAST * float(sample.var(axis=0).mean()) + 1e-300
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (GaussianMixture(k, reg_covar=least, random_state=0).fit(sample).bic(sample) for k in (1, 2))
    return bool(two > one - CLEAR)


def _lost(points: Double, groups: Groups, weights: Double, first: Groups, second: Groups) -> float:
    """The accuracy that following clusters from one half of the source to the other loses to nearest neighbours."""
    followed = gaussians_of(points[first], weights[first], groups[first]).adapted(points[second], weights[second])
    told = followed.responsibilities(points[second]).argmax(axis=0)
    neighbours = KNeighborsClassifier(1).fit(points[first], groups[first]).predict(points[second])
    return float(np.mean(neighbours == groups[second]) - np.mean(told == groups[second]))
