"""A problem as elements of one linear space: the cost C, log-plans and ∇J, factored or dense, and their products.

Factored if the regulariser has a moment form, dense otherwise. Either way a solver sees a plan through a few sums.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import real_array
from driftway.engines.engine import Engine
from driftway.geometry.dense import Dense
from driftway.geometry.matrices import Factored, Matrix
from driftway.plan.plan import Plan
from driftway.plan.sinkhorn import dot
from driftway.problem.point import Point
from driftway.problem.problem import Problem
from driftway.regularizers.forms import MomentForm

Double = npt.NDArray[np.float64]

# A divergence of so many times the rounding error of an entry is known to four digits.
DIGITS = 1e4


class Representation:
    """A problem on an engine as elements of a linear space; `Model` adds the objective. See the example there."""

    def __init__(self, problem: Problem, engine: Engine, *, dense: bool = False) -> None:
        self.problem, self.engine = problem, engine
        self.a, self.b, self.epsilon = problem.a, problem.b, problem.epsilon
        self.J = problem.regularizer.with_engine(engine)
        if (form := self.J.moment_form) is not None:
            n, m = problem.shape
            _check_moments("right_basis", form.right_basis, m)
            _check_moments("left_basis", form.left_basis, n)
        self.moments: MomentForm | None = None if dense else form

    @cached_property
    def cost(self) -> Matrix:
        """The cost C as a `Factored` or `Dense` matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import GroupLasso, Problem, TimeSmoothness
        >>> from driftway.engines import Threads
        >>> from driftway.problem import Model
        >>> X = np.array([[0.0], [1.0]])
        >>> for J in (TimeSmoothness(X, X), GroupLasso([0, 1])):
        ...     type(Model(Problem(np.eye(2), epsilon=0.5, regularizer=J), Threads()).cost).__name__
        'Factored'
        'Dense'

        """
        cost, form = self.problem.cost, self.moments
        if form is not None:
            return Factored.of_cost(cost, form.right_basis, form.left_basis)
        n, m = cost.shape
        return Dense(self.engine.assemble(Factored.of_cost(cost, np.empty((m, 0)), np.empty((n, 0)))))

    @cached_property
    def spread(self) -> float:
        """The range of the cost, max − min, over a sample of its rows.

        See the example of the class.

        Raises
        ------
        ValueError
            If its ratio to ε overflows.

        """
        n = self.problem.shape[0]
        rows = self.problem.cost.rows(slice(0, n, max(1, n // 8)))
        with np.errstate(over="ignore"):
            spread = float(np.max(rows)) - float(np.min(rows))
            ratio = spread / self.epsilon if self.epsilon > 0 else spread
        if not np.isfinite(4.0 * ratio):
            raise ValueError(
                f"epsilon must be large enough for cost/epsilon to be finite, got {self.epsilon:g} for a cost of "
                f"range {spread:g}"
            )
        return spread

    def plan(self, log: Matrix, f: Double, g: Double, values: Double | None = None) -> Plan:
        """The plan exp(log + f ⊕ g).

        See the example of the class.

        Parameters
        ----------
        log : Matrix (n×m)
        f, g : array (n,), (m,)
            Log-potentials.
        values : array (n, m), optional
            The same plan as an array, if it is there already.

        Returns
        -------
        Plan

        """
        return Plan(log, f, g, self.a, self.b, self.engine, self.problem.dtype, None, values)

    def pair(self, matrix: Matrix, point: Point) -> float:
        """The inner product ⟨matrix, γ⟩.

        See the example of the class.

        Parameters
        ----------
        matrix : Matrix
            Of the kind of `cost`.
        point : Point

        Returns
        -------
        float

        """
        if (factored := matrix.factored) is None:
            return float(np.vdot(self.engine.assemble(matrix), point.plan.array()))
        transport = 0.0
        if factored.scale != 0.0:
            transport = factored.scale * point.plan.sweep(inner=self.cost).inner
        return transport + factored.paired(point.right, point.left)

    def product(self, matrix: Matrix, new: Point, old: Point) -> float:
        """The inner product ⟨matrix, γ_new − γ_old⟩, accurate for plans that are close to each other.

        See the example of the class.

        Parameters
        ----------
        matrix : Matrix
            Of the kind of `cost`; if it is factored, its multiple of the cost is ignored.
        new, old : Point

        Returns
        -------
        float

        """
        if (factored := matrix.factored) is None:
            return float(np.vdot(self.engine.assemble(matrix), new.plan.array() - old.plan.array()))
        return factored.paired(new.right - old.right, new.left - old.left)

    def magnitude(self, gradient: Matrix, point: Point) -> float:
        """The sum of the absolute values that ⟨gradient, γ⟩ adds up; the rounding error of that sum is relative to it.

        See the example of the class.

        Parameters
        ----------
        gradient : Matrix
            Of the kind of `cost`; if it is factored, its multiple of the cost is ignored.
        point : Point

        Returns
        -------
        float

        """
        if (factored := gradient.factored) is not None:
            terms = ((factored.P, point.right), (factored.Q, point.left))
            return float(sum(np.vdot(np.abs(first), np.abs(second)) for first, second in terms))
        values = self.engine.assemble(gradient)
        return self.engine.total(lambda G, gamma: float(np.vdot(np.abs(G), gamma)), values, point.plan.array())

    def divergence(self, new: Point, old: Point) -> float:
        """The Kullback–Leibler divergence KL(γ_new | γ_old) = Σ γ_new log(γ_new/γ_old) − γ_new + γ_old.

        It is computed from the difference of the logarithms. For plans so near to each other that rounding shows it is
        half of the symmetric one, ⟨log γ_new − log γ_old, γ_new − γ_old⟩, which is the same to second order, and in
        which nothing cancels.

        See the example of the class.

        Parameters
        ----------
        new, old : Point

        Returns
        -------
        float
            Never negative.

        """
        largest = np.abs(new.plan.g[self.b > 0]).max()  # f is as large, and may be elsewhere
        rounding = 2.2e-16 * (1.0 + 2.0 * largest)
        log = new.plan.log - old.plan.log
        with np.errstate(invalid="ignore"):  # −∞ − −∞, where there is no mass
            f, g = new.plan.f - old.plan.f, new.plan.g - old.plan.g
        exact = self.pair(log, new) + dot(f, new.rows) + dot(g, new.columns) - float((new.rows - old.rows).sum())
        without_cost = log.factored is None or log.factored.scale == 0.0
        if exact > DIGITS * rounding * self.problem.mass or not without_cost:
            return max(exact, 0.0)
        marginal = dot(f, new.rows) - dot(f, old.rows) + dot(g, new.columns) - dot(g, old.columns)
        return max(0.5 * (self.product(log, new, old) + marginal), 0.0)


def _check_moments(name: str, basis: object, rows: int) -> None:
    array = real_array(f"the regularizer's {name}", basis)
    if array.ndim != 2 or len(array) != rows:
        raise ValueError(f"the regularizer's {name} must have shape ({rows}, any), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"the regularizer's {name} must be finite, but it contains NaN or infinity")
