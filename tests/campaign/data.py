"""The arrays of a problem, made from its specification."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .specs import Spec

Double = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Term:
    """One term of J by its name, its weight and its arrays."""

    name: str
    weight: float
    arrays: dict[str, Double] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Data:
    """Cost matrix, masses, ε and the terms of J; `clouds` are the points if the cost is a distance."""

    cost: Double
    clouds: tuple[Double, Double] | None
    a: Double
    b: Double
    epsilon: float
    terms: list[Term]

    @property
    def convex(self) -> bool:
        return all(term.name != "wasserstein" for term in self.terms)


def arrays(spec: Spec) -> Data:
    """The arrays; weights are in the unit that makes a term of strength 1 as large as the transport cost."""
    rng = np.random.default_rng(spec["seed"])
    n, m, unit, mass = spec["n"], spec["m"], 10.0 ** spec["cost_exponent"], 10.0 ** spec["mass_exponent"]
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2)) + 0.5
    cost, clouds = unit * rng.random((n, m)), None
    if spec["cost"] != "matrix":
        scale = unit if spec["cost"] == "euclidean" else np.sqrt(unit)
        clouds = scale * X, scale * Y
    if spec["single"]:
        cost = cost.astype(np.float32)
        clouds = clouds and (clouds[0].astype(np.float32), clouds[1].astype(np.float32))
    if clouds is not None:
        x, y = (points.astype(np.longdouble) for points in clouds)
        squares = ((x[:, None] - y) ** 2).sum(axis=2)
        cost = np.sqrt(squares) if spec["cost"] == "euclidean" else squares
    a, b = (
        _masses(rng, n, mass, spec["tiny_row"], spec["zeros"]),
        _masses(rng, m, mass, spec["tiny_column"], spec["zeros"]),
    )
    b *= a.sum() / b.sum()
    terms = [_term(rng, name, strength * unit, mass, X, Y) for name, strength in spec["terms"]]
    return Data(cost, clouds, a, b, spec["epsilon"] * unit, terms)


def _masses(rng: np.random.Generator, size: int, mass: float, tiny: float, zeros: bool) -> Double:
    masses = rng.dirichlet(np.full(size, 3.0))
    if size > 1 and tiny:
        masses[0] *= 10.0**-tiny
    if size > 2 and zeros:
        masses[-1] = 0.0
    return mass * masses / masses.sum()


def _term(rng: np.random.Generator, name: str, weight: float, mass: float, X: Double, Y: Double) -> Term:
    n, m = len(X), len(Y)
    if name == "lasso":
        return Term(name, weight, {"labels": rng.integers(0, 3, n)})
    if name.startswith("time"):
        unit = {"mean": 1.0, "sum": mass / n, "coupling": n / mass}[name[5:]]
        return Term(name, weight * unit, {"Y": Y, "previous": X + 0.3 * rng.normal(size=X.shape)})
    if name.startswith("laplacian"):
        own, other = (X, Y) if name.endswith("source") else (Y, X)
        similarity = np.exp(-((own[:, None] - own) ** 2).sum(axis=2))
        return Term(name, weight * mass, {"similarity": similarity, "points": other})
    if name == "wasserstein":
        return Term(name, weight, {"Y": Y, "previous": X + 0.3 * rng.normal(size=X.shape)})
    return Term(name, weight * n * m / mass)
