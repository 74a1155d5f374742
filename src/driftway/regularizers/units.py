"""Regularisers in other units of mass and cost: J'(γ') = J(mass·γ') / (mass·cost)."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import Engine
from driftway.regularizers.evaluation import checked_gradient, checked_value
from driftway.regularizers.forms import GroupNorms, RowQuadratic
from driftway.regularizers.group_lasso import GroupLasso
from driftway.regularizers.moment_regularizer import (
    MomentRegularizer,
    SameMoments,
    checked_phi,
    checked_phi_gradient,
)
from driftway.regularizers.regularizer import Multiple, Regularizer, Sum

Double = npt.NDArray[np.float64]


def in_units(J: Regularizer, mass: float, cost: float) -> Regularizer:
    """J as a function of plans in units of `mass`, in units of `mass` times `cost`.

    Sums, multiples and the group lasso, which is homogeneous, stay what they are: solvers look for them.
    """
    if J.vanishes:
        return J
    if isinstance(J, GroupLasso):
        return GroupLasso(J.labels, J.weight / cost)
    if isinstance(J, Sum):
        return type(J)([in_units(term, mass, cost) for term in J.terms])
    if isinstance(J, Multiple):
        return type(J)(in_units(J.term, mass, cost), J.factor)
    return (_InUnitsByMoments if isinstance(J, MomentRegularizer) else _InUnits)(J, mass, cost)


class _InUnits(Regularizer):
    """J of plans in other units."""

    def __init__(self, term: Regularizer, mass: float, cost: float) -> None:
        self.term, self.mass, self.cost = term, mass, cost
        self.convex, self.proven = term.convex, term.proven
        self.minimum = None if term.minimum is None else term.minimum / mass / cost

    def __repr__(self) -> str:
        return repr(self.term)

    @property
    def smoothness(self) -> float | None:
        """H is homogeneous up to a constant on the couplings, so only the unit of cost counts."""
        smoothness = self.term.smoothness
        return None if smoothness is None else smoothness / self.cost

    @property
    def lipschitz(self) -> float | None:
        lipschitz = self.term.lipschitz
        return None if lipschitz is None else lipschitz / self.cost

    @property
    def group_norms(self) -> GroupNorms | None:
        """Norms are homogeneous, so only the unit of cost counts."""
        norms = self.term.group_norms
        return None if norms is None else norms._replace(weight=norms.weight / self.cost)

    def with_engine(self, engine: Engine) -> Self:
        return type(self)(self.term.with_engine(engine), self.mass, self.cost)

    def value(self, gamma: Double) -> float:
        return checked_value(self.term, self.mass * gamma) / self.mass / self.cost

    def gradient(self, gamma: Double) -> Double:
        return checked_gradient(self.term, self.mass * gamma) / self.cost


class _InUnitsByMoments(_InUnits, SameMoments):
    """The same for J = φ(γR, γᵀL): φ'(M) = φ(mass·M) / (mass·cost)."""

    term: MomentRegularizer

    def phi(self, right: Double, left: Double) -> float:
        return checked_phi(self.term, self.mass * right, self.mass * left) / self.mass / self.cost

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        first, second = checked_phi_gradient(self.term, self.mass * right, self.mass * left)
        return first / self.cost, second / self.cost

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        conjugate = self.term.phi_conjugate(self.cost * right, self.cost * left)
        return None if conjugate is None else conjugate / self.mass / self.cost

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        """φ' has the centre of φ in units of mass, and mass/cost times its second derivative."""
        inner = self.term.row_quadratic
        if inner is None:
            return None
        return RowQuadratic(inner.centre / self.mass, inner.curvature / self.mass * self.cost)
