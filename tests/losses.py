"""What the losses of both libraries are differentiated on: small data, and every regulariser of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftway import Custom, GroupLasso
from driftway.derivatives.deferred_regularizers import Laplacian, TimeSmoothness, WassersteinTime

N, M = 5, 4
_rng = np.random.default_rng(0)
X, Y, Z = _rng.normal(size=(N, 2)), _rng.normal(size=(M, 2)) + 0.5, _rng.normal(size=(N, 2))
A, B = _rng.dirichlet(np.full(N, 3.0)), _rng.dirichlet(np.full(M, 3.0))
LABELS = np.arange(N) % 2


def similarity(points: np.ndarray) -> np.ndarray:
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2)) * (1 - np.eye(len(points)))


SOURCE, TARGET = similarity(X), similarity(Y)

# Every regulariser as a function of the positions X, Y and Z. First-order methods solve the later ones, so they are
# weak enough for a tolerance of 1e-12 to be a matter of a few steps.
REGULARIZERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "none": lambda X, Y, Z: None,
    "lasso": lambda X, Y, Z: GroupLasso(LABELS, 0.3),
    "time-mean": lambda X, Y, Z: TimeSmoothness(Y, Z, 0.5),
    "time-sum": lambda X, Y, Z: TimeSmoothness(Y, Z, 0.05, "sum"),
    "time-coupling": lambda X, Y, Z: TimeSmoothness(Y, Z, 2.0, "coupling"),
    "lasso+time": lambda X, Y, Z: GroupLasso(LABELS, 0.2) + 2 * TimeSmoothness(Y, Z, 0.25),
    "laplacian-source": lambda X, Y, Z: Laplacian(SOURCE, Y, 0.03),
    "laplacian-target": lambda X, Y, Z: Laplacian(TARGET, X, 0.03, side="target"),
    "laplacian-displacement": lambda X, Y, Z: Laplacian(SOURCE, Y, 0.03, reference=X),
    "wasserstein": lambda X, Y, Z: WassersteinTime(Y, Z, 0.03, blur=0.5),
    "wasserstein-biased": lambda X, Y, Z: WassersteinTime(Y, Z, 0.03, blur=0.5, debias=False),
    "custom": lambda X, Y, Z: Custom(lambda g: (g**2).sum(), lambda g: 2 * g, convex=True),
}
