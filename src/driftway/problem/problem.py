"""The problem: a cost, two marginals, the strength of the entropy and a regulariser."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind, foreign_kind
from driftway.arrays.rowwise import is_remote
from driftway.arrays.validation import real_number, weights
from driftway.geometry.cost import Cost
from driftway.geometry.costs import as_cost
from driftway.regularizers.moment_regularizer import Zero
from driftway.regularizers.regularizer import Regularizer

Double = npt.NDArray[np.float64]

# Masses and strengths in this range, a few powers of ten within float32's, are kept by it with entries far below them.
SINGLE_RANGE = (1e-30, 1e30)


class Problem:
    """The problem to solve: a cost, two marginals, the strength of the entropy and a regulariser.

    minimise  ⟨γ, C⟩ + ε H(γ) + J(γ)  over couplings γ of a and b, with H(γ) = Σ γ (log γ − 1).

    Parameters
    ----------
    cost : array (n, m) or PointCloudCost
        The ground cost C. Its dtype (float32 or float64) is that of all results; where float32 cannot hold the masses
        or ε, results are in float64. It is not copied: whoever writes to the array changes the problem, and the plans
        of its solutions. Arrays of PyTorch, JAX, CuPy or another library of the array API standard are copied to the
        CPU, and plans and potentials are given as arrays of that library.
    a, b : array (n,), (m,), optional
        Non-negative masses of equal total; uniform of total 1 by default. Zeros are allowed and give zero
        rows and columns.
    epsilon : float
        ε ≥ 0, the paper's λ, in units of cost. Only `driftway.solvers.FrankWolfe` solves ε = 0.
    regularizer : Regularizer, optional
        J; none by default.

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, masses are negative or differ in total, or numbers are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import GroupLasso, PointCloudCost, Problem
    >>> X, Y = np.zeros((3, 2)), np.ones((2, 2))
    >>> Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=GroupLasso([0, 0, 1], weight=2.0))
    Problem(3×2, epsilon=0.1, regularizer=GroupLasso(labels=<3>, weight=2))

    """

    def __init__(
        self,
        cost: npt.ArrayLike | Cost,
        a: npt.ArrayLike | None = None,
        b: npt.ArrayLike | None = None,
        *,
        epsilon: float,
        regularizer: Regularizer | None = None,
    ) -> None:
        self.cost = as_cost(cost)
        n, m = self.cost.shape
        self.a = self.cost.beside(weights("a", self.cost.constant(1.0 / n) if a is None else a, n))
        self.b = weights("b", b, m)
        # The library that results are given in: the cost's, or that of the masses if the cost is NumPy's.
        self.kind: Kind | None = self.cost.kind or foreign_kind(a, b)
        self.mass = float(self.a.sum())
        if abs(self.b.sum() - self.mass) > 1e-5 * self.mass:
            uniform = next((f" ({name} was not given: uniform)" for name, x in (("a", a), ("b", b)) if x is None), "")
            raise ValueError(
                f"a and b must have the same total mass, got {self.mass:g} and {self.b.sum():g}{uniform}; rescale one"
            )
        # Rounding may still separate the totals by a few units in the last place, which no plan can serve.
        self.b = self.b * (self.mass / self.b.sum())
        # Masses so small that their square underflows are zero for every purpose.
        self.a, self.b = (np.where(mass > 1e-150 * self.mass, mass, 0.0) for mass in (self.a, self.b))
        self.epsilon = real_number("epsilon", epsilon, minimum=0.0)
        if regularizer is not None and not isinstance(regularizer, Regularizer):
            raise TypeError(
                f"regularizer must be a Regularizer (wrap your own function in Custom), got "
                f"{type(regularizer).__name__}"
            )
        self.regularizer: Regularizer = Zero(n, m) if regularizer is None else regularizer.on(self.a, self.b)
        # What the objective lacks of the one that gaps are relative to; not zero only in the units of `Units`.
        self.offset = 0.0

    def __repr__(self) -> str:
        n, m = self.shape
        regularizer = "" if self.regularizer.vanishes else f", regularizer={self.regularizer!r}"
        return f"Problem({n}×{m}, epsilon={self.epsilon:g}{regularizer})"

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, m): the numbers of source and target points.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import Problem
        >>> Problem(np.zeros((3, 2)), epsilon=1.0).shape
        (3, 2)

        """
        return self.cost.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all results: float32 if the cost has it and masses and ε are within its range, else float64.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import Problem
        >>> Problem(np.zeros((3, 2), np.float32), epsilon=1.0).dtype, Problem([[0, 1], [1, 0]], epsilon=1.0).dtype
        (dtype('float32'), dtype('float64'))

        """
        return np.dtype(np.float32) if self.cost.dtype == np.float32 and self._within_single else np.dtype(np.float64)

    @cached_property
    def _within_single(self) -> bool:
        """Whether float32 holds plans of these masses and potentials of this ε, with digits to spare."""
        low, high = SINGLE_RANGE
        least = self.mass if is_remote(self.a) else min(float(mass[mass > 0].min()) for mass in (self.a, self.b))
        return least >= low and self.mass <= high and (self.epsilon == 0 or low <= self.epsilon <= high)
