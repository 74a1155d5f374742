"""Regularisers whose arrays are still being computed: the part of a loss that a library differentiates through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway import regularizers
from driftway.arrays.validation import real_number
from driftway.plan.plan import Plan
from driftway.problem.problem import Problem
from driftway.regularizers.regularizer import Regularizer
from driftway.regularizers.time_smoothness import Normalization

Double = npt.NDArray[np.float64]


class Term(NamedTuple):
    """factor · kind(**arrays, **settings)."""

    factor: float
    name: str
    kind: Callable[..., Regularizer]
    arrays: dict[str, Any]
    settings: dict[str, Any]


class Deferred:
    """A sum of multiples of regularisers that are built when their arrays are numbers.

    They add and scale as regularisers do, among themselves and with those that are built already.

    Parameters
    ----------
    *terms : Term

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import GroupLasso, Problem, solve
    >>> from driftway.derivatives.deferred_regularizers import Deferred, TimeSmoothness
    >>> Y, previous = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> J = 2.0 * TimeSmoothness(Y, previous) + Deferred.of(GroupLasso([0, 1]))
    >>> J, [array.shape for array in J.arrays]
    (2 * TimeSmoothness + 1 * GroupLasso(labels=<2>, weight=1), [(2, 1), (2, 1)])
    >>> problem = Problem(np.eye(2), epsilon=0.5, regularizer=J.build(J.arrays))
    >>> [gradient.shape for gradient in J.partials(problem, solve(problem).plan, J.arrays)]
    [(2, 1), (2, 1)]

    """

    __array_ufunc__ = None  # array * deferred is an error, not an array of objects

    def __init__(self, *terms: Term) -> None:
        self.terms = terms

    @classmethod
    def of(cls, regularizer: object) -> Deferred:
        """A regulariser, a deferred one or none, as a deferred one."""
        if isinstance(regularizer, Deferred):
            return regularizer
        if regularizer is None:
            return Deferred()
        if not isinstance(regularizer, Regularizer):
            raise TypeError(
                f"regularizer must be a regularizer (wrap your own function in Custom), got "
                f"{type(regularizer).__name__}"
            )
        return Deferred(Term(1.0, repr(regularizer), lambda: regularizer, {}, {}))

    def __repr__(self) -> str:
        return " + ".join(f"{term.factor:g} * {term.name}" for term in self.terms)

    def __add__(self, other: object) -> Deferred:
        if not isinstance(other, Deferred | Regularizer):
            return NotImplemented
        return Deferred(*self.terms, *Deferred.of(other).terms)

    def __radd__(self, other: object) -> Deferred:
        return self if other == 0 else self + other

    def __mul__(self, factor: object) -> Deferred:
        number = real_number("the factor of a regularizer", factor, minimum=0.0)
        return Deferred(*(term._replace(factor=number * term.factor) for term in self.terms))

    def __rmul__(self, factor: object) -> Deferred:
        return self * factor

    def __truediv__(self, divisor: object) -> Deferred:
        return self * (1.0 / real_number("the divisor of a regularizer", divisor, minimum=0.0, strict=True))

    @property
    def arrays(self) -> list[Any]:
        """The arrays of all terms, in the order in which `build` takes their values."""
        return [array for term in self.terms for array in term.arrays.values()]

    def build(self, values: Sequence[Double]) -> Regularizer | None:
        """The regulariser made of these values of its arrays."""
        parts = self._parts(values)
        if not parts:
            return None
        total = _scaled(*parts[0])
        for part in parts[1:]:
            total = total + _scaled(*part)
        return total

    def partials(self, problem: Problem, plan: Plan, values: Sequence[Double]) -> list[Double]:
        """∂J/∂array at the plan, for every array."""
        gradients = []
        for term, (factor, regularizer) in zip(self.terms, self._parts(values), strict=True):
            if term.arrays:
                partials = regularizer.on(problem.a, problem.b).partials(plan)
                gradients += [factor * partials[name] for name in term.arrays]
        return gradients

    def _parts(self, values: Sequence[Double]) -> list[tuple[float, Regularizer]]:
        remaining, parts = list(values), []
        for term in self.terms:
            arrays = {name: remaining.pop(0) for name in term.arrays}
            parts.append((term.factor, term.kind(**arrays, **term.settings)))
        return parts


class TimeSmoothness(Deferred):
    """Time smoothness of every point, as `driftway.TimeSmoothness`, differentiable in Y and previous.

    Parameters
    ----------
    Y, previous : tensor (m, d), (n, d)
        The target points, and where the source was mapped before.
    weight, normalization : see `driftway.TimeSmoothness`

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.derivatives.deferred_regularizers import TimeSmoothness
    >>> 2.0 * TimeSmoothness(Y=np.array([[0.0], [2.0]]), previous=np.array([[0.0], [1.0]]), normalization="sum")
    2 * TimeSmoothness

    """

    def __init__(self, Y: Any, previous: Any, weight: float = 1.0, normalization: Normalization = "mean") -> None:
        arrays = {"Y": Y, "previous": previous}
        settings = {"weight": weight, "normalization": normalization}
        super().__init__(Term(1.0, "TimeSmoothness", regularizers.TimeSmoothness, arrays, settings))


class Laplacian(Deferred):
    """Graph regularisation of the map, as `driftway.Laplacian`, differentiable in points and reference.

    Parameters
    ----------
    similarity : array or sparse matrix
        A constant, which is not differentiated.
    points, reference : tensor
        Where the side is mapped, and what its displacement is measured from.
    weight, side : see `driftway.Laplacian`

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.derivatives.deferred_regularizers import Laplacian
    >>> linked = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> len(Laplacian(linked, points=np.array([[0.0], [2.0]])).arrays)
    1

    """

    def __init__(
        self, similarity: Any, points: Any, weight: float = 1.0, side: str = "source", reference: Any = None
    ) -> None:
        arrays = {"points": points} if reference is None else {"points": points, "reference": reference}
        settings = {"similarity": similarity, "weight": weight, "side": side}
        super().__init__(Term(1.0, "Laplacian", regularizers.Laplacian, arrays, settings))


class WassersteinTime(Deferred):
    """Time smoothness of the cloud, as `driftway.WassersteinTime`, differentiable in Y and previous.

    The optimum is a stationary point; where it jumps from one to another, so does the loss.

    Parameters
    ----------
    Y, previous : tensor (m, d), (k, d)
        The target points, and the previous cloud.
    weight, debias : see `driftway.WassersteinTime`
    blur : float
        It must be given: the default of the regulariser depends on `previous`, and would have to be differentiated with
        it.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.derivatives.deferred_regularizers import WassersteinTime
    >>> J = WassersteinTime(Y=np.array([[0.0], [2.0]]), previous=np.array([[0.0], [1.0]]), blur=0.5)
    >>> J.build(J.arrays)
    WassersteinTime(weight=1, blur=0.5, debias=True)

    """

    def __init__(self, Y: Any, previous: Any, weight: float = 1.0, *, blur: float, debias: bool = True) -> None:
        arrays = {"Y": Y, "previous": previous}
        settings = {"weight": weight, "blur": blur, "debias": debias}
        super().__init__(Term(1.0, "WassersteinTime", regularizers.WassersteinTime, arrays, settings))


def _scaled(factor: float, regularizer: Regularizer) -> Regularizer:
    return regularizer if factor == 1.0 else factor * regularizer
