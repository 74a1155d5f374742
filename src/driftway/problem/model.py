"""A problem in the form that solvers compute with: its objective, what bounds it, and the linearisation of J."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from driftway.engines.engine import Request, Sweep
from driftway.geometry.dense import Dense, LogOf
from driftway.geometry.matrices import Matrix
from driftway.plan.plan import Plan
from driftway.plan.rounding import EXACT, growth, lowered_columns
from driftway.plan.sinkhorn import balance, dot
from driftway.problem.point import Point, Tangent
from driftway.problem.representation import Representation
from driftway.regularizers.evaluation import checked_gradient, checked_value
from driftway.regularizers.moment_regularizer import checked_phi, checked_phi_gradient

Double = npt.NDArray[np.float64]


class Model(Representation):
    """A problem on an engine, in the form that solvers compute with.

    It is factored if the regulariser has a moment form, and dense otherwise. Write a solver of your own with it: the
    methods below are what `start` and `advance` of a `driftway.solvers.Solver` need.

    Parameters
    ----------
    problem : Problem
    engine : Engine
        What executes passes over plans, such as `driftway.engines.Threads()`.
    dense : bool
        Whether to hold plans as arrays in any case.

    Attributes
    ----------
    problem, engine : as given
    a, b, epsilon, J : the parts of the problem
    moments : J as a function of moments if the problem is factored, else `None`

    Examples
    --------
    Sinkhorn's algorithm in two lines:

    >>> import numpy as np
    >>> from driftway import GroupLasso, Problem
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> cost, zero = np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2)
    >>> model = Model(Problem(cost, epsilon=0.5), Threads())
    >>> plan, updates = model.project(model.cost / -model.epsilon, zero, zero, tol=1e-12, max_iter=100)
    >>> plan.dense().round(3), 0 < updates < 100
    (array([[0.44, 0.06],
           [0.06, 0.44]]), True)

    The values of plans, and bounds of the optimum from above and below, which meet at the solution:

    >>> model.plan(0.0 * model.cost, zero, zero).dense().tolist(), model.spread
    ([[1.0, 1.0], [1.0, 1.0]], 1.0)
    >>> bool(np.isclose(model.evaluate(model.independent.plan).objective, 0.5 + 0.5 * (np.log(0.25) - 1.0)))
    True
    >>> bool(np.isclose(model.evaluate(plan).objective, model.dual_value(plan)))
    True
    >>> bool(model.rounded(model.independent, slack=0.0) > model.dual_value(plan))
    True

    The linearisation of J, and how far two plans are from each other:

    >>> model = Model(Problem(cost, epsilon=0.5, regularizer=GroupLasso([0, 1])), Threads())
    >>> steps = [model.project(model.cost / -s, zero, zero, tol=1e-12, max_iter=100) for s in (1.0, 0.5)]
    >>> old, new = (model.evaluate(plan) for plan, _ in steps)
    >>> tangent = model.tangent(old)
    >>> bool(model.pair(tangent.gradient, old) == tangent.slope <= model.magnitude(tangent.gradient, old))
    True
    >>> bool(np.isclose(model.product(model.cost, new, old), model.pair(model.cost, new) - model.pair(model.cost, old)))
    True
    >>> before, after = old.plan.dense(), new.plan.dense()
    >>> bool(np.isclose(model.divergence(new, old), (after * np.log(after / before)).sum()))
    True

    """

    def check(self) -> None:
        """Raises if the problem cannot be solved on this engine; the loop calls it before the first iteration.

        Raises
        ------
        ValueError, TypeError
            If the engine does not support the cost, cost/ε overflows, or J or ∇J of an unproven regulariser is not
            finite at a ⊗ b or of the wrong shape.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import Custom, Problem
        >>> from driftway.engines import Threads
        >>> from driftway.problem import Model
        >>> wrong = Custom(lambda gamma: np.nan, lambda gamma: gamma)
        >>> Model(Problem(np.eye(2), epsilon=0.5, regularizer=wrong), Threads()).check()
        Traceback (most recent call last):
        ValueError: the regularizer's value must be finite, got nan

        """
        _ = self.cost, self.spread
        if not self.J.proven:
            self.tangent(self.independent)

    @cached_property
    def independent(self) -> Point:
        """The independent coupling a ⊗ b as a `Point`, without its objective.

        J is known there without a look at the cost.

        See the example of the class.
        """
        a, b, form = self.a, self.b / self.problem.mass, self.moments
        if form is not None:
            right, left = np.multiply.outer(a, b @ form.right_basis), np.multiply.outer(b, a @ form.left_basis)
            with np.errstate(divide="ignore"):
                plan, penalty = self.plan(0.0 * self.cost, np.log(a), np.log(b)), checked_phi(form, right, left)
        else:
            gamma, right, left = np.multiply.outer(a, b), np.empty((a.size, 0)), np.empty((b.size, 0))
            plan = self.plan(LogOf(gamma), np.zeros_like(a), np.zeros_like(b), gamma)
            penalty = checked_value(self.J, gamma)
        return Point(plan, a, self.b, right, left, penalty, np.nan, 0.0)

    def project(self, log: Matrix, f: Double, g: Double, *, tol: float, max_iter: int) -> tuple[Plan, int]:
        """Projects onto the couplings by Sinkhorn's algorithm.

        It finds f and g such that exp(log + f ⊕ g) has the marginals a and b.
        This is the backward step: the minimiser over the couplings of −⟨γ, log⟩ + H(γ). In the paper's words it is
        sinkhorn(−s·log, s) for any s > 0.

        See the example of the class.

        Parameters
        ----------
        log : Matrix (n×m)
        f, g : array (n,), (m,)
            Log-potentials to start from.
        tol : float
            The marginal error to reach.
        max_iter : int
            Updates of f and g at the most.

        Returns
        -------
        Plan and int
            The plan, and the updates made.

        """
        solved = balance(log, self.a, self.b, f, g, tol=tol, max_iter=max_iter, engine=self.engine)
        values = solved.values
        if values is None and log.factored is None:  # J wants it as an array
            values = self.engine.exponential(log, solved.f, solved.g)
        return self.plan(log, solved.f, solved.g, values), solved.n_iter

    def evaluate(self, plan: Plan, columns: Double | None = None, right: Double | None = None) -> Point:
        """The objective at a plan, with the sums that it is made of.

        See the example of the class.

        Parameters
        ----------
        plan : Plan
        columns : array (m,), optional
        right : array (n, r), optional
            Column sums and right moments of the plan, if they are known already and its row sums are exact; they save a
            pass.

        Returns
        -------
        Point

        """
        form = self.moments
        direct = plan.log.exponential is not None or (plan.remainder is not None and plan.values is not None)
        if form is None:  # arrays, whose entropy is that of their entries
            sums, penalty, direct = plan.sweep(inner=self.cost, entropy=True), checked_value(self.J, plan.array()), True
            linear = sums.inner
        else:
            # C + ε log γ: what multiplies the plan in the objective. A factored plan usually has no C left in it.
            potential = self.cost if direct else self.cost + self.epsilon * plan.log
            inner = None if _without_cost(potential) else potential
            right = np.empty((plan.shape[0], 0)) if right is None and not form.right_basis.shape[1] else right
            known = inner is None and plan.rounding <= EXACT and not form.left_basis.shape[1]
            if known and columns is not None and right is not None:
                sums = Sweep(plan.f, self.a, columns, right, np.empty((plan.shape[1], 0)))
            else:
                sums = plan.sweep(form.right_basis, form.left_basis, inner, entropy=direct)
            penalty, linear = checked_phi(form, sums.right, sums.left), _linear(potential, sums)
        entropy = sums.entropy if direct else _entropy(plan.f, plan.g, sums)
        return self.point_of(plan, sums, linear, entropy, penalty)

    def rounded(self, point: Point, slack: float) -> float:
        """The objective at the plan rounded onto its exact marginals: an upper bound of the optimum.

        See the example of the class.

        Parameters
        ----------
        point : Point
        slack : float
            By how much the result may be too high, if that makes it cheaper.

        Returns
        -------
        float

        """
        plan, form = point.plan, self.moments
        if form is None and point.error <= EXACT and (more := self._growth(point)) <= slack:
            return point.objective + more
        off = np.abs(point.rows - self.a).sum()
        # Column sums of a plan that is not the very same are known to its rounding only.
        price = dot(np.abs(plan.f), self.a) + dot(np.abs(plan.g), self.b) + self.problem.mass
        doubt = 10.0 * plan.rounding * self.epsilon * price
        exact = off <= EXACT * self.problem.mass and plan.remainder is None and plan.values is None and doubt <= slack
        potential = None if plan.log.exponential is not None else self.cost + self.epsilon * plan.log
        if form is None or not (exact and _without_cost(potential)):
            return self.evaluate(plan.round(point.rows, point.columns)).objective
        # The rows being exact, one pass rounds and evaluates: columns are lowered, and each row is completed by
        # what it lost, spread over the columns that lack mass.
        g, shares = lowered_columns(plan.g, point.columns, self.b)
        request = Request(
            plan.log,
            plan.f,
            g,
            row_mass=self.a,
            right=form.right_basis,
            left=form.left_basis,
            remainder=(None, shares),
        )
        sums = self.engine.sweep(request)
        penalty = checked_phi(form, sums.right, sums.left)
        return doubt + self.point_of(plan, sums, _linear(potential, sums), _entropy(plan.f, g, sums), penalty).objective

    def _growth(self, point: Point) -> float:
        """What rounding a plan held as an array adds to the objective at the most, by crude bounds for tiny errors."""
        if not (self.J.proven and self.J.lipschitz is not None):
            return np.inf
        cost = self.engine.assemble(self.cost)
        lipschitz = np.sqrt(self.engine.total(lambda C: float(np.vdot(C, C)), cost)) + self.J.lipschitz
        return growth(point.rows, point.columns, self.a, self.b, epsilon=self.epsilon, lipschitz=lipschitz)

    def point_of(self, plan: Plan, sums: Sweep, linear: float, entropy: float, penalty: float) -> Point:
        """The objective at a plan of which everything is known that it is made of.

        Parameters
        ----------
        plan : Plan
        sums : Sweep
            Its row and column sums, and its moments.
        linear, entropy, penalty : float
            ⟨γ, C⟩, H(γ) and J(γ), or numbers with the same ⟨γ, C⟩ + ε H(γ).

        Returns
        -------
        Point

        Raises
        ------
        FloatingPointError
            If the objective overflows.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import Problem
        >>> from driftway.engines import Threads
        >>> from driftway.problem import Model
        >>> model = Model(Problem(np.eye(2), epsilon=0.5), Threads())
        >>> plan = model.independent.plan
        >>> model.point_of(plan, plan.sweep(), linear=2.0, entropy=-1.0, penalty=3.0).objective
        4.5

        """
        objective = linear + self.epsilon * entropy + penalty
        if not np.isfinite(objective):
            raise FloatingPointError(f"the objective overflowed ({objective}); rescale the cost")
        error = np.abs(sums.rows - self.a).sum() + np.abs(sums.columns - self.b).sum()
        return Point(
            plan,
            sums.rows,
            sums.columns,
            sums.right,
            sums.left,
            penalty,
            objective,
            float(error / self.problem.mass),
        )

    def tangent(self, point: Point) -> Tangent:
        """The linearisation of J at a plan.

        See the example of the class.

        Parameters
        ----------
        point : Point

        Returns
        -------
        Tangent

        """
        gradient: Matrix
        if self.moments is not None and (cost := self.cost.factored) is not None:
            P, Q = checked_phi_gradient(self.moments, point.right, point.left)
            gradient = cost.with_coefficients(0.0, P, Q)
        else:
            gradient = Dense(checked_gradient(self.J, point.plan.array()))
        slope = self.pair(gradient, point)
        return Tangent(gradient, slope, slope - point.penalty, self.magnitude(gradient, point))

    def dual_value(self, plan: Plan) -> float:
        """The dual value ε (⟨f, a⟩ + ⟨g, b⟩ − Σ exp(log + f ⊕ g)) of a plan with exact row sums.

        If log = −(C + G)/ε this is at most the minimum over couplings of ⟨γ, C + G⟩ + ε H(γ).

        See the example of the class.

        Parameters
        ----------
        plan : Plan

        Returns
        -------
        float

        """
        return self.epsilon * (dot(plan.f, self.a) + dot(plan.g, self.b) - self.problem.mass)


def _without_cost(matrix: Matrix | None) -> bool:
    """Whether ⟨matrix, γ⟩ follows from the moments of γ."""
    factored = None if matrix is None else matrix.factored
    return factored is not None and factored.scale == 0.0


def _linear(potential: Matrix | None, sums: Sweep) -> float:
    """⟨potential, γ⟩."""
    factored = None if potential is None else potential.factored
    return sums.inner if factored is None or factored.scale != 0.0 else factored.paired(sums.right, sums.left)


def _entropy(f: Double, g: Double, sums: Sweep) -> float:
    """H(γ) less ⟨log, γ⟩, for γ = exp(log + f ⊕ g) and a remainder."""
    return dot(f, sums.rows) + dot(g, sums.columns) - float(sums.rows.sum()) + sums.excess
