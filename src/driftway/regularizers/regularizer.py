"""The base class of regularisers, smooth functions J of the plan; their sums and multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import real_number
from driftway.engines.engine import Engine
from driftway.plan.plan import Plan
from driftway.regularizers.checks import checked_factor, total_of
from driftway.regularizers.evaluation import checked_gradient, checked_value
from driftway.regularizers.forms import GroupNorms, MomentForm

Double = npt.NDArray[np.float64]


class Regularizer(ABC):
    """Base class of regularisers: a smooth function J(γ) of the transport plan.

    Subclass it to write a regulariser of your own, or wrap two functions in `Custom`. Regularisers can be added to
    each other and multiplied by non-negative numbers.

    A subclass gives `value` and `gradient`. What else it declares is used where it helps.

    Attributes
    ----------
    convex : whether J is convex, which is what makes a lower bound on the optimum possible
    minimum : a number that J never falls below, if one is known
    smoothness : L such that L·H − J is convex on the couplings, so that steps up to 1/L descend
    lipschitz : K such that J changes by at most K times the mass by which a plan changes
    moment_form, group_norms : J in a form that some solvers need, if it has it
    proven : whether all this is known to be true, as it is of the regularisers of this library; if not, J and ∇J are
        evaluated at the plan a ⊗ b before a solve to see whether they are finite

    Examples
    --------
    A regulariser that keeps the plan near a given one:

    >>> import numpy as np
    >>> from driftway import GroupLasso, Problem, Regularizer, solve
    >>> class Near(Regularizer):
    ...     convex = True
    ...     minimum = 0.0
    ...
    ...     def __init__(self, reference):
    ...         self.reference = reference
    ...
    ...     def value(self, gamma):
    ...         return float(((gamma - self.reference) ** 2).sum())
    ...
    ...     def gradient(self, gamma):
    ...         return 2.0 * (gamma - self.reference)
    >>> reference = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> weak, strong = (
    ...     solve(Problem(cost, epsilon=0.1, regularizer=weight * Near(reference))).plan.dense()
    ...     for weight in (0.1, 100.0)
    ... )
    >>> bool(abs(strong - reference).max() < 0.1 * abs(weak - reference).max())
    True
    >>> both = 2.0 * Near(reference) + GroupLasso([0, 1])
    >>> both.value(reference)
    1.0

    """

    __array_ufunc__ = None  # array * regularizer is an error, not an array of objects
    convex: bool = False
    minimum: float | None = None
    proven: bool = False
    vanishes: bool = False
    """Whether J = 0."""

    def __init_subclass__(cls, **options: object) -> None:
        """What is proven of a class is not of those derived from it."""
        super().__init_subclass__(**options)
        cls.proven = vars(cls).get("proven", False)

    @abstractmethod
    def value(self, gamma: Double) -> float:
        """J(γ), the value of the regulariser at a plan.

        Parameters
        ----------
        gamma : array (n, m)
            The plan; it must not be written to.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import GroupLasso
        >>> lasso = GroupLasso([0, 0, 1, 1])
        >>> one_class_per_target = np.array([[0.25, 0.0], [0.25, 0.0], [0.0, 0.25], [0.0, 0.25]])
        >>> two_classes_per_target = np.array([[0.25, 0.0], [0.0, 0.25], [0.25, 0.0], [0.0, 0.25]])
        >>> round(lasso.value(one_class_per_target), 3), lasso.value(two_classes_per_target)
        (0.707, 1.0)

        """

    @abstractmethod
    def gradient(self, gamma: Double) -> Double:
        """∇J(γ), the gradient of the regulariser at a plan.

        Parameters
        ----------
        gamma : array (n, m)
            The plan; it must not be written to.

        Returns
        -------
        array (n, m)

        Examples
        --------
        The gradient agrees with a difference quotient:

        >>> import numpy as np
        >>> from driftway import GroupLasso
        >>> lasso, gamma, direction = GroupLasso([0, 0]), np.full((2, 2), 0.25), np.array([[1.0, 0.0], [0.0, 0.0]])
        >>> lasso.gradient(gamma).round(4)
        array([[0.7071, 0.7071],
               [0.7071, 0.7071]])
        >>> quotient = (lasso.value(gamma + 1e-6 * direction) - lasso.value(gamma)) / 1e-6
        >>> round(float(quotient), 4)
        0.7071

        """

    @property
    def smoothness(self) -> float | None:
        """The relative smoothness constant L, or `None` if it is not known.

        L·H − J is convex on the couplings, where H(γ) = Σ γ (log γ − 1). Forward-backward steps α ≤ 1/L then never
        raise the objective. Without L the step is found by a line search.

        Examples
        --------
        >>> from driftway import GroupLasso
        >>> GroupLasso([0, 0, 1], weight=3.0).smoothness
        3.0

        """
        return None

    @property
    def lipschitz(self) -> float | None:
        """The Lipschitz constant K in the 1-norm, or `None` if none is known.

        |J(γ) − J(γ')| ≤ K ‖γ − γ'‖₁ for all plans γ, γ' ≥ 0.

        Examples
        --------
        >>> from driftway import GroupLasso
        >>> GroupLasso([0, 0, 1], weight=3.0).lipschitz
        3.0

        """
        return None

    @property
    def moment_form(self) -> MomentForm | None:
        """J as a function φ(γR, γᵀL) of moments, or `None`: a `MomentRegularizer` itself has this form.

        Examples
        --------
        >>> from driftway import GroupLasso, TimeSmoothness
        >>> smooth = TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0]])
        >>> smooth.moment_form is smooth, GroupLasso([0, 1]).moment_form
        (True, None)

        """
        return None

    @property
    def group_norms(self) -> GroupNorms | None:
        """J as a sum of norms of groups of rows, or `None`: a `GroupLasso` has this form.

        Examples
        --------
        >>> from driftway import GroupLasso, TimeSmoothness
        >>> GroupLasso([0, 1], weight=2.0).group_norms.weight
        2.0
        >>> TimeSmoothness(Y=[[0.0], [2.0]], previous=[[0.0]]).group_norms is None
        True

        """
        return None

    def on(self, a: Double, b: Double) -> Self:
        """The regulariser for a problem with masses a and b; `Problem` calls it.

        Regularisers that divide by the masses take them here. Others check that their arrays fit and return themselves.

        Parameters
        ----------
        a, b : array (n,), (m,)
            The masses of the problem.

        Raises
        ------
        ValueError
            If the arrays of the regulariser do not fit n and m.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import GroupLasso
        >>> GroupLasso([0, 0, 1]).on(np.full(2, 0.5), np.full(2, 0.5))
        Traceback (most recent call last):
        ValueError: labels must have one entry per row of the cost (2), got 3

        """
        return self

    def with_engine(self, engine: Engine) -> Self:
        """The regulariser for a solve on an engine; whoever has transport problems of its own solves them there.

        Others return themselves.

        Parameters
        ----------
        engine : Engine

        Returns
        -------
        Regularizer

        Examples
        --------
        >>> from driftway import GroupLasso
        >>> from driftway.engines import Threads
        >>> lasso = GroupLasso([0, 1])
        >>> lasso.with_engine(Threads()) is lasso
        True

        """
        return self

    def partials(self, plan: Plan) -> dict[str, Double]:
        """The partial derivatives of J in the arrays that it is made of, at a fixed plan.

        The gradient of the optimal value needs them (see `driftway.torch` and `driftway.jax`). A regulariser without
        arrays worth differentiating, whose `on` does not depend on the masses, returns an empty dictionary.

        Parameters
        ----------
        plan : Plan

        Returns
        -------
        dict of str to array
            By the name of the array; "a" and "b" are the masses of the problem.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import TimeSmoothness, sinkhorn
        >>> Y = np.array([[0.0], [1.0]])
        >>> plan = sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.5).plan
        >>> smooth = TimeSmoothness(Y, previous=Y)
        >>> {name: array.shape for name, array in smooth.partials(plan).items()}
        {'Y': (2, 1), 'previous': (2, 1), 'a': (2,)}

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

    def with_engine(self, engine: Engine) -> Self:
        return type(self)([term.with_engine(engine) for term in self.terms])

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

    def with_engine(self, engine: Engine) -> Self:
        return type(self)(self.term.with_engine(engine), self.factor)

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


def leaves(term: Regularizer) -> list[tuple[float, Regularizer]]:
    """The terms of a sum of multiples of sums …, each with its factor."""
    if isinstance(term, Sum):
        return [leaf for part in term.terms for leaf in leaves(part)]
    if isinstance(term, Multiple):
        return [(term.factor * factor, leaf) for factor, leaf in leaves(term.term)]
    return [(1.0, term)]


def _terms(term: Regularizer) -> Sequence[Regularizer]:
    return term.terms if isinstance(term, Sum) else [term]
