"""Clusters as Gaussians that are followed from batch to batch, with masses that are free.

A mixture of Gaussians is fitted to a batch by expectation-maximisation, which is transport with the source's masses
left free: a target point asks the clusters, and none has to send more than is taken. What the clusters were expected
to be enters as so many target points that had confirmed it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# In target points: what an expected mean, covariance (per feature) and mass weigh against the batch.
MEAN_COUNT, COVARIANCE_COUNT, MASS_COUNT = 3.0, 10.0, 3.0
HALF = 0.5  # of a target point every cluster has for certain, so that one that was away can come back
ROUNDS, SETTLED = 50, 1e-4
# The least variance of a cluster in any direction, as a share of the mean variance of all points.
LEAST = 1e-4


class Gaussians(NamedTuple):
    """K Gaussians: means (K×d), covariances (K×d×d) and masses (K), which sum to one."""

    means: Double
    covariances: Double
    masses: Double

    def log_joint(self, points: Double) -> Double:
        """log massₖ + log densityₖ, for every cluster and point (K×m)."""
        d = points.shape[1]
        logs = []
        for mean, covariance in zip(self.means, self.covariances, strict=True):
            root = np.linalg.cholesky(covariance)
            whitened = solve_triangular(root, (points - mean).T, lower=True, check_finite=False)
            logs.append(-0.5 * (whitened**2).sum(axis=0) - np.log(np.diag(root)).sum())
        return np.stack(logs) + np.log(np.maximum(self.masses, 1e-300))[:, None] - 0.5 * d * np.log(2.0 * np.pi)

    def responsibilities(self, points: Double) -> Double:
        """The share of every cluster in every point (K×m)."""
        joint = self.log_joint(points)
        return np.exp(joint - logsumexp(joint, axis=0))

    def adapted(self, points: Double, weights: Double) -> Gaussians:
        """The most probable Gaussians given a batch, where these ones are what was expected."""
        count = weights * (len(points) / weights.sum())
        d, now = points.shape[1], self
        for _ in range(ROUNDS):
            taken = now.responsibilities(points) * count
            size = taken.sum(axis=1)
            # A cluster that finds few points may be away, and those that it finds be others' stray ones.
            doubt = np.maximum(1.0, len(points) / (len(size) * np.maximum(size, 1e-6)))
            held, shaped = MEAN_COUNT * doubt[:, None], COVARIANCE_COUNT * d * doubt[:, None, None]
            means = (taken @ points + held * self.means) / (size[:, None] + held)
            scatter = np.stack([_scatter(points - mean, row) for mean, row in zip(means, taken, strict=True)])
            covariances = (scatter + shaped * self.covariances) / (size[:, None, None] + shaped)
            masses = size + MASS_COUNT * len(size) * self.masses + HALF
            moved = float(np.abs(means - now.means).max())
            now = Gaussians(means, covariances, masses / masses.sum())
            if moved < SETTLED * np.sqrt(np.trace(covariances, axis1=1, axis2=2).max()):
                break
        return now

    def carry(self, points: Double, clusters: Groups, to: Gaussians) -> Double:
        """The points of every cluster moved by the optimal map between its Gaussian here and there."""
        images = np.empty_like(points)
        for k in range(len(self.means)):
            member = clusters == k
            linear = _between(self.covariances[k], to.covariances[k])
            images[member] = to.means[k] + (points[member] - self.means[k]) @ linear
        return images


def gaussians_of(points: Double, weights: Double, clusters: Groups) -> Gaussians:
    """The Gaussians of clusters 0 … K−1 of weighted points.

    Covariances are shrunk towards the one that all clusters share, the more the fewer points a cluster has.
    """
    d, total = points.shape[1], weights.sum()
    members = [clusters == k for k in range(int(clusters.max()) + 1)]
    shares = [weights[member] / weights[member].sum() for member in members]
    means = np.stack([share @ points[member] for member, share in zip(members, shares, strict=True)])
    masses = np.array([weights[member].sum() for member in members]) / total
    own = np.stack(
        [_scatter(points[member] - mean, share) for member, share, mean in zip(members, shares, means, strict=True)]
    )
    common = np.einsum("k,kij->ij", masses, own)
    spread = float(np.trace(_scatter(points - weights @ points / total, weights / total))) / d
    counts = np.array([member.sum() for member in members], dtype=np.float64)[:, None, None]
    covariances = (counts * own + d * common) / (counts + d)
    return Gaussians(means, covariances + LEAST * (spread or 1.0) * np.eye(d), masses)


def _scatter(centred: Double, weights: Double) -> Double:
    return (centred * weights[:, None]).T @ centred


def _between(first: Double, second: Double) -> Double:
    """The symmetric A with A first A = second: the linear part of the optimal map between two Gaussians."""
    root, inverse = _power(first, 0.5), _power(first, -0.5)
    return inverse @ _power(root @ second @ root, 0.5) @ inverse


def _power(matrix: Double, exponent: float) -> Double:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, np.finfo(float).tiny) ** exponent) @ vectors.T
