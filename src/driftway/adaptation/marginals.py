"""The mass of every class in a batch: as in the source, or estimated from the batch."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from driftway.geometry.costs import Cost

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

ROUNDS, SETTLED = 200, 1e-4


@runtime_checkable
class Marginals(Protocol):
    """One method: the masses of the source points."""

    def masses(self, cost: Cost, a: Double, b: Double, groups: Groups, epsilon: float) -> Double:
        """The masses of the source points for a batch at this cost, in the place of a."""


class Balanced:
    """Every source point keeps its mass, as in the paper."""

    def masses(self, cost: Cost, a: Double, b: Double, groups: Groups, epsilon: float) -> Double:
        return a


class Estimated:
    """The masses of the classes are those that make the batch most likely; within a class they keep their ratios.

    The likelihood of a target point under a class is the mean of exp(−C/ε) over its source points. This is the
    expectation-maximisation of Saerens, Latinne & Decaestecker (2002), and at the same time transport with the
    source's class masses left free.
    """

    def masses(self, cost: Cost, a: Double, b: Double, groups: Groups, epsilon: float) -> Double:
        return reweighted(a, groups, class_masses(cost, a, b, groups, epsilon)[0])


def class_masses(cost: Cost, a: Double, b: Double, groups: Groups, epsilon: float) -> tuple[Double, float]:
    """The masses of the classes that make the batch most likely, and the gain in log-likelihood per unit of mass."""
    mass = shares(a, groups)
    if mass.size == 1:
        return mass, 0.0
    C = cost.rows(slice(None)).astype(np.float64) / -epsilon
    members = [groups == k for k in np.unique(groups)]
    likelihood = np.stack([logsumexp(C[k], axis=0, b=a[k, None] / a[k].sum()) for k in members])
    likelihood = np.exp(likelihood - likelihood.max(axis=0))
    before = np.log(mass @ likelihood) @ b / b.sum()
    for _ in range(ROUNDS):
        joint = mass[:, None] * likelihood
        following = (joint / joint.sum(axis=0)) @ b / b.sum()
        moved = float(np.abs(following - mass).sum())
        mass = following
        if moved < SETTLED:
            break
    return mass, float(np.log(mass @ likelihood) @ b / b.sum() - before)


def shares(a: Double, groups: Groups) -> Double:
    """The share of every class in the mass."""
    return np.array([a[groups == k].sum() for k in np.unique(groups)]) / a.sum()


def reweighted(a: Double, groups: Groups, mass: Double) -> Double:
    """a with other masses of the classes, which sum to a's total."""
    out, total = a.copy(), a.sum()
    for k, wanted in zip(np.unique(groups), mass, strict=True):
        member = groups == k
        out[member] *= wanted * total / a[member].sum()
    return out * (total / out.sum())
