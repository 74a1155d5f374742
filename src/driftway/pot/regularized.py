"""Replacement for POT's `sinkhorn_l1l2_gl`, and what all functions of regularised transport share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from driftway.arrays.interchange import Kind, is_differentiated, on_host
from driftway.arrays.validation import flag, positive_integer, real_number
from driftway.pot.masses import arrays, finite
from driftway.pot.reporting import StoppingRule, scalings
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers.group_lasso import GroupLasso
from driftway.regularizers.regularizer import Regularizer
from driftway.regularizers.time_smoothness import TimeSmoothness
from driftway.solvers.silence import quietly
from driftway.solvers.solve import solve
from driftway.solvers.solver import Solver

Double = npt.NDArray[np.float64]
Function = Callable[[Any], Any]


def sinkhorn_l1l2_gl(
    a: Any,
    labels_a: Any,
    b: Any,
    M: Any,
    reg: float,
    eta: float = 0.1,
    numItermax: int = 10,
    numInnerItermax: int = 200,
    stopInnerThr: float = 1e-9,
    eps: float = 1e-12,
    verbose: bool = False,
    log: bool = False,
    *,
    warn: bool = True,
) -> Any:
    """Replacement for `ot.da.sinkhorn_l1l2_gl`: entropic transport with a group lasso over the labels of the source.

        min ⟨γ, M⟩ + reg Σ γ log γ + eta Σⱼ Σ_ℓ ‖γ(I_ℓ, j)‖₂

    The plan has the marginals a and b exactly.

    Parameters
    ----------
    a : array of shape (n,)
        The masses of the source; an empty list for uniform ones.
    labels_a : array of shape (n,)
        The labels of the source.
    b : array of shape (m,)
        The masses of the target; an empty list for uniform ones.
    M : array of shape (n, m)
        The cost.
    reg : float
        The strength of the entropy, positive.
    eta : float
        The weight of the group lasso, non-negative.
    numItermax, numInnerItermax : int
        Their product is the largest number of Sinkhorn iterations, as in POT.
    stopInnerThr : float
        The tolerance for the certified gap, relative to the value.
    eps : float
        Has no effect; it prevents a division by zero in POT.
    verbose : bool
        Whether to print the loss of each iteration.
    log : bool
        Whether to return a dictionary as well.
    warn : bool
        Whether to warn if the tolerance is not met.

    Returns
    -------
    plan : array of shape (n, m)
    log : dict
        If `log`: POT's entries, and "gap" and "solution".

    Warns
    -----
    ConvergenceWarning
        If `warn` and the tolerance is not met.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import sinkhorn_l1l2_gl
    >>> M = np.random.default_rng(0).random((4, 3))
    >>> plan = sinkhorn_l1l2_gl([], [0, 0, 1, 1], [], M, reg=0.1, eta=0.5, numItermax=100)
    >>> bool(np.allclose(plan.sum(axis=1), 1 / 4)), bool(np.allclose(plan.sum(axis=0), 1 / 3))
    (True, True)

    """
    refuse_graphs("sinkhorn_l1l2_gl", a, b, M)
    real_number("eps", eps, minimum=0.0)
    kind, rows, columns, cost = arrays(a, b, M)
    lasso = GroupLasso(on_host(labels_a), real_number("eta", eta, minimum=0.0))
    problem = problem_of(cost, rows, columns, reg, lasso)
    budget = positive_integer("numItermax", numItermax) * positive_integer("numInnerItermax", numInnerItermax)
    return entropic_plan(problem, kind, None, None, budget, (stopInnerThr, 1e-9), verbose, log, flag("warn", warn))


def time_smooth(
    a: Double,
    b: Double,
    M: Double,
    reg: float,
    time: tuple[Double, Double, float, Any],
    labels: Any,
    reg_cl: float,
    max_iter: int,
    tol: float,
    verbose: bool,
) -> tuple[Double, dict[str, Any]]:
    """Plan and log of entropic transport with `TimeSmoothness(*time)` and, if `reg_cl` is positive, a group lasso."""
    J: Regularizer = TimeSmoothness(*time)
    if real_number("reg_cl", reg_cl, minimum=0.0) > 0:
        if labels is None:
            raise ValueError("ys must be given if reg_cl > 0: the group lasso needs the labels of the source")
        J = J + GroupLasso(labels, reg_cl)
    problem, limit = problem_of(M, a, b, reg, J), positive_integer("max_iter", max_iter)
    plan, log = entropic_plan(problem, Kind("numpy", None), None, None, limit, (tol, 0.0), verbose, True, True)
    return plan, log


def entropic_plan(
    problem: Problem,
    kind: Kind,
    solver: Solver | None,
    start: Double | None,
    budget: int,
    thresholds: tuple[float, float],
    verbose: bool,
    log: bool,
    warn: bool,
) -> Any:
    """Solves with a budget of Sinkhorn iterations; returns the plan, and its log if asked for."""
    relative, absolute = thresholds
    stopping = StoppingRule(budget, absolute, problem.epsilon * problem.mass, flag("verbose", verbose))
    with quietly():  # convergence is judged by POT's thresholds below
        solution = solve(problem, solver, tol=relative, max_iter=budget, init=start, callback=stopping)
    if warn and not (solution.gap <= relative or stopping.enough):
        warn_of_gap(solution, f"a budget of {budget} Sinkhorn iterations", relative, "numItermax")
    plan = kind.wrap(solution.plan.round().array())
    if not log:
        return plan
    losses = [*solution.trace.objective[:-1], solution.value]  # the last one is that of the returned plan
    return plan, {
        # POT's entropy is Σ γ log γ, ours Σ γ (log γ − 1).
        "loss": [float(loss) + problem.epsilon * problem.mass for loss in losses],
        "err": solution.trace.marginal_error.tolist(),
        "niter": int(solution.trace.inner.sum()),
        **scalings([solution], problem.epsilon, kind, several=False),
        "gap": solution.gap,
        "solution": solution,
    }


def problem_of(cost: Double, a: Double, b: Double, reg: float, J: Regularizer | None) -> Problem:
    """The problem of POT's arguments."""
    strength = real_number("reg", reg, minimum=0.0, strict=True)
    return Problem(finite(cost, strength), a, b, epsilon=strength, regularizer=J)


def refuse_graphs(function: str, *inputs: Any) -> None:
    """Raises a TypeError if an input is differentiated, which the plan is not."""
    if any(map(is_differentiated, inputs)):
        raise TypeError(
            f"the plan of {function} is not differentiable: detach the inputs, or use transport_loss of driftway.torch "
            f"or driftway.jax, whose value is"
        )


def warn_of_gap(solution: Solution, after: str, threshold: float, remedy: str) -> None:
    """Warns that the certified gap is larger than the threshold."""
    warnings.warn(
        f"the certified relative gap is {solution.gap:.1e} after {after}, more than {threshold:g}; increase {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )
