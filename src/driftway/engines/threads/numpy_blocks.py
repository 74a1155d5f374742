"""Blocks of rows of a plan in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import SAFE, Request

Double = npt.NDArray[np.float64]


def exponentiate(request: Request, block: slice) -> tuple[Double, Double]:
    """The rows γ(block) = exp(log + f ⊕ g), scaled to their mass if asked for, and their potentials."""
    f = request.f[block]
    gamma = request.log.rows(block)
    gamma += request.g
    gamma += f[:, None]
    np.exp(gamma, out=gamma)
    if request.row_mass is None or request.remainder is not None:
        return gamma, f
    mass = request.row_mass[block]
    active = mass > 0
    total = gamma.sum(axis=1)
    if not np.all((total > SAFE[0]) & (total < SAFE[1]) | ~active):
        # The last potential was no safe shift for some row: shift every row of the block by its maximum.
        gamma = request.log.rows(block)
        gamma += request.g
        f = -gamma.max(axis=1)
        gamma += f[:, None]
        np.exp(gamma, out=gamma)
        total = gamma.sum(axis=1)
    factor = np.divide(mass, total, out=np.zeros_like(mass), where=active)
    gamma *= factor[:, None]
    return gamma, np.where(active, f + np.log(factor), -np.inf)


def add_remainder(request: Request, block: slice, gamma: Double) -> float:
    """Adds the rank-one remainder to the rows γ(block); Σ γ' log(γ'/γ)."""
    assert request.remainder is not None
    u, v = request.remainder
    logs = request.log.rows(block) + request.g + request.f[block, None]
    if u is None:
        assert request.row_mass is not None
        lacking = np.maximum(request.row_mass[block] - gamma.sum(axis=1), 0.0)
    else:
        lacking = u[block]
    gamma += np.multiply.outer(lacking, v)
    excess = np.subtract(np.log(gamma), logs, out=np.zeros_like(gamma), where=gamma > 0)
    return float(np.vdot(gamma, excess))
