"""Shares of a vote: those with which the votes make what was held out most likely."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]

# Rounds of EM: the likelihood is concave, and tenths are all that matters.
ROUNDS = 100


def stacked(likelihoods: Double) -> Double:
    """Shares of M voters from the probability that each gave to what came true in N cases (N×M), by EM."""
    shares = np.full(likelihoods.shape[1], 1.0 / likelihoods.shape[1])
    if not len(likelihoods):
        return shares
    for _ in range(ROUNDS):
        voted = likelihoods * shares
        shares = (voted / voted.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares
