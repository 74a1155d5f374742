"""Shares of a vote, from what was held out: those of the largest likelihood, or of the least squared error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

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


def averaged(errors: Double) -> Double:
    """Shares of M predictors from the errors that each made in N cases (N×M): those of the least squared error.

    The first one answers alone where there is nothing to tell by.
    """
    scale = np.abs(errors).max(initial=0.0)
    if not scale > 0:
        return np.eye(errors.shape[1])[0]
    # That the shares sum to one is an equation that counts more than all others.
    strict = 1e3 * np.sqrt(len(errors)) * np.ones(errors.shape[1])
    shares = nnls(np.vstack([errors / scale, strict]), np.append(np.zeros(len(errors)), strict[0]))[0]
    return shares / shares.sum()
