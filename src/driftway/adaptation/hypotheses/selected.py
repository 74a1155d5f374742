"""Nothing moves, but rows are drawn otherwise: covariate shift by selection, for a regression.

Offsets that walk shift the mean of a batch, and so does a selection of rows; only in the latter is the source's
estimator still right where it stands. So a batch's mean is explained without a map as well, by the masses p of the
source's points that differ least from their own q (the maximum-entropy tilt, with one number per feature as offsets
have):

    p ∝ q exp(θ·z),        θ = argmin  log Σ q exp(θ·z) − θ·mean(batch) + |θ|² / 2m

Its evidence is that of all hypotheses: what is left in the discriminant and in the full space. Offsets of their own for
every feature ignore how features are correlated, and go beyond the source's support; a selection cannot follow there.
Where features are Gaussian and rows are selected so strongly that few of the source's are left, the two look the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from driftway.adaptation.hypotheses.sensor_search import MOST_EVIDENCE
from driftway.adaptation.hypotheses.sensor_state import SensorState
from driftway.adaptation.hypotheses.sensors import SensorFit, Sensors
from driftway.adaptation.source.classes import REACH, SourceClasses
from driftway.adaptation.source.clouds import thinned

Double = npt.NDArray[np.float64]

# Odds of four hundred to one for the source's own estimator: where columns are nearly collinear it magnifies what is
# wrong with a map, so a wrong one costs more than drift that is followed a batch later.
HEAD_START = 6.0
# Steps of the search for a tilt, which is convex and has one number per feature.
SEARCH = 50


@dataclass(frozen=True, eq=False)
class Selected(Sensors):
    """No map, and a free mix of the targets' range or a tilt of the inputs, whichever explains the batch better."""

    moves: bool = False
    free_mix: bool = True

    @property
    def price(self) -> float:
        return -HEAD_START

    def fit(self, state: SensorState, batch: Double) -> SensorFit:
        by_target = super().fit(state, batch)
        sample = by_target.back(thinned(by_target.batch))
        masses = tilted(self.source, by_target.back(by_target.batch))
        misfit, energy = evidence(self.source, masses, sample, len(batch))
        if misfit + energy >= by_target.misfit + by_target.energy:
            return by_target
        return replace(by_target, misfit=misfit, energy=energy)


def tilted(source: SourceClasses, batch: Double) -> Double:
    """The masses of the source's landmarks, tilted so that their mean is the batch's, as far as its size tells."""
    points, own = source.full.points, np.log(source.full.inside @ source.shares)
    mean = np.clip(batch, -REACH, REACH).mean(axis=0)

    def dual(theta: Double) -> tuple[float, Double]:
        logs = own + points @ theta
        total = float(logsumexp(logs))
        gradient = np.exp(logs - total) @ points - mean + theta / len(batch)
        return total - float(theta @ mean) + 0.5 * float(theta @ theta) / len(batch), gradient

    theta = minimize(dual, np.zeros(len(mean)), jac=True, method="L-BFGS-B", options={"maxiter": SEARCH}).x
    logs = own + points @ theta
    return np.exp(logs - logsumexp(logs))


def evidence(source: SourceClasses, masses: Double, sample: Double, size: int) -> tuple[float, float]:
    """Nats left in the discriminant and in the full space, as of the other hypotheses."""
    counted = min(size, MOST_EVIDENCE)
    own = source.full.inside @ source.shares
    near, _ = _energy(source.near.points, masses, own, sample @ source.directions)
    full, among = _energy(source.full.points, masses, own, np.clip(sample, -REACH, REACH))
    return 0.5 * counted * source.near.spread * near, 2.0 * counted * full / max(among, 1e-9)


def _energy(points: Double, masses: Double, own: Double, sample: Double) -> tuple[float, float]:
    """The energy distance between weighted points and a sample, not negative; and E|x − x′| of the sample.

    Points are not compared with themselves as far as their own masses go, which is the bias of a finite source. What a
    tilt adds to that is left in: few points that are drawn again and again are no distribution that explains a batch.
    """
    m = len(sample)
    among = float(cdist(sample, sample).sum()) / (m * (m - 1))
    inside = float(masses @ cdist(points, points) @ masses) / max(1.0 - float(own @ own), 0.5)
    return max(2.0 * float(cdist(sample, points).mean(axis=0) @ masses) - inside - among, 0.0), among
