"""Mixtures of Gaussians: densities, expectation-maximisation, and how many Gaussians a sample is made of.

Batched NumPy only: no threads, no random start, so that a fork is safe and a result repeats itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]

# Points per feature, and one more, that a Gaussian takes.
PER_FEATURE = 2
# The gain in the Bayesian information criterion by which two Gaussians are clearly better than one (Kass and Raftery).
CLEAR = 10.0
# Two equal halves of a Gaussian begin one standard deviation to either side of its mean along its main axis, where
# they leave a quarter of the variance.
LEFT = 0.25
ROUNDS, SETTLED = 100, 1e-3
# The least variance in any direction, as a share of the mean variance of all points.
LEAST = 1e-4


class Gaussians(NamedTuple):
    """H Gaussians: means (H×d), covariances (H×d×d) and masses (H), which sum to one."""

    means: Double
    covariances: Double
    masses: Double

    def log_joint(self, points: Double) -> Double:
        """log massₕ + log densityₕ, for every Gaussian and point (H×m)."""
        roots = np.linalg.cholesky(self.covariances)
        # Features before points: the last axis is then long, which NumPy likes.
        whitened = np.linalg.inv(roots) @ (points.T - self.means[:, :, None])
        distances = np.einsum("him,him->hm", whitened, whitened)
        logs = np.log(np.maximum(self.masses, 1e-300)) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        return (logs - 0.5 * points.shape[1] * np.log(2.0 * np.pi))[:, None] - 0.5 * distances

    def shares(self, points: Double) -> tuple[Double, Double]:
        """The share of every Gaussian in every point (H×m), and the log of the density there (m)."""
        joint = self.log_joint(points)
        top = joint.max(axis=0)
        raised = np.exp(joint - top)
        total = raised.sum(axis=0)
        return raised / total, top + np.log(total)

    def without(self, h: int) -> Gaussians:
        """All but one."""
        return Gaussians(*(np.delete(part, h, axis=0) for part in self))

    def joined(self, other: Gaussians) -> Gaussians:
        """These and others; the masses are put side by side as they are."""
        return Gaussians(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def scatter(points: Double, means: Double, taken: Double) -> Double:
    """Σᵢ takenₕᵢ (xᵢ − meanₕ)(xᵢ − meanₕ)ᵀ for every h (H×d×d)."""
    centred = points.T - means[:, :, None]
    product: Double = (centred * taken[:, None]) @ centred.transpose(0, 2, 1)
    return product


def sizes(covariances: Double) -> Double:
    """The mean variance per feature of every Gaussian (H)."""
    return np.trace(covariances, axis1=1, axis2=2) / covariances.shape[1]


def floored(covariances: Double) -> Double:
    """Covariances (H×d×d) in which no direction is flat."""
    return covariances + (LEAST * sizes(covariances))[:, None, None] * np.eye(covariances.shape[1])


def one_gaussian(points: Double, share: Double, least: float) -> Gaussians:
    """The Gaussian of points whose shares sum to one; no variance is below `least`."""
    mean = (share @ points)[None]
    return Gaussians(mean, scatter(points, mean, share[None]) + least * np.eye(points.shape[1]), np.ones(1))


def mixture_of(points: Double, share: Double, least: float, most: int) -> Gaussians:
    """A mixture of at most so many Gaussians, of which one after another was split as long as it clearly helped."""
    found = one_gaussian(points, share, least)
    while len(found.means) < most:
        trials = [fitted(points, share, split(found, h), least, len(points), ROUNDS) for h in range(len(found.means))]
        best = max(trials, key=lambda trial: float(share @ trial.shares(points)[1]))
        if not clearly_better(points, share * len(points), found, best):
            break
        found = best
    return found


def split(mixture: Gaussians, h: int) -> Gaussians:
    """The mixture with two halves, put last, in the place of one Gaussian."""
    values, vectors = np.linalg.eigh(mixture.covariances[h])
    step = np.sqrt(values[-1]) * vectors[:, -1]
    narrow = mixture.covariances[h] - (1.0 - LEFT) * np.outer(step, step)
    means = np.stack([mixture.means[h] - step, mixture.means[h] + step])
    halves = Gaussians(means, np.stack([narrow, narrow]), np.full(2, 0.5 * mixture.masses[h]))
    return mixture.without(h).joined(halves)


def clearly_better(points: Double, counts: Double, one: Gaussians, other: Gaussians, before: float = 0.0) -> bool:
    """Whether a mixture with one Gaussian more is worth its parameters, and each of its Gaussians has enough points.

    `before` is the evidence that there already was.
    """
    d, size = points.shape[1], float(counts.sum())
    evident = before + gain(points, counts, one, other) > 0.5 * parameters(d) * np.log(size) + 0.5 * CLEAR
    return bool(evident and other.masses.min() * size >= PER_FEATURE * (d + 1))


def gain(points: Double, counts: Double, one: Gaussians, other: Gaussians) -> float:
    """What the other mixture gains in log-likelihood."""
    return float(counts @ (other.shares(points)[1] - one.shares(points)[1]))


def parameters(d: int) -> int:
    """How many a Gaussian in a mixture has."""
    return 1 + d + d * (d + 1) // 2


def fitted(points: Double, share: Double, start: Gaussians, least: float, size: float, rounds: int) -> Gaussians:
    """Expectation-maximisation from a start, for points that count as so many.

    Covariances are shrunk towards the one that all share, by as many points as there are features: the more, the
    fewer points a Gaussian has.
    """
    d, now = points.shape[1], start
    floor, near = least * np.eye(d), SETTLED * np.sqrt(sizes(start.covariances).max())
    for _ in range(rounds):
        taken = now.shares(points)[0] * share
        masses = np.maximum(taken.sum(axis=1), 1e-12)
        means = taken @ points / masses[:, None]
        own = scatter(points, means, taken)
        covariances = (size * own + d * own.sum(axis=0)) / (size * masses + d)[:, None, None] + floor
        moved = float(np.abs(means - now.means).max())
        now = Gaussians(means, covariances, masses / masses.sum())
        if moved < near:
            break
    return now


def between(first: Double, second: Double) -> Double:
    """The symmetric A with A first A = second: the linear part of the optimal map between two Gaussians."""
    root, inverse = _power(first, 0.5), _power(first, -0.5)
    return inverse @ _power(root @ second @ root, 0.5) @ inverse


def _power(matrix: Double, exponent: float) -> Double:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, np.finfo(float).tiny) ** exponent) @ vectors.T
