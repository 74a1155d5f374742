"""Registration: the affine map under which a batch is likely, where the one that transport found makes it unlikely.

Optimal maps are gradients of convex functions, so transport takes a large turn for a squeeze. The likelihood of the
batch under the mapped source sees the difference, and expectation-maximisation climbs it: Myronenko & Song, "Point set
registration: coherent point drift" (2010), affine case, with the width of the kernels left as the source has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from driftway.adaptation.affine import Affine, fit_affine

Double = npt.NDArray[np.float64]

SAMPLE = 200  # larger samples are thinned to this many points, evenly in their order
# Standard errors by which the batch is less likely than the source's own points: within EXPLAINED a new map is taken,
# the number at which a step warns, too; beyond twice that the old one is in DOUBT. With DOUBT = 5 the fits to 50 noisy
# points replaced better ones (moons of noise .15); a turn by 36° taken for a squeeze has 34 to 73.
EXPLAINED = 5.0
DOUBT = 2.0 * EXPLAINED
# Kernels begin with this share of the variance, that of transport at its default entropy, and narrow by this factor.
WIDE, NARROWING = 0.1, 0.5
ROUNDS = 30  # three times what it takes the kernels to narrow from WIDE to a thousandth of it
SETTLED = 0.1  # a gain in log-likelihood, in nats, that is nothing
WIDTH_ROUNDS = 5  # the width is then known to a few per cent; it matters by its logarithm


class Density(NamedTuple):
    """Gaussian kernels of variance `width` around the points; `usual` ± `spread` is their own log-density, left out."""

    width: float
    usual: float
    spread: float


def density_of(points: Double, a: Double) -> Density:
    """The width that makes every point most likely given the others (n×d, weights a), found by fixed-point steps."""
    squares = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    d, least = points.shape[1], 1e-12 * float(a @ points**2 @ np.ones(points.shape[1])) + 1e-300
    width = max(float(a @ squares.min(axis=0)) / d, least)
    finite = np.where(np.isfinite(squares), squares, 0.0)
    for _ in range(WIDTH_ROUNDS):
        origins = log_density(squares, a, width, d)[1]
        width = max(float((origins * finite).sum(axis=0) @ a) / d, least)
    own = log_density(squares, a, width, d)[0] - np.log1p(-a)
    usual = float(a @ own)
    return Density(width, usual, float(np.sqrt(a @ (own - usual) ** 2)))


def log_density(squares: Double, a: Double, width: float, d: int) -> tuple[Double, Double]:
    """log Σ_i a_i N(y_j; x_i, width·I) from squared distances (n×m), and the shares of the i in it (n×m)."""
    exponents = -0.5 * squares / width
    top = exponents.max(axis=0)
    kernels = a[:, None] * np.exp(exponents - top)
    total = kernels.sum(axis=0)
    return np.log(total) + top - 0.5 * d * np.log(2.0 * np.pi * width), kernels / total


def registered(images: Double, expected: Double, masses: Double, batch: Double, b: Double) -> Double:
    """The images (n×d), or if they make the batch unlikely those of an affine map of `expected` that does not.

    A batch that no affine map makes likely is for other hypotheses: the images stay what they are.
    """
    (at, a), (Y, b) = _thinned(images, masses), _thinned(batch, b)
    start = _thinned(expected, masses)[0]
    if len(at) < 3 or not np.ptp(start, axis=0).any():
        return images
    density = density_of(start, a)
    if _doubt(at, a, Y, b, density) <= DOUBT:
        return images
    found = _climb(start, at, a, Y, b, density.width)
    if _doubt(start + found(start), a, Y, b, density) > EXPLAINED:
        return images
    return expected + found(expected)


def _doubt(points: Double, a: Double, Y: Double, b: Double, density: Density) -> float:
    """By how many standard errors the batch is less likely than the source's own points are."""
    likelihood = b @ log_density(cdist(points, Y, "sqeuclidean"), a, density.width, Y.shape[1])[0]
    error = float(density.spread * np.sqrt(a @ a + b @ b))
    return float((density.usual - likelihood) / max(error, 1e-12))


def _climb(start: Double, at: Double, a: Double, Y: Double, b: Double, narrowest: float) -> Affine:
    """The affine displacement of `start` that makes Y most likely, from the images `at` on.

    Every round: which point each y comes from, then least squares. Entries of the linear part are N(0, 1/d) a priori,
    a displacement of the size of the spread; with m points seen through kernels it is a ridge of d/m · width/variance.
    """
    d, size = Y.shape[1], 1.0 / float(b @ b)
    variance = float(a @ ((start - a @ start) ** 2).sum(axis=1)) / d
    width, best = max(narrowest, WIDE * variance), -np.inf
    found = fit_affine(start, at - start, a, 0.0)
    for _ in range(ROUNDS):
        likelihood, origins = log_density(cdist(start + found(start), Y, "sqeuclidean"), a, width, d)
        if width == narrowest:
            value = size * float(b @ likelihood)
            if value < best + SETTLED:
                break
            best = value
        flow = origins * b
        share = flow.sum(axis=1)
        held = share > 1e-12
        seen = (flow[held] @ Y) / share[held, None]
        found = fit_affine(start[held], seen - start[held], share[held], d / size * width / variance)
        width = max(narrowest, NARROWING * width)
    return found


def _thinned(points: Double, weights: Double) -> tuple[Double, Double]:
    step = -(-len(points) // SAMPLE)
    kept = weights[::step]
    if not kept.sum() > 0:
        return points, weights / weights.sum()
    return points[::step], kept / kept.sum()
