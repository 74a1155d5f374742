"""Sums and multiples of regularisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from driftway.regularizers.regularizer import (
    MomentRegularizer,
    Regularizer,
    RowQuadratic,
    checked_gradient,
    checked_phi,
    checked_phi_gradient,
    checked_value,
)
from driftway.validation import real_number

Double = npt.NDArray[np.float64]
T = TypeVar("T")


def add(first: Regularizer, second: Regularizer) -> Regularizer:
    """First + second, in moment form if both have one."""
    terms = [*_terms(first), *_terms(second)]
    return MomentSum(terms) if all(isinstance(term, MomentRegularizer) for term in terms) else Sum(terms)


def scale(term: Regularizer, factor: object) -> Regularizer:
    """factor · term for a factor ≥ 0, in moment form if the term has one."""
    number = real_number("the factor of a regularizer", factor, minimum=0.0)
    return MomentMultiple(term, number) if isinstance(term, MomentRegularizer) else Multiple(term, number)


def leaves(term: Regularizer) -> list[tuple[float, Regularizer]]:
    """The terms of a sum of multiples of sums …, each with its factor."""
    if isinstance(term, Sum):
        return [leaf for part in term.terms for leaf in leaves(part)]
    if isinstance(term, Multiple):
        return [(term.factor * factor, leaf) for factor, leaf in leaves(term.term)]
    return [(1.0, term)]


def _terms(term: Regularizer) -> Sequence[Regularizer]:
    return term.terms if isinstance(term, Sum) else [term]


def _total(values: Sequence[float | None]) -> float | None:
    """The sum, or `None` if a summand is unknown."""
    return None if any(value is None for value in values) else float(sum(values))  # type: ignore[arg-type]


class Sum(Regularizer):
    """J₁ + J₂ + …"""

    def __init__(self, terms: Sequence[Regularizer]) -> None:
        self.terms = list(terms)
        self.convex, self.proven = all(term.convex for term in terms), all(term.proven for term in terms)
        self.minimum = _total([term.minimum for term in terms])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def on(self, a: Double, b: Double) -> Self:
        return type(self)([term.on(a, b) for term in self.terms])

    @property
    def smoothness(self) -> float | None:
        return _total([term.smoothness for term in self.terms])

    @property
    def lipschitz(self) -> float | None:
        return _total([term.lipschitz for term in self.terms])

    def value(self, gamma: Double) -> float:
        return sum(checked_value(term, gamma) for term in self.terms)

    def gradient(self, gamma: Double) -> Double:
        total = np.zeros(gamma.shape)
        for term in self.terms:
            total += checked_gradient(term, gamma)
        return total


class MomentSum(Sum, MomentRegularizer):
    """A sum of moment regularisers: their moments stand side by side."""

    terms: list[MomentRegularizer]  # type: ignore[assignment]

    @property
    def right_basis(self) -> Double:
        return np.hstack([term.right_basis for term in self.terms])

    @property
    def left_basis(self) -> Double:
        return np.hstack([term.left_basis for term in self.terms])

    def phi(self, right: Double, left: Double) -> float:
        return sum(self._each(checked_phi, right, left))

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        parts = self._each(checked_phi_gradient, right, left)
        return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        return _total(self._each(lambda term, r, c: term.phi_conjugate(r, c), right, left))

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        parts = [term.row_quadratic for term in self.terms]
        if any(part is None for part in parts):
            return None
        return RowQuadratic(*(np.hstack(arrays) for arrays in zip(*parts, strict=True)))

    def _each(self, function: Callable[[MomentRegularizer, Double, Double], T], right: Double, left: Double) -> list[T]:
        """`function` of every term and its own columns of the moments."""
        rights = np.cumsum([term.right_basis.shape[1] for term in self.terms])[:-1]
        lefts = np.cumsum([term.left_basis.shape[1] for term in self.terms])[:-1]
        columns = zip(self.terms, np.split(right, rights, axis=1), np.split(left, lefts, axis=1), strict=True)
        return [function(term, r, c) for term, r, c in columns]


class Multiple(Regularizer):
    """factor · J."""

    def __init__(self, term: Regularizer, factor: float) -> None:
        self.term, self.factor = term, factor
        self.convex, self.proven = term.convex, term.proven
        self.minimum = None if term.minimum is None else factor * term.minimum

    def __repr__(self) -> str:
        term = f"({self.term!r})" if isinstance(self.term, Sum) else repr(self.term)
        return f"{self.factor:g} * {term}"

    def on(self, a: Double, b: Double) -> Self:
        return type(self)(self.term.on(a, b), self.factor)

    @property
    def smoothness(self) -> float | None:
        smoothness = self.term.smoothness
        return None if smoothness is None else self.factor * smoothness

    @property
    def lipschitz(self) -> float | None:
        lipschitz = self.term.lipschitz
        return None if lipschitz is None else self.factor * lipschitz

    def value(self, gamma: Double) -> float:
        return self.factor * checked_value(self.term, gamma)

    def gradient(self, gamma: Double) -> Double:
        return self.factor * checked_gradient(self.term, gamma)

    def conjugate(self, dual: Double) -> float | None:
        if self.factor == 0.0:
            return 0.0 if not dual.any() else np.inf
        conjugate = self.term.conjugate(dual / self.factor)
        return None if conjugate is None else self.factor * conjugate


class MomentMultiple(Multiple, MomentRegularizer):
    """factor · J for a moment regulariser."""

    term: MomentRegularizer

    @property
    def right_basis(self) -> Double:
        return self.term.right_basis

    @property
    def left_basis(self) -> Double:
        return self.term.left_basis

    def phi(self, right: Double, left: Double) -> float:
        return self.factor * checked_phi(self.term, right, left)

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        first, second = checked_phi_gradient(self.term, right, left)
        return self.factor * first, self.factor * second

    def phi_conjugate(self, right: Double, left: Double) -> float | None:
        if self.factor == 0.0:
            return 0.0 if not right.any() and not left.any() else np.inf
        conjugate = self.term.phi_conjugate(right / self.factor, left / self.factor)
        return None if conjugate is None else self.factor * conjugate

    @property
    def row_quadratic(self) -> RowQuadratic | None:
        inner = self.term.row_quadratic
        if inner is None:
            return None
        if self.factor == 0.0:
            return RowQuadratic(inner.centre, np.full_like(inner.curvature, np.inf))
        return RowQuadratic(inner.centre, inner.curvature / self.factor)
