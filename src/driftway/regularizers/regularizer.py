"""What a regulariser is: a smooth function J of the plan, and what it may declare about itself; sums and multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Self

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import real_array, real_number
from driftway.engines.cores import free_blas
from driftway.plan.plan import Plan

Double = npt.NDArray[np.float64]

# Entries from which the products of a regulariser may be large enough to be shared among threads.
SHARED = 2**16


class Regularizer(ABC):
    """A smooth function J(γ) of the plan.

    A subclass gives `value` and `gradient`. What else it declares is used where it helps:

    convex : whether J is convex, which is what makes a lower bound on the optimum possible
    minimum : a number that J never falls below, if one is known
    smoothness : L such that L·H − J is convex on the couplings, so that steps up to 1/L descend
    lipschitz : K such that J changes by at most K times the mass by which a plan changes
    conjugate : J*(G) = sup over γ of ⟨G, γ⟩ − J(γ)
    proven : whether all this is known to be true, as it is of the regularisers of this library; what is not is put to
        the test during a solve, at the plan a ⊗ b
    """

    __array_ufunc__ = None  # array * regularizer is an error, not an array of objects
    convex: bool = False
    minimum: float | None = None
    proven: bool = False

    def __init_subclass__(cls, **options: object) -> None:
        """What is proven of a class is not of those derived from it."""
        super().__init_subclass__(**options)
        cls.proven = vars(cls).get("proven", False)

    @abstractmethod
    def value(self, gamma: Double) -> float:
        """J(γ) for an n×m array."""

    @abstractmethod
    def gradient(self, gamma: Double) -> Double:
        """∇J(γ), an n×m array."""

    @property
    def smoothness(self) -> float | None:
        """The relative smoothness constant L, or `None` if it is not known."""
        return None

    @property
    def lipschitz(self) -> float | None:
        """K with |J(γ) − J(γ')| ≤ K ‖γ − γ'‖₁ for all non-negative plans, or `None` if none is known."""
        return None

    def conjugate(self, dual: Double) -> float | None:
        """J*(dual) for an n×m array, or `None` if it is not known."""
        return None

    def on(self, a: Double, b: Double) -> Self:
        """The regulariser on the couplings of a and b; raises if its arrays do not fit them."""
        return self

    def partials(self, plan: Plan) -> dict[str, Double]:
        """∂J/∂θ at the plan for the arrays θ that J is made of, by name; "a" and "b" are the problem's masses.

        It is what the derivative of the optimal value needs to know of J (see `driftway.derivatives`). One whose
        `on` does not depend on the masses, and that has no arrays worth differentiating, has none.
        """
        return {}

    def __add__(self, other: object) -> Regularizer:
        return Sum([*_terms(self), *_terms(other)]) if isinstance(other, Regularizer) else NotImplemented

    def __radd__(self, other: object) -> Regularizer:
        """For `sum`, which begins at zero."""
        return self if other == 0 else NotImplemented

    def __truediv__(self, divisor: object) -> Regularizer:
        return self * (1.0 / real_number("the divisor of a regularizer", divisor, minimum=0.0, strict=True))

    def __mul__(self, factor: object) -> Regularizer:
        return Multiple(self, checked_factor(factor))

    def __rmul__(self, factor: object) -> Regularizer:
        return self * factor


class Sum(Regularizer):
    """J₁ + J₂ + …"""

    def __init__(self, terms: Sequence[Regularizer]) -> None:
        self.terms = list(terms)
        self.convex, self.proven = all(term.convex for term in terms), all(term.proven for term in terms)
        self.minimum = total_of([term.minimum for term in terms])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def on(self, a: Double, b: Double) -> Self:
        return type(self)([term.on(a, b) for term in self.terms])

    @property
    def smoothness(self) -> float | None:
        return total_of([term.smoothness for term in self.terms])

    @property
    def lipschitz(self) -> float | None:
        return total_of([term.lipschitz for term in self.terms])

    def value(self, gamma: Double) -> float:
        return sum(checked_value(term, gamma) for term in self.terms)

    def gradient(self, gamma: Double) -> Double:
        total = np.zeros(gamma.shape)
        for term in self.terms:
            total += checked_gradient(term, gamma)
        return total


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


def leaves(term: Regularizer) -> list[tuple[float, Regularizer]]:
    """The terms of a sum of multiples of sums …, each with its factor."""
    if isinstance(term, Sum):
        return [leaf for part in term.terms for leaf in leaves(part)]
    if isinstance(term, Multiple):
        return [(term.factor * factor, leaf) for factor, leaf in leaves(term.term)]
    return [(1.0, term)]


def _terms(term: Regularizer) -> Sequence[Regularizer]:
    return term.terms if isinstance(term, Sum) else [term]


def checked_factor(factor: object) -> float:
    """A factor of a regulariser, which must not be negative."""
    return real_number("the factor of a regularizer", factor, minimum=0.0)


def total_of(values: Sequence[float | None]) -> float | None:
    """The sum, or `None` if a summand is unknown."""
    return None if any(value is None for value in values) else float(sum(values))  # type: ignore[arg-type]


def checked_value(J: Regularizer, gamma: Double) -> float:
    """J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        value = J.value(gamma)
    return one_number("value", value)


def checked_gradient(J: Regularizer, gamma: Double) -> Double:
    """∇J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        gradient = J.gradient(gamma)
    return finite_like("gradient", gradient, "the plan's", gamma.shape)


def _freely(gamma: Double) -> AbstractContextManager[None]:
    """Where J may be products as large as those of a Laplacian, BLAS may use its threads for them."""
    return free_blas() if gamma.size > SHARED else nullcontext()


def one_number(name: str, value: object) -> float:
    """What a regulariser returned as one finite number, or an error that names it."""
    number = real_array(f"the regularizer's {name}", value)
    if number.size != 1:
        raise ValueError(f"the regularizer's {name} must be one number, got an array of shape {number.shape}")
    if not np.isfinite(number).all():
        raise ValueError(f"the regularizer's {name} must be finite, got {value}")
    return float(number.reshape(()))


def finite_like(name: str, value: object, whose: str, shape: tuple[int, ...]) -> Double:
    """What a regulariser returned as a finite array of this shape, or an error that names it."""
    array = real_array(f"the regularizer's {name}", value)
    if array.shape != shape:
        raise ValueError(f"the regularizer's {name} must have {whose} shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the regularizer's {name} must be finite, but it contains NaN or infinity")
    return array.astype(np.float64, copy=False)
