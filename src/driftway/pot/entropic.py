"""Replacements for POT's functions of entropic transport: `sinkhorn` and `sinkhorn2`."""

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
from driftway.pot.reporting import PrintErrors, refuse, scalings
from driftway.problem.solution import Solution
from driftway.solvers.silence import quietly
from driftway.solvers.solve import sinkhorn as entropic_transport

Double = npt.NDArray[np.float64]

# POT's algorithms, with those of their arguments that prevent overflow. They have no effect in the log domain.
METHODS: dict[str, set[str]] = {
    "sinkhorn": set(),
    "sinkhorn_log": set(),
    "greenkhorn": set(),
    "sinkhorn_stabilized": {"tau", "print_period"},
    "sinkhorn_epsilon_scaling": {"tau", "print_period", "epsilon0", "numInnerItermax"},
}
LOSS_METHODS = ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized")
# Algorithms whose `warmstart` is in units of the cost; for the others it is logarithms of scalings.
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
    """Replacement for `ot.sinkhorn`: the plan of entropic transport, or the costs ⟨γ, M⟩ if b has several columns.

    One solver computes all methods; "sinkhorn_epsilon_scaling" starts from larger values of `reg`. The solver stops
    when marginal error (in L1) and certified gap are within `stopThr`, or after `numItermax` updates. Tensors that
    require a gradient, and arrays that JAX traces, give a differentiable result.

    Parameters
    ----------
    a : array of shape (n,)
        The masses of the rows; an empty list for uniform ones.
    b : array of shape (m,) or (m, k)
        The masses of the columns, for one problem or for k; an empty list for uniform ones.
    M : array of shape (n, m)
        The cost.
    reg : float
        The strength of the entropy, positive.
    method : str
        "sinkhorn", "sinkhorn_log", "greenkhorn", "sinkhorn_stabilized" or "sinkhorn_epsilon_scaling".
    numItermax : int
        The largest number of updates.
    stopThr : float
        The tolerance for marginal error and gap.
    verbose : bool
        Whether to print the error of each round.
    log : bool
        Whether to return a dictionary as well.
    warn : bool
        Whether to warn if the marginal error is above the tolerance.
    warmstart : pair of arrays, optional
        Logarithms of the scalings to start from, as in POT.
    **kwargs
        Further arguments of POT's methods, which have no effect here; unknown ones raise a TypeError.

    Returns
    -------
    plan : array of shape (n, m), or of shape (k,) with the costs if b has k columns
        In the library of the arguments.
    log : dict
        If `log`: POT's entries, and "gap" and "solution".

    Warns
    -----
    ConvergenceWarning
        If `warn` and the marginal error is above the tolerance.

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
    """Replacement for `ot.sinkhorn2`: the cost ⟨γ, M⟩ of the entropic plan, one per column of b.

    Parameters
    ----------
    a, b, M, reg, numItermax, stopThr, verbose, log, warn, warmstart, **kwargs
        As for `sinkhorn`.
    method : str
        "sinkhorn", "sinkhorn_log" or "sinkhorn_stabilized".

    Returns
    -------
    loss : float, or array of shape (k,) if b has k columns
    log : dict
        If `log`: as for `sinkhorn`.

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
    loss = _inner_product(plan, M)
    return (loss, result[1]) if log else loss


class _Call:
    """The checked arguments of one call."""

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
                f"{', '.join(sorted(others))} has no effect: driftway computes in the log domain",
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
                callback=PrintErrors() if self.verbose else None,
            )
        if self.warn and not solution.marginal_error <= self.tol:
            warnings.warn(
                f"the marginal error is {solution.marginal_error:.1e} after numItermax={self.updates} updates, more "
                f"than stopThr={self.tol:g}; increase numItermax or reg",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def plan(self, kind: Kind, solution: Solution, inputs: tuple[Any, Any, Any]) -> Any:
        """The plan in the library of the inputs, differentiable if an input is."""
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
                _none_if_uniform(a),
                _none_if_uniform(b),
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
            losses = torch.stack([_inner_product(plan, inputs[2]) for plan in one])
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

        return entropic_plan(M, _none_if_uniform(a), _none_if_uniform(b), epsilon=self.reg, tol=self.tol)

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


def _none_if_uniform(mass: Any) -> Any:
    """None for uniform masses, which POT writes as an empty list."""
    if library_of(mass) != "jax":
        mass = None if np.size(on_host(mass)) == 0 else mass
    return None if getattr(mass, "size", None) == 0 else mass


def _inner_product(plan: Any, M: Any) -> Any:
    """⟨γ, M⟩ in kind, where nothing is transported at infinite cost."""
    if library_of(plan) == "numpy":
        cost = np.asarray(on_host(M), dtype=np.float64)
        return plan.dtype.type(np.vdot(plan, np.where(plan > 0, cost, 0.0)))
    if library_of(plan) == "torch":
        import torch

        return (plan * torch.where(plan > 0, torch.as_tensor(M, dtype=plan.dtype, device=plan.device), 0.0)).sum()
    import jax.numpy as jnp

    return (plan * jnp.where(plan > 0, jnp.asarray(M), 0.0)).sum()
