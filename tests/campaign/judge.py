"""The objective and lower bounds of the optimum in extended precision, written without the library.

Nothing here is fast, and everything follows from the definitions: what a plan costs, and what weak duality says of any
potentials.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .data import Data, Term

Wide = Any  # arrays and numbers of np.longdouble, which NumPy's types know by other names on every platform
SINKHORN_UPDATES = 300  # beyond this a bound that is still weak stays so
EPS = 2.3e-16  # plans come in float64, whatever precision sums have here


def objective(data: Data, gamma: Wide) -> tuple[float, float]:
    """⟨γ, C⟩ + ε Σ γ (log γ − 1) + J(γ), and the absolute values that it adds up."""
    gamma, cost = np.asarray(gamma, np.longdouble), np.asarray(data.cost, np.longdouble)
    logs = np.log(np.where(gamma > 0, gamma, 1.0)) - 1.0
    parts = [
        gamma * cost,
        data.epsilon * gamma * logs,
        *(np.asarray(VALUES[t.name](data, t, gamma)) for t in data.terms),
    ]
    return float(sum(part.sum() for part in parts)), float(sum(np.abs(part).sum() for part in parts))


def lower_bound(data: Data, gamma: Wide, potentials: tuple[Wide, Wide]) -> tuple[float, float]:
    """A lower bound of the optimum for convex J, and the absolute values that it adds up.

    J is above its tangent at γ. What remains is linear transport, with entropy or without, bounded by its dual.
    """
    gamma, a, b = (np.asarray(array, np.longdouble) for array in (gamma, data.a, data.b))
    slope, offset, size = np.asarray(data.cost, np.longdouble), np.longdouble(0), np.longdouble(0)
    for term in data.terms:
        gradient = GRADIENTS[term.name](data, term, gamma)
        paired, value = (gradient * gamma).sum(), np.asarray(VALUES[term.name](data, term, gamma)).sum()
        slope, offset = slope + gradient, offset + paired - value
        size += np.abs(gradient * gamma).sum() + abs(value)
    f, g, spread = _entropic(data, slope, a, b, potentials) if data.epsilon > 0 else _linear(slope, a, b)
    paired = (f * a).sum() + (g * b).sum()
    size += (np.abs(f) * a).sum() + (np.abs(g) * b).sum() + abs(spread)
    return float(paired - spread - offset), float(size)


def _entropic(data: Data, slope: Wide, a: Wide, b: Wide, potentials: tuple[Wide, Wide]) -> tuple[Wide, Wide, Wide]:
    epsilon = np.longdouble(data.epsilon)
    rows, columns = a > 0, b > 0
    inner, log_a, log_b = slope[np.ix_(rows, columns)] / epsilon, np.log(a[rows]), np.log(b[columns])
    g = np.asarray(potentials[1], np.longdouble)[columns] / epsilon
    g = np.where(np.isfinite(g), g, 0.0)
    for _ in range(SINKHORN_UPDATES):
        f = log_a - _logsumexp(g - inner, 1)
        after = log_b - _logsumexp(f[:, None] - inner, 0)
        done = np.abs(after - g).max() < 1e-13
        g = after
        if done:
            break
    f = log_a - _logsumexp(g - inner, 1)
    full_f, full_g = np.zeros_like(a), np.zeros_like(b)
    full_f[rows], full_g[columns] = epsilon * f, epsilon * g
    return full_f, full_g, epsilon * np.exp(f[:, None] + g - inner).sum()


def _linear(slope: Wide, a: Wide, b: Wide) -> tuple[Wide, Wide, Wide]:
    """Potentials of the linear programme, made feasible by a c-transform."""
    rows, columns = a > 0, b > 0
    inner = slope[np.ix_(rows, columns)]
    low, scale = inner.min(), max(np.ptp(inner), np.longdouble(1e-300))
    n, m = inner.shape
    sums = sparse.vstack(
        [sparse.kron(sparse.eye_array(n), np.ones((1, m))), sparse.kron(np.ones((1, n)), sparse.eye_array(m))]
    )
    masses = np.concatenate([a[rows] / a.sum(), b[columns] / b.sum()]).astype(float)
    found = linprog(((inner - low) / scale).astype(float).ravel(), A_eq=sums.tocsr(), b_eq=masses, method="highs")
    potential = np.zeros(m) if found.eqlin is None else found.eqlin.marginals[n:]
    f, g = np.zeros_like(a), np.zeros_like(b)
    g[columns] = scale * potential
    f[rows] = (inner - g[columns]).min(axis=1)
    return f, g, np.longdouble(0)


def _logsumexp(x: Wide, axis: int) -> Wide:
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + top.squeeze(axis)


def _groups(term: Term, gamma: Wide) -> list[tuple[Wide, Wide]]:
    """Where each class is, and its norms; divided by their largest entry, no squares underflow."""
    found = []
    for label in np.unique(term.arrays["labels"]):
        where = term.arrays["labels"] == label
        top = gamma[where].max(axis=0)
        top = np.where(top > 0, top, 1.0)
        found.append((where, top * np.sqrt(((gamma[where] / top) ** 2).sum(axis=0))))
    return found


def _lasso(data: Data, term: Term, gamma: Wide) -> Wide:
    return term.weight * np.concatenate([norms for _, norms in _groups(term, gamma)])


def _lasso_gradient(data: Data, term: Term, gamma: Wide) -> Wide:
    gradient = np.zeros_like(gamma)
    for where, norms in _groups(term, gamma):
        gradient[where] = term.weight * gamma[where] / np.where(norms > 0, norms, 1.0)
    return gradient


def _images(data: Data, masses: Wide, moments: Wide) -> Wide:
    return moments / np.where(masses > 0, masses, 1.0)[:, None]


def _time(data: Data, term: Term, gamma: Wide) -> Wide:
    a = np.asarray(data.a, np.longdouble)
    share = {"mean": a, "sum": (a > 0).astype(np.longdouble), "coupling": a**2}[term.name[5:]]
    return term.weight * share * (_displacement(data, term, gamma) ** 2).sum(axis=1)


def _time_gradient(data: Data, term: Term, gamma: Wide) -> Wide:
    a = np.asarray(data.a, np.longdouble)
    over = {
        "mean": (a > 0).astype(np.longdouble),
        "sum": np.where(a > 0, 1.0 / np.where(a > 0, a, 1.0), 0.0),
        "coupling": a,
    }
    centred = term.arrays["Y"] - term.arrays["Y"].mean(axis=0)
    pull = 2.0 * term.weight * over[term.name[5:]][:, None] * _displacement(data, term, gamma)
    return pull @ centred.T.astype(np.longdouble)


def _displacement(data: Data, term: Term, gamma: Wide) -> Wide:
    """About the centre of Y, where errors of the row sums do not count."""
    a, centre = np.asarray(data.a, np.longdouble), term.arrays["Y"].astype(np.longdouble).mean(axis=0)
    return _images(data, a, gamma @ (term.arrays["Y"] - centre)) - (term.arrays["previous"] - centre)


def _laplacian(data: Data, term: Term, gamma: Wide) -> Wide:
    u, _, weight, edges = _graph(data, term, gamma)
    return weight * (edges * ((u[:, None] - u) ** 2).sum(axis=2)).sum(axis=1)


def _laplacian_gradient(data: Data, term: Term, gamma: Wide) -> Wide:
    u, masses, weight, edges = _graph(data, term, gamma)
    pull = 4.0 * weight * (edges.sum(axis=1)[:, None] * u - edges @ u)
    gradient = _images(data, masses, pull) @ (term.arrays["points"] - term.arrays["points"].mean(axis=0)).T
    return gradient if term.name.endswith("source") else gradient.T


def _graph(data: Data, term: Term, gamma: Wide) -> tuple[Wide, Wide, Wide, Wide]:
    """The images, the masses of the points, the weight of an edge and the edges between points with mass."""
    source = term.name.endswith("source")
    masses = np.asarray(data.a if source else data.b, np.longdouble)
    points = term.arrays["points"].astype(np.longdouble)
    moments = (gamma if source else gamma.T) @ (points - points.mean(axis=0))
    edges = term.arrays["similarity"] * np.multiply.outer(masses > 0, masses > 0)
    return _images(data, masses, moments), masses, np.longdouble(term.weight) / edges.sum(), edges


def _square(data: Data, term: Term, gamma: Wide) -> Wide:
    return term.weight * gamma**2


def _square_gradient(data: Data, term: Term, gamma: Wide) -> Wide:
    return 2.0 * term.weight * gamma


def _wasserstein(data: Data, term: Term, gamma: Wide) -> Wide:
    """The Sinkhorn divergence, debiased, by plain updates; it is not convex and bounds nothing."""
    a, Z = np.asarray(data.a, np.longdouble), term.arrays["previous"].astype(np.longdouble)
    blur, c = 0.1 * Z.var(axis=0).sum() or np.longdouble(1), np.full(len(Z), a.sum() / len(Z))
    T = _images(data, a, gamma @ term.arrays["Y"].astype(np.longdouble))
    return term.weight * (
        _divergence(T, a, Z, c, blur) - 0.5 * _divergence(T, a, T, a, blur) - 0.5 * _divergence(Z, c, Z, c, blur)
    )


def _divergence(X: Wide, a: Wide, Z: Wide, c: Wide, blur: Wide) -> Wide:
    """min ⟨π, D⟩ + δ KL(π | a ⊗ c / mass), up to the constant that the three of them share."""
    X, a = X[a > 0], a[a > 0]
    D, g = ((X[:, None] - Z[c > 0]) ** 2).sum(axis=2) / blur, np.zeros(int((c > 0).sum()), np.longdouble)
    c = c[c > 0]
    for _ in range(20 * SINKHORN_UPDATES):
        f = -_logsumexp(g + np.log(c) - D, 1)
        after = -_logsumexp(f[:, None] + np.log(a)[:, None] - D, 0)
        done = np.abs(after - g).max() < 1e-12
        g = after
        if done:
            break
    return blur * ((f * a).sum() + (g * c).sum())


VALUES: dict[str, Callable[[Data, Term, Wide], Wide]] = {
    "lasso": _lasso,
    "time-mean": _time,
    "time-sum": _time,
    "time-coupling": _time,
    "laplacian-source": _laplacian,
    "laplacian-target": _laplacian,
    "wasserstein": _wasserstein,
    "square": _square,
}
GRADIENTS: dict[str, Callable[[Data, Term, Wide], Wide]] = {
    "lasso": _lasso_gradient,
    "time-mean": _time_gradient,
    "time-sum": _time_gradient,
    "time-coupling": _time_gradient,
    "laplacian-source": _laplacian_gradient,
    "laplacian-target": _laplacian_gradient,
    "square": _square_gradient,
}
