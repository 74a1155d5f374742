"""The classes as clouds of points, and the energy distance between a mix of them and a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from driftway.adaptation.source.thinning import chosen_rows

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Points that stand for the source, at least so many of every class that has them, and points that stand for a batch.
LANDMARKS, LEAST_PER_CLASS, SAMPLE = 200, 5, 150


@dataclass(frozen=True, eq=False)
class ClassClouds:
    """Landmarks of the classes.

    Attributes
    ----------
    points : the landmarks (p×r)
    inside : column k has the masses within class k (p×K)
    within : mean distances between points of two classes, without bias (K×K)
    spread : the mean distance within a class

    """

    points: Double
    inside: Double
    within: Double
    spread: float

    def energy(self, sample: Double, mix: Double) -> float:
        """2 E|x − y| − E|x − x′| − E|y − y′|, without bias: about 0 for a sample of this mix."""
        return self.energies(sample)(mix)

    def energies(self, sample: Double) -> EnergyOfMix:
        """The energy distance to one sample as a function of the mix."""
        m = len(sample)
        to_class = cdist(sample, self.points).mean(axis=0) @ self.inside
        return EnergyOfMix(to_class, self.within, cdist(sample, sample).sum() / (m * (m - 1)))

    def energy_with_gradients(self, sample: Double, mix: Double) -> tuple[float, Double, Double]:
        """The energy, its gradient in the mix (K) and in the points of the sample (m×r)."""
        m, masses, inner = len(sample), self.inside @ mix, self.within @ mix
        if sample.shape[1] == 1:
            apart, pull = _on_a_line(sample[:, 0], self.points[:, 0], masses)
            among, push = _on_a_line(sample[:, 0], sample[:, 0], np.ones(m))
            to_class = _line_distances(sample[:, 0], self.points[:, 0]) @ self.inside
            energy = float(2.0 * apart.mean() - mix @ inner - among.sum() / (m * (m - 1)))
            gradient = (2.0 / m) * pull - (2.0 / (m * (m - 1))) * push
            return energy, 2.0 * (to_class - inner), gradient[:, None]
        apart, among = cdist(sample, self.points), cdist(sample, sample)
        to_class = apart.mean(axis=0) @ self.inside
        energy = float(2.0 * to_class @ mix - mix @ inner - among.sum() / (m * (m - 1)))
        pull = masses / np.maximum(apart, 1e-9, out=apart)
        np.fill_diagonal(among, np.inf)
        push = 1.0 / np.maximum(among, 1e-9, out=among)
        gradient = (2.0 / m) * (pull.sum(axis=1)[:, None] * sample - pull @ self.points)
        gradient -= (2.0 / (m * (m - 1))) * (push.sum(axis=1)[:, None] * sample - push @ sample)
        return energy, 2.0 * (to_class - inner), gradient


@dataclass(frozen=True, eq=False)
class EnergyOfMix:
    """The energy distance between a fixed sample and a mix of the classes, which is quadratic in the mix."""

    to_class: Double
    within: Double
    among: float

    def __call__(self, mix: Double) -> float:
        return float(2.0 * self.to_class @ mix - mix @ self.within @ mix - self.among)

    def gradient(self, mix: Double) -> Double:
        return 2.0 * (self.to_class - self.within @ mix)


def class_clouds(points: Double, groups: Groups, weights: Double, classes: int) -> ClassClouds:
    """Landmarks chosen from every class, with the distances between classes that all samples share."""
    chosen = _landmarks(groups, classes)
    points, groups, weights = points[chosen], groups[chosen], weights[chosen]
    inside = np.zeros((len(points), classes))
    inside[np.arange(len(points)), groups] = weights
    inside /= inside.sum(axis=0)
    within = inside.T @ cdist(points, points) @ inside
    alone = (inside**2).sum(axis=0)
    within[np.diag_indices(classes)] /= np.maximum(1.0 - alone, 0.5)
    shares = np.bincount(groups, weights, minlength=classes)
    return ClassClouds(points, inside, within, float(np.diag(within) @ shares / shares.sum()))


def _on_a_line(x: Double, y: Double, masses: Double) -> tuple[Double, Double]:
    """For every x the sum of masses × |x − y|, and its derivative; by sorting, so in n log n."""
    order = np.argsort(y)
    y, masses = y[order], masses[order]
    below = np.searchsorted(y, x, side="left")
    upto = np.searchsorted(y, x, side="right")
    mass, moment = np.concatenate([[0.0], np.cumsum(masses)]), np.concatenate([[0.0], np.cumsum(masses * y)])
    total = x * (2.0 * mass[below] - mass[-1]) + moment[-1] - 2.0 * moment[below]
    return total, mass[below] + mass[upto] - mass[-1]


def _line_distances(x: Double, y: Double) -> Double:
    """For every y the mean of |x − y|."""
    return _on_a_line(y, x, np.full(len(x), 1.0 / len(x)))[0]


def thinned(points: Double) -> Double:
    """At most `SAMPLE` points, in their order."""
    return points if len(points) <= SAMPLE else points[chosen_rows(len(points), SAMPLE)]


def _landmarks(groups: Groups, classes: int) -> npt.NDArray[np.intp]:
    """Rows of the landmarks: in proportion to the classes, and a few of the rarest."""
    if len(groups) <= LANDMARKS:
        return np.arange(len(groups))
    chosen = []
    for k in range(classes):
        rows = np.flatnonzero(groups == k)
        count = min(len(rows), max(LEAST_PER_CLASS, round(LANDMARKS * len(rows) / len(groups))))
        chosen.append(rows[chosen_rows(len(rows), count)])
    return np.sort(np.concatenate(chosen))
