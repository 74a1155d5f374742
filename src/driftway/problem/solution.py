"""The result of a solve: the plan, its certificate and the trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import Array
from driftway.plan.plan import Plan


class Iteration(NamedTuple):
    """One line of the trace; line 0 is the starting point.

    Attributes
    ----------
    seconds : since the start of the solve
    objective : of the present plan
    gap : the relative gap as last certified
    marginal_error : of the present plan, relative to the mass
    step : the step size; NaN for solvers without one
    inner : Sinkhorn iterations of this step

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import sinkhorn
    >>> first = sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.5).trace[0]
    >>> first._fields
    ('seconds', 'objective', 'gap', 'marginal_error', 'step', 'inner')
    >>> bool(first.gap < 1e-6), first.inner > 0
    (True, True)

    """

    seconds: float
    objective: float
    gap: float
    marginal_error: float
    step: float
    inner: int


class Trace(Sequence[Iteration]):
    """The iterations of a solve: a sequence of `Iteration`, whose columns are attributes.

    `trace.gap` is the array of all gaps, and so on. `print(trace)` shows a table, and `pandas.DataFrame(trace)` works.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ForwardBackward, GroupLasso, Problem, solve
    >>> cost = np.random.default_rng(0).random((6, 5))
    >>> problem = Problem(cost, epsilon=0.1, regularizer=GroupLasso([0, 0, 0, 1, 1, 1]))
    >>> trace = solve(problem, ForwardBackward()).trace
    >>> bool(trace.objective[-1] < trace.objective[0]), len(trace.gap) == len(trace)
    (True, True)
    >>> bool((np.diff(trace.seconds) >= 0).all()), bool(trace[-1].gap <= 1e-6)
    (True, True)

    """

    def __init__(self, iterations: Sequence[Iteration] = ()) -> None:
        self._iterations = list(iterations)

    def append(self, iteration: Iteration) -> None:
        """Adds an iteration at the end.

        Examples
        --------
        >>> from driftway.problem import Iteration, Trace
        >>> trace = Trace()
        >>> trace.append(Iteration(seconds=0.0, objective=2.0, gap=0.5, marginal_error=0.0, step=1.0, inner=3))
        >>> len(trace), trace.gap.tolist()
        (1, [0.5])

        """
        self._iterations.append(iteration)

    @overload
    def __getitem__(self, index: int) -> Iteration: ...

    @overload
    def __getitem__(self, index: slice) -> Trace: ...

    def __getitem__(self, index: int | slice) -> Iteration | Trace:
        if isinstance(index, slice):
            return Trace(self._iterations[index])
        return self._iterations[index]

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self._iterations)

    def __len__(self) -> int:
        return len(self._iterations)

    def __getattr__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in Iteration._fields:
            raise AttributeError(f"a trace has the columns {', '.join(Iteration._fields)}, not {name!r}")
        column = Iteration._fields.index(name)
        return np.array([iteration[column] for iteration in self._iterations])

    def __str__(self) -> str:
        """The iterations as a table."""
        header = f"{'iter':>6} {'seconds':>9} {'objective':>18} {'gap':>9} {'marginals':>9} {'step':>9} {'inner':>6}"
        lines = [
            f"{k:>6} {i.seconds:>9.3f} {i.objective:>18.12g} {i.gap:>9.2e} {i.marginal_error:>9.2e} "
            f"{i.step:>9.3g} {i.inner:>6}"
            for k, i in enumerate(self._iterations)
        ]
        return "\n".join([header, *lines])

    def __repr__(self) -> str:
        return f"Trace(<{len(self)} iterations>)"


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a solve: the plan, its value, and a certificate of how far from optimal it can be.

    Attributes
    ----------
    plan : the plan γ, an operator. Its marginals are off by `marginal_error`; `plan.round()` has them exact.
    value : the objective at `plan.round()`, so never below the optimum.
    lower_bound : a number certified never to be above the optimum; −∞ if J is not convex.
    gap : (value − lower_bound) / max(|value|, ε·mass), with a thousandth of the cost's range for ε = 0. If J is
        not convex, the same with the minimum of the problem linearised at the plan in place of the lower
        bound: zero exactly at stationary points.
    marginal_error : ‖γ1 − a‖₁ + ‖γᵀ1 − b‖₁, relative to the mass.
    potentials : (f, g), in units of cost, with C + ∇J(γ) + ε log γ ≈ f ⊕ g; −∞ where there is no mass.
    converged : whether gap and marginal error are within the tolerance.
    message : why the solve stopped, and what ran.
    n_iter : iterations of the solver.
    trace : one line per iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import Problem, solve
    >>> solution = solve(Problem(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.5))
    >>> solution.converged, round(solution.value, 4)
    (True, -0.91)
    >>> bool(solution.lower_bound <= solution.value), bool(solution.gap <= 1e-6)
    (True, True)
    >>> f, g = solution.potentials
    >>> log_plan = (np.add.outer(f, g) - [[0.0, 1.0], [1.0, 0.0]]) / 0.5
    >>> bool(np.allclose(np.exp(log_plan), solution.plan.dense()))
    True

    """

    plan: Plan
    value: float
    lower_bound: float
    gap: float
    marginal_error: float
    potentials: tuple[Array, Array]
    converged: bool
    message: str
    n_iter: int
    trace: Trace

    def __repr__(self) -> str:
        return (
            f"Solution(value={self.value:.9g}, gap={self.gap:.2e}, marginal_error={self.marginal_error:.2e}, "
            f"converged={self.converged}, n_iter={self.n_iter})"
        )
