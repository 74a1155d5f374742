"""Shares of the classes in a batch, from the probabilities that a classifier gives its points (label shift)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

Double = npt.NDArray[np.float64]

# Rounds of EM; they stop when no share changes by more than this.
ROUNDS, CHANGE = 100, 1e-5
# A mix answers if its likelihood ratio is beyond what chance gains in all but this share of batches.
CHANCE = 0.05
# Or if that of the last batches is, on average: the weight of the past, and the deviations beyond what chance gains.
EVIDENCE_MEMORY, DEVIATIONS = 0.9, 1.0
# The mean of the probabilities that a classifier gives to a class may be off by so much, however many points there are.
MEAN_ERROR = 0.025


def estimated_mix(proba: Double, shares: Double, prior: Double, pseudo_counts: float) -> Double:
    """The shares in a batch by expectation maximisation (Saerens, Latinne and Decaestecker 2002), with a prior.

    `proba` are those of a classifier that learned with `shares`; the prior counts as so many points more.
    """
    mix = shares
    for _ in range(ROUNDS):
        weighted = corrected(proba, mix, shares)
        new = (weighted.sum(axis=0) + pseudo_counts * prior) / (len(proba) + pseudo_counts)
        if np.abs(new - mix).max() < CHANGE:
            return new
        mix = new
    return mix


def corrected(proba: Double, mix: Double, shares: Double) -> Double:
    """Probabilities of a classifier that learned with `shares`, where the classes have those of `mix`."""
    out = proba * (mix / shares)
    return out / np.maximum(out.sum(axis=1, keepdims=True), 1e-300)


@dataclass(frozen=True)
class MixEvidence:
    """The evidence of the last batches for a changed mix, as a multiple of what chance gives on average."""

    ratio: float = 0.0
    batches: int = 0

    def after(self, ratio: float) -> MixEvidence:
        """After a further batch."""
        memory = min(EVIDENCE_MEMORY, self.batches / (self.batches + 1))
        return MixEvidence(memory * self.ratio + (1.0 - memory) * ratio, self.batches + 1)

    def by_chance(self, freedom: int) -> float:
        """How large the ratio may be by chance, for so many degrees of freedom: the mean of χ² and its deviation."""
        counted = min(self.batches, (1.0 + EVIDENCE_MEMORY) / (1.0 - EVIDENCE_MEMORY))
        return 1.0 + DEVIATIONS * float(np.sqrt(2.0 / (freedom * counted)))


@dataclass(frozen=True, eq=False)
class EarnedMix:
    """The mix that was estimated, the mix that answers are corrected for, and the evidence after the batch."""

    estimated: Double
    answered: Double
    evidence: MixEvidence


def earned_mix(
    proba: Double,
    shares: Double,
    believed: Double,
    overdispersion: float,
    source: int,
    past: MixEvidence = MixEvidence(),
) -> EarnedMix:
    """The mix to correct answers for: EM around the believed one, shrunk to the source's as far as it has no evidence.

    The believed mix counts as half as many points as the batch. The likelihood ratio of the two mixes has K − 1 degrees
    of freedom. It is larger by m/n by chance as a classifier that learned from n points has errors of its own, and by
    `inflation` as it may be off on average. What is beyond chance is kept, as in James and Stein's rule: beyond the
    quantile of χ² at `CHANCE` in this batch, or beyond its mean by a standard error in the last ones, whichever keeps
    more.
    """
    freedom = max(len(shares) - 1, 1)
    mix = estimated_mix(proba, shares, believed, 0.5 * len(proba))
    gain = 2.0 * np.log(np.maximum((proba * (mix / shares)).sum(axis=1), 1e-300)).sum() / overdispersion
    ratio = float(gain / (freedom * (inflation(proba, (mix - shares) / shares) + len(proba) / source)))
    evidence = past.after(max(ratio, 0.0))
    kept = max(0.0, 1.0 - float(chi2.isf(CHANCE, freedom)) / freedom / max(ratio, 1e-9))
    if past.batches:
        kept = max(kept, 1.0 - evidence.by_chance(freedom) / max(evidence.ratio, 1e-9))
    return EarnedMix(mix, shares + kept * (mix - shares), evidence)


def inflation(proba: Double, change: Double) -> float:
    """By which factor errors of the mean probabilities make the likelihood ratio of a changed mix larger, at least 1.

    With u = change of the shares over the shares, the mean of m points is expected to move by Cu, where C is the
    covariance of the probabilities, and chance alone moves it by C/m: the ratio is m uᵀCu. With errors of the mean of
    deviation τ as well it is only m uᵀC (C + mτ²I)⁻¹ Cu. Where classes overlap C is small: a mean that is off by 3
    points looks like a mix that is off by 40.
    """
    covariance = np.atleast_2d(np.cov(proba.T, bias=True))
    moved = covariance @ change
    told = float(change @ moved)
    if not told > 1e-12:
        return 1.0
    errors = len(proba) * MEAN_ERROR**2 * np.eye(len(change))
    return told / float(moved @ np.linalg.solve(covariance + errors, moved))
