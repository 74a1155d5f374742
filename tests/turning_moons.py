"""Two moons that turn, the paper's setting, and the accuracy batch by batch."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons

from driftway import ContinuousTransportClassifier

Array = np.ndarray
PAPER = {
    "metric": "euclidean",
    "epsilon": 0.4,
    "relative_epsilon": False,
    "time_weight": 0.3,
    "map": "barycentric",
    "motion": None,
    "labels": "classifier",
    "scale": None,
    "stay": False,
}


def turned(X: Array, degrees: float) -> Array:
    t, centre = np.deg2rad(degrees), np.array([0.5, 0.25])
    return (X - centre) @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) + centre


def moons(
    steps: int = 20, degrees: float = 18.0, n: int = 300, m: int = 50, seed: int = 0, noise: float = 0.05
) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    """A source, and batches with the labels that nobody sees."""
    X, y = make_moons(n, noise=noise, random_state=seed)
    batches = [make_moons(m, noise=noise, random_state=1000 * seed + t) for t in range(1, steps + 1)]
    return X, y, [(turned(B, degrees * (t + 1)), z) for t, (B, z) in enumerate(batches)]


def scores(model: ContinuousTransportClassifier, batches: list[tuple[Array, Array]]) -> list[float]:
    return [model.partial_fit(B).score(B, z) for B, z in batches]
