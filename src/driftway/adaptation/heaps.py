"""Classes as heaps: every class a mixture of a few Gaussians, each followed on its own, with masses that are free.

A batch moves the heaps by expectation-maximisation, which is transport with the source's masses left free: a target
point asks the heaps, and none has to send more than is taken. What was expected enters as a prior, counted in target
points that had confirmed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from driftway.adaptation.gaussians import (
    LEAST,
    PER_FEATURE,
    Gaussians,
    between,
    clearly_better,
    fitted,
    floored,
    gain,
    mixture_of,
    one_gaussian,
    parameters,
    scatter,
    sizes,
    split,
)

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

MOST = 4  # heaps of a class
POINT = 1e-12  # a heap of a smaller variance, as a share of the batch's range squared, is a point and has no halves
# In target points: what an expected covariance (per feature), mass of a class (per class), and share of a heap in its
# class (per heap) weigh against the batch. The mix of classes drifts more easily than the make-up of one of them.
COVARIANCE_COUNT, MASS_COUNT, SHARE_COUNT = 10.0, 3.0, 100.0
HALF = 0.5  # of a target point every class has for certain, so that one that was away can come back
# The same for an expected mean, which is learned (its pace): what it is at first, and within what limits.
FIRST_COUNT, LEAST_COUNT, MOST_COUNT = 3.0, 1.0, 30.0
TAILS = 4.0  # degrees of freedom of Student's t by which means leave what was expected, so that jumps pass
GAIN, MEMORY = 0.3, 0.8  # the newest velocity in its running average; the past in that of the pace
ODDS = 3.0  # in nats: how much less likely than going on are a stop and a jump
# Rounds of expectation-maximisation before the starts are judged, and after; and for the halves of a heap.
FEW, ROUNDS, HALVING, SETTLED = 5, 30, 20, 1e-3
SURE = 2.0  # standard deviations of chance by which neighbours must tell the labelled source better
NEIGHBOURS = (1, 5, 15)
SAMPLE = 2000


class _Fit(NamedTuple):
    """A mixture on its way to a batch: what every heap takes of the points, and the counts of the expected means."""

    mixture: Gaussians
    taken: Double
    counts: Double
    objective: float


@dataclass(frozen=True, eq=False)
class Heaps:
    """H heaps of K classes, as of one step.

    `means` (H×d), `covariances` (H×d×d) and `masses` (H, sum one); `owners` are the classes of the heaps (H) and
    `parents` the numbers they had before the last batch (H), which differ where a heap was split; `velocities` (H×d)
    is what `ahead` adds to the means, and `paces` (H) the variance per feature with which a mean leaves what was
    expected of it. `evidence` (H) is what earlier batches said for every heap being two, in nats.
    """

    means: Double
    covariances: Double
    masses: Double
    owners: Groups
    parents: Groups
    velocities: Double
    paces: Double
    evidence: Double
    classes: int

    @classmethod
    def of(cls, X: Double, y: Groups, weights: Double, classes: int) -> Heaps | None:
        """The heaps of a labelled source; None if they do not tell its classes as well as neighbours do.

        The number of heaps of a class is chosen by the Bayesian information criterion. Then a trial: one half of the
        source is taken for the labelled one and the other for a batch, and the heaps must be as often right about
        the batch as neighbours are, up to chance.
        """
        if classes < 2 or np.bincount(y, minlength=classes).min() < PER_FEATURE * (X.shape[1] + 1):
            return None
        found = heaps_of(X, y, weights, [MOST] * classes)
        order = np.argsort(y, kind="stable")
        order = order[:: -(-len(y) // SAMPLE)]
        numbers = np.bincount(found.owners, minlength=classes)
        halves = order[::2], order[1::2]
        trials = [_trial(X, y, weights, numbers, *pair) for pair in (halves, halves[::-1])]
        ours = np.concatenate([trial[0] for trial in trials])
        theirs = np.concatenate([trial[1] for trial in trials], axis=1)
        lost = theirs.sum(axis=1) - ours.sum()
        chance = np.sqrt((theirs != ours).sum(axis=1))
        return None if np.any(lost > SURE * chance) else found

    def ahead(self) -> Heaps:
        """Where the heaps are expected when the next batch comes."""
        return replace(self, means=self.means + self.velocities)

    def adapted(self, X: Double, b: Double) -> Heaps:
        """The most probable heaps given a batch with weights b, where these ones are what was expected.

        Three expectations compete: the heaps went on, stopped where they were, or all jumped as the mean of the
        batch did; the last has d parameters that are read off the batch, and pays for them.
        """
        counts, d = b * (len(X) / b.sum()), X.shape[1]
        jump = counts @ X / len(X) - self.masses @ self.means
        places = (self.means, self.means - self.velocities, self.means + jump)
        prices = (0.0, ODDS, ODDS + 0.5 * d * np.log(len(X)))
        begun = [self._fit(X, counts, place, self.mixture._replace(means=place), FEW) for place in places]
        best = int(np.argmax([fit.objective - price for fit, price in zip(begun, prices, strict=True)]))
        found = self._fit(X, counts, places[best], begun[best].mixture, ROUNDS)
        means, size = found.mixture.means, found.taken.sum(axis=1)
        # Innovation squared, plus what is still unknown of it; nothing is learned about a heap without points.
        known, unknown = size / (size + found.counts), sizes(found.mixture.covariances) / (size + found.counts)
        newest = ((means - places[best]) ** 2).mean(axis=1) + unknown
        newer = self.velocities + (GAIN * known)[:, None] * (means - self.means)
        velocities = (size / (size + 1.0))[:, None] * newer
        paces = self.paces + (1.0 - MEMORY) * known * (newest - self.paces)
        after = replace(self, parents=np.arange(len(means)), velocities=velocities, paces=paces)
        return after._with(found.mixture)._split(X, found.taken)

    def posteriors(self, X: Double) -> Double:
        """The shares of the classes in every point (m×K)."""
        return self.mixture.shares(X)[0].T @ np.eye(self.classes)[self.owners]

    def log_likelihood(self, X: Double, b: Double) -> float:
        """The mean log-density per point."""
        return float(b @ self.mixture.shares(X)[1] / b.sum())

    @property
    def mixture(self) -> Gaussians:
        """The heaps as one mixture."""
        return Gaussians(self.means, self.covariances, self.masses)

    def members(self, X: Double, y: Groups) -> Groups:
        """The heap of its class that every point most probably belongs to (m)."""
        joint = np.where(self.owners[:, None] == y, self.mixture.log_joint(X), -np.inf)
        return joint.argmax(axis=0)

    def carry(self, points: Double, members: Groups, to: Heaps) -> tuple[Double, Groups]:
        """The points moved by the optimal maps between the Gaussians of their heaps here and there, and their heaps.

        Points of a heap that was split are moved as one, and then go each to the nearer half.
        """
        images, joined = np.empty_like(points), members.copy()
        for h in range(len(self.means)):
            member, children = np.flatnonzero(members == h), np.flatnonzero(to.parents == h)
            if not member.size:
                continue
            whole = _whole(Gaussians(to.means[children], to.covariances[children], to.masses[children]))
            linear = between(self.covariances[h], whole.covariances[0])
            images[member] = whole.means[0] + (points[member] - self.means[h]) @ linear
            joined[member] = children[to.mixture.log_joint(images[member])[children].argmax(axis=0)]
        return images, joined

    # Details.

    def _with(self, mixture: Gaussians) -> Heaps:
        return replace(self, means=mixture.means, covariances=mixture.covariances, masses=mixture.masses)

    def _fit(self, X: Double, counts: Double, place: Double, start: Gaussians, rounds: int) -> _Fit:
        """Expectation-maximisation with a prior around `place`, the expected covariances and the expected masses."""
        d, now, spread = X.shape[1], start, sizes(self.covariances)
        prior = np.clip(spread / self.paces, LEAST_COUNT, MOST_COUNT)
        near = SETTLED * np.sqrt(spread.max())
        for _ in range(rounds):
            taken = now.shares(X)[0] * counts
            size = taken.sum(axis=1)
            # A heap that finds few points may be away, and those that it finds be others' stray ones.
            doubt = np.maximum(1.0, len(X) / (len(size) * np.maximum(size, 1e-6)))
            far = prior * _distances(now.means - place, now.covariances)
            held = prior * doubt * (TAILS + d) / (TAILS + far)
            means = (taken @ X + held[:, None] * place) / (size + held)[:, None]
            shaped = (COVARIANCE_COUNT * d * doubt)[:, None, None]
            covariances = (scatter(X, means, taken) + shaped * self.covariances) / (size[:, None, None] + shaped)
            moved = float(np.abs(means - now.means).max())
            now = Gaussians(means, floored(covariances), self._masses(size))
            if moved < near:
                break
        return _Fit(now, taken, held, self._objective(X, counts, prior, place, now))

    def _masses(self, size: Double) -> Double:
        """The most probable masses of heaps that took so many points."""
        member = np.eye(self.classes)[self.owners]
        before, heaps = self.masses @ member, member.sum(axis=0)
        own = size @ member + MASS_COUNT * self.classes * before + HALF
        within = size + (SHARE_COUNT * heaps / before)[self.owners] * self.masses
        return (own / own.sum() / (within @ member))[self.owners] * within

    def _objective(self, X: Double, counts: Double, prior: Double, place: Double, now: Gaussians) -> float:
        """The log-likelihood of the batch and the log-density of the prior, up to a constant."""
        d, heaps = X.shape[1], len(self.means)
        far = prior * _distances(now.means - place, now.covariances)
        mass = MASS_COUNT * heaps * float(self.masses @ np.log(now.masses / self.masses))
        ratio = np.linalg.solve(now.covariances, self.covariances)
        shape = np.trace(ratio, axis1=1, axis2=2) - np.linalg.slogdet(ratio)[1] - d
        left = 0.5 * (TAILS + d) * np.log1p(far / TAILS).sum() + 0.5 * COVARIANCE_COUNT * d * shape.sum()
        return float(counts @ now.shares(X)[1] + mass - left)

    def _split(self, X: Double, taken: Double) -> Heaps:
        """Heaps that are clearly two become two, put last, as long as their class has room.

        Evidence adds up over batches, each of which first pays for what two Gaussians gain by chance.
        """
        room = MOST - np.bincount(self.owners, minlength=self.classes)
        whole, halves, evidence = list(range(len(self.means))), [], self.evidence.copy()
        for h, row in enumerate(taken):
            if not room[self.owners[h]]:
                continue
            one, two = _halves(X, row)
            if two is not None and clearly_better(X, row, one, two, self.evidence[h]):
                room[self.owners[h]] -= 1
                whole.remove(h)
                halves.append((h, two._replace(masses=two.masses * self.masses[h])))
                evidence[h] = 0.0
            else:
                gained = 0.0 if two is None else gain(X, row, one, two)
                evidence[h] = max(0.0, evidence[h] + gained - parameters(X.shape[1]))
        now = replace(self, evidence=evidence)
        return now._divided(whole, halves) if halves else now

    def _divided(self, whole: list[int], halves: list[tuple[int, Gaussians]]) -> Heaps:
        kept = np.array(whole + [h for h, _ in halves for _ in range(2)], dtype=np.intp)
        mixture = Gaussians(*(part[whole] for part in self.mixture))
        for _, two in halves:
            mixture = mixture.joined(two)
        parts = {name: getattr(self, name)[kept] for name in ("owners", "parents", "velocities", "paces", "evidence")}
        return replace(self._with(mixture), **parts)


def heaps_of(X: Double, y: Groups, weights: Double, numbers: Sequence[int] | Groups) -> Heaps:
    """Every class as a mixture of at most so many heaps.

    Covariances are shrunk towards the one that all heaps share, by as many points as there are features.
    """
    (n, d), weights, parts = X.shape, weights / weights.sum(), []
    least = LEAST * float(sizes(one_gaussian(X, weights, 0.0).covariances)[0]) or LEAST
    for k, most in enumerate(numbers):
        mass = weights[y == k].sum()
        own = mixture_of(X[y == k], weights[y == k] / mass, least, int(most))
        parts.append(own._replace(masses=own.masses * mass))
    means, covariances, masses = reduce(Gaussians.joined, parts)
    size, common = (n * masses)[:, None, None], np.einsum("h,hij->ij", masses, covariances)
    covariances = (size * covariances + d * common) / (size + d)
    owners = np.repeat(np.arange(len(parts)), [len(part.means) for part in parts])
    paces = sizes(covariances) / FIRST_COUNT
    return Heaps(
        means,
        covariances,
        masses,
        owners,
        np.arange(len(owners)),
        np.zeros_like(means),
        paces,
        np.zeros(len(owners)),
        len(parts),
    )


def _trial(
    X: Double, y: Groups, weights: Double, numbers: Groups, first: Groups, second: Groups
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Who is right about the second part of a labelled source, by the first: the heaps (m), and neighbours (3×m)."""
    heaps = heaps_of(X[first], y[first], weights[first], numbers).adapted(X[second], weights[second])
    ours = heaps.posteriors(X[second]).argmax(axis=1) == y[second]
    near = y[first][np.argsort(cdist(X[second], X[first]), axis=1)[:, : max(NEIGHBOURS)]]
    votes = np.cumsum(np.eye(len(numbers))[near], axis=1)
    theirs = [votes[:, min(k, len(first)) - 1].argmax(axis=1) == y[second] for k in NEIGHBOURS]
    return ours, np.stack(theirs)


def _halves(X: Double, taken: Double) -> tuple[Gaussians, Gaussians | None]:
    """The Gaussian of a heap with these points, and the two that it may be instead."""
    size, d = max(float(taken.sum()), 1e-300), X.shape[1]
    share = taken / size
    one = one_gaussian(X, share, 0.0)
    one, least = one._replace(covariances=floored(one.covariances)), LEAST * float(sizes(one.covariances)[0])
    if size < 2 * PER_FEATURE * (d + 1):
        return one, None
    # Two heaps are flatter than a Gaussian along the line through both: a test that costs little.
    values, vectors = np.linalg.eigh(one.covariances[0])
    if values[-1] <= POINT * np.ptp(X, axis=0).max() ** 2:
        return one, None
    kurtosis = float(share @ ((X - one.means[0]) @ vectors[:, -1]) ** 4) / values[-1] ** 2
    if kurtosis > 3.0 - np.sqrt(24.0 / size):
        return one, None
    return one, fitted(X, share, split(one, 0), least, size, HALVING)


def _distances(gone: Double, covariances: Double) -> Double:
    """Squared Mahalanobis distances (H)."""
    return np.einsum("hi,hi->h", gone, np.linalg.solve(covariances, gone[:, :, None])[:, :, 0])


def _whole(parts: Gaussians) -> Gaussians:
    """One Gaussian with the moments of a mixture."""
    share = parts.masses / parts.masses.sum()
    mean = (share @ parts.means)[None]
    covariance = np.einsum("h,hij->ij", share, parts.covariances) + scatter(parts.means, mean, share[None])[0]
    return Gaussians(mean, covariance[None], np.ones(1))
