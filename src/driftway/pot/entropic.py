"""Entropic transport as POT calls it."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from driftway.arrays.interchange import Kind, is_differentiated, library_of, on_host
from driftway.arrays.validation import flag, one_of, real_number
from driftway.pot.masses import arrays, finite
from driftway.pot.reporting import Errors, refuse, scalings
from driftway.problem.solution import Solution
from driftway.solvers.silence import quietly
from driftway.solvers.solve import sinkhorn as entropic_transport

Double = npt.NDArray[np.float64]

# POT's algorithms, and the arguments of theirs that are about keeping numbers in range, which logarithms do for us.
METHODS: dict[str, set[str]] = {
    "sinkhorn": set(),
    "sinkhorn_log": set(),
    "greenkhorn": set(),
    "sinkhorn_stabilized": {"tau", "print_period"},
    "sinkhorn_epsilon_scaling": {"tau", "print_period", "epsilon0", "numInnerItermax"},
}
LOSS_METHODS = ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized")
# These take potentials in units of cost to start from; the others logarithms of scalings.
IN_COST_UNITS = ("sinkhorn_stabilized", "sinkhorn_epsilon_scaling")


def sinkhorn(
    a: Any,
    b: Any,
    M: Any,
    reg: float,
    method: str = "sinkhorn",
    numItermax: int = 1000,
    stopThr: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    warn: bool = True,
    warmstart: Any = None,
    **kwargs: Any,
) -> Any:
    """`ot.sinkhorn`: the plan of entropic transport, or the costs ⟨γ, M⟩ if b has several columns.

    All methods are names for our one solver, except that "sinkhorn_epsilon_scaling" starts from larger strengths.
    It ends when marginals (in L1) and certified gap are within `stopThr`, or after `numItermax` updates; it warns if
    the marginals are not. Tensors that require a gradient, and arrays that JAX traces, give a differentiable result.

    Parameters
    ----------
    a, b : array (n,), (m,) or (m, k)
        Masses; an empty list for uniform ones.
    M : array (n, m)
        The cost.
    reg : float
        Strength of the entropy, positive.
    method : str
        One of POT's names; see above.
    numItermax, stopThr, verbose, log, warn : as in POT
    warmstart : pair of arrays, optional
        Logarithms of the scalings to start from, as in POT.

    Returns
    -------
    array (n, m), or array (k,) if b has k columns; with `log=True` also a dictionary
        In the library of the arguments. The dictionary has POT's entries, and "gap" and "solution".

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import sinkhorn
    >>> sinkhorn([0.5, 0.5], [0.5, 0.5], np.array([[0.0, 1.0], [1.0, 0.0]]), 1).round(4)
    array([[0.3655, 0.1345],
           [0.1345, 0.3655]])

    """
    call = _Call(reg, method, tuple(METHODS), numItermax, stopThr, verbose, log, warn, kwargs)
    if call.is_traced(a, b, M, warmstart):
        return call.traced(a, b, M)
    kind, rows, columns, cost = arrays(a, b, M)
    if columns.ndim == 2:
        return call.losses(kind, rows, columns, cost, warmstart, (a, b, M))
    solution = call.solve(rows, columns, cost, call.start(warmstart))
    plan = call.plan(kind, solution, (a, b, M))
    return (plan, call.log_of([solution], kind, several=False)) if log else plan


def sinkhorn2(
    a: Any,
    b: Any,
    M: Any,
    reg: float,
    method: str = "sinkhorn",
    numItermax: int = 1000,
    stopThr: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    warn: bool = False,
    warmstart: Any = None,
    **kwargs: Any,
) -> Any:
    """`ot.sinkhorn2`: the cost ⟨γ, M⟩ of the entropic plan, one per column of b.

    Parameters
    ----------
    a, b, M, reg, numItermax, stopThr, verbose, log, warn, warmstart : as for `sinkhorn`
    method : "sinkhorn", "sinkhorn_log" or "sinkhorn_stabilized"

    Returns
    -------
    float, or array (k,) if b has k columns; with `log=True` also a dictionary

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import sinkhorn2
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(float(sinkhorn2([0.5, 0.5], [0.5, 0.5], M, 1)), 4)
    0.2689
    >>> sinkhorn2([0.5, 0.5], np.array([[0.5, 0.9], [0.5, 0.1]]), M, 1).round(4)
    array([0.2689, 0.4274])

    """
    one_of("method", method.lower(), LOSS_METHODS)
    result = sinkhorn(a, b, M, reg, method, numItermax, stopThr, verbose, log, warn, warmstart, **kwargs)
    plan = result[0] if log else result
    if np.ndim(on_host(b) if not is_differentiated(b) or library_of(b) == "torch" else b) == 2:
        return result
    loss = _pair(plan, M)
    return (loss, result[1]) if log else loss


class _Call:
    """One call's settings, checked."""

    def __init__(
        self,
        reg: float,
        method: str,
        methods: tuple[str, ...],
        updates: int,
        tol: float,
        verbose: bool,
        log: bool,
        warn: bool,
        others: dict[str, Any],
    ) -> None:
        self.reg = real_number("reg", reg, minimum=0.0, strict=True)
        self.method = one_of("method", method.lower() if isinstance(method, str) else method, methods)
        self.updates, self.tol = int(real_number("numItermax", updates, minimum=1)), tol
        self.verbose, self.log, self.warn = flag("verbose", verbose), flag("log", log), flag("warn", warn)
        known = METHODS[self.method]
        refuse("sinkhorn", {name: value for name, value in others.items() if name not in known})
        if others and self.warn:
            warnings.warn(
                f"{', '.join(sorted(others))}: without effect, since potentials are kept as logarithms here",
                stacklevel=3,
            )

    def start(self, warmstart: Any) -> tuple[Double, Double] | None:
        """Potentials in units of cost."""
        if warmstart is None:
            return None
        unit = 1.0 if self.method in IN_COST_UNITS else self.reg
        f, g = (unit * np.asarray(on_host(side), dtype=np.float64) for side in warmstart)
        return f, g

    def solve(self, a: Double, b: Double, cost: Double, init: tuple[Double, Double] | None) -> Solution:
        with quietly():
            solution = entropic_transport(
                finite(cost, self.reg),
                a,
                b,
                epsilon=self.reg,
                tol=self.tol,
                max_iter=self.updates,
                scaling=math.exp(-1.0) if self.method == "sinkhorn_epsilon_scaling" else "auto",
                init=init,
                callback=Errors() if self.verbose else None,
            )
        if self.warn and not solution.marginal_error <= self.tol:
            warnings.warn(
                f"the marginals are off by {solution.marginal_error:.1e} after numItermax={self.updates} updates, more "
                f"than stopThr={self.tol:g}; increase numItermax or reg",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def plan(self, kind: Kind, solution: Solution, inputs: tuple[Any, Any, Any]) -> Any:
        """The plan in kind, and differentiable if an input is."""
        if not any(map(is_differentiated, inputs)):
            return kind.wrap(solution.plan.array())
        import torch

        from driftway.torch import entropic_plan

        a, b, M = inputs
        matrix = torch.as_tensor(M)
        matrix = matrix if matrix.dtype.is_floating_point else matrix.double()
        cost = torch.as_tensor(finite(np.asarray(on_host(M), dtype=np.float64), self.reg)).to(matrix)
        with quietly():  # said already
            return entropic_plan(
                torch.where(torch.isfinite(matrix), matrix, cost),
                _given(a),
                _given(b),
                epsilon=self.reg,
                tol=self.tol,
                max_iter=self.updates,
                init=solution,
            )

    def losses(
        self, kind: Kind, a: Double, b: Double, cost: Double, warmstart: Any, inputs: tuple[Any, Any, Any]
    ) -> Any:
        """⟨γₖ, M⟩ for every column bₖ."""
        starts = self._starts(warmstart, b.shape[1])
        solutions = [self.solve(a, b[:, k], cost, start) for k, start in enumerate(starts)]
        if any(map(is_differentiated, inputs)):
            import torch

            one = [self.plan(kind, s, (inputs[0], inputs[1][:, k], inputs[2])) for k, s in enumerate(solutions)]
            losses = torch.stack([_pair(plan, inputs[2]) for plan in one])
        else:
            losses = kind.wrap([float(np.vdot(s.plan.array(), finite(cost, self.reg))) for s in solutions])
        return (losses, self.log_of(solutions, kind, several=True)) if self.log else losses

    def log_of(self, solutions: list[Solution], kind: Kind, *, several: bool) -> dict[str, Any]:
        count = max(int(s.trace.inner.sum()) for s in solutions)
        errors = [s.marginal_error for s in solutions] if several else solutions[0].trace.marginal_error.tolist()
        duals = scalings(solutions, self.reg, kind, several=several)
        if self.method not in IN_COST_UNITS:
            duals["warmstart"] = duals["log_u"], duals["log_v"]
        return {
            "err": errors,
            "niter": count,
            "n_iter": count,
            **duals,
            "gap": [s.gap for s in solutions] if several else solutions[0].gap,
            "solution": solutions if several else solutions[0],
        }

    def is_traced(self, *inputs: Any) -> bool:
        return any(library_of(value) == "jax" and is_differentiated(value) for value in inputs)

    def traced(self, a: Any, b: Any, M: Any) -> Any:
        """The plan of arrays that have no numbers yet."""
        if self.log or self.verbose or getattr(b, "ndim", 1) == 2:
            raise TypeError("arrays that JAX is tracing allow neither log, nor verbose, nor several columns of b")
        from driftway.jax import entropic_plan

        return entropic_plan(M, _given(a), _given(b), epsilon=self.reg, tol=self.tol)

    def _starts(self, warmstart: Any, count: int) -> list[tuple[Double, Double] | None]:
        """A pair of potentials per column, from as many pairs or a pair of matrices."""
        if warmstart is None:
            return [None] * count
        if len(warmstart) == 2 and np.ndim(on_host(warmstart[0])) == 2:
            f, g = map(on_host, warmstart)
            return [self.start((f[:, k], g[:, k])) for k in range(count)]
        if len(warmstart) != count:
            raise ValueError(
                f"warmstart must be {count} pairs of potentials, one per column of b, got {len(warmstart)}"
            )
        return [self.start(pair) for pair in warmstart]


def _given(mass: Any) -> Any:
    """None for uniform masses, which POT writes as an empty list."""
    if library_of(mass) != "jax":
        mass = None if np.size(on_host(mass)) == 0 else mass
    return None if getattr(mass, "size", None) == 0 else mass


def _pair(plan: Any, M: Any) -> Any:
    """⟨γ, M⟩ in kind, where nothing is transported at infinite cost."""
    if library_of(plan) == "numpy":
        cost = np.asarray(on_host(M), dtype=np.float64)
        return plan.dtype.type(np.vdot(plan, np.where(plan > 0, cost, 0.0)))
    if library_of(plan) == "torch":
        import torch

        return (plan * torch.where(plan > 0, torch.as_tensor(M, dtype=plan.dtype, device=plan.device), 0.0)).sum()
    import jax.numpy as jnp

    return (plan * jnp.where(plan > 0, jnp.asarray(M), 0.0)).sum()
