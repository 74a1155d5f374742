"""The one result type."""

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

    `gap` is the relative gap as last certified; `inner` counts the Sinkhorn iterations of this step.
    """

    seconds: float
    objective: float
    gap: float
    marginal_error: float
    step: float
    inner: int


class Trace(Sequence[Iteration]):
    """The iterations of a solve; `trace.gap` and so on are columns, and `pandas.DataFrame(trace)` works."""

    def __init__(self, iterations: Sequence[Iteration] = ()) -> None:
        self._iterations = list(iterations)

    def append(self, iteration: Iteration) -> None:
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
        return np.array([getattr(iteration, name) for iteration in self._iterations])

    def __str__(self) -> str:
        """A table to read."""
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
    """What a solve found, and how sure that is.

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
