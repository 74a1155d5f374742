"""Replacements for POT's conditional gradients, `gcg` and `cg`, for any smooth regulariser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind, on_host
from driftway.arrays.validation import double_array, flag, one_of, positive_integer, real_number
from driftway.pot.entropic import METHODS
from driftway.pot.masses import arrays
from driftway.pot.regularized import entropic_plan, problem_of, refuse_graphs, warn_of_gap
from driftway.pot.reporting import StoppingRule, refuse
from driftway.problem.problem import Problem
from driftway.regularizers.custom import Custom
from driftway.regularizers.regularizer import Regularizer
from driftway.solvers.conditional_gradient.frank_wolfe import FrankWolfe
from driftway.solvers.forward_backward.solver import ForwardBackward
from driftway.solvers.silence import quietly
from driftway.solvers.solve import solve

Double = npt.NDArray[np.float64]
Function = Callable[[Any], Any]

# The share of the independent coupling that is mixed into a starting plan with zeros. Forward-backward steps are
# multiplicative, so that zeros would stay zero.
INDEPENDENT_SHARE = 0.01


def gcg(
    a: Any,
    b: Any,
    M: Any,
    reg1: float,
    reg2: float,
    f: Function,
    df: Function,
    G0: Any = None,
    numItermax: int = 10,
    numInnerItermax: int = 200,
    stopThr: float = 1e-9,
    stopThr2: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    *,
    convex: bool = False,
    **kwargs: Any,
) -> Any:
    """Replacement for `ot.optim.gcg`: the plan of  min ⟨γ, M⟩ + reg1 Σ γ log γ + reg2 f(γ).

    The plan has the marginals a and b exactly.

    Parameters
    ----------
    a, b : array of shape (n,), (m,)
        The masses of rows and columns; an empty list for uniform ones.
    M : array of shape (n, m)
        The cost.
    reg1 : float
        The strength of the entropy, positive.
    reg2 : float
        The weight of f, non-negative.
    f, df : callable
        f(γ), a number, and its gradient ∇f(γ), an array of shape (n, m).
    G0 : array of shape (n, m), optional
        The plan to start from.
    numItermax, numInnerItermax : int
        Their product is the largest number of Sinkhorn iterations, as in POT.
    stopThr : float
        The tolerance for the certified gap, relative to the value.
    stopThr2 : float
        The tolerance for the certified gap, absolute. The solver stops when one of the two is met.
    verbose : bool
        Whether to print the loss of each iteration.
    log : bool
        Whether to return a dictionary as well.
    convex : bool
        Whether f is convex; POT has no such argument. It allows acceleration and a bound on the optimum.
    **kwargs
        `warn=False` silences the warning; `method` is accepted and has no effect.

    Returns
    -------
    plan : array of shape (n, m)
    log : dict
        If `log`: POT's entries, and "gap" and "solution".

    Warns
    -----
    ConvergenceWarning
        If neither tolerance is met.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import gcg
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> gcg([0.5, 0.5], [0.5, 0.5], M, 1.0, 1.0, lambda G: 0.5 * (G**2).sum(), lambda G: G).round(4)
    array([[0.3459, 0.1541],
           [0.1541, 0.3459]])

    """
    warn = flag("warn", kwargs.pop("warn", True))
    one_of("method", kwargs.pop("method", "sinkhorn"), tuple(METHODS))
    refuse("gcg", kwargs)
    refuse_graphs("gcg", a, b, M)
    kind, rows, columns, cost = arrays(a, b, M)
    weight = real_number("reg2", reg2, minimum=0.0)
    J = _custom(f, df, weight, kind, convex) if weight else None
    problem = problem_of(cost, rows, columns, reg1, J)
    start = None if G0 is None else _positive(G0, problem)
    solver = None if J is None else ForwardBackward(accelerate=flag("convex", convex) and start is None)
    budget = positive_integer("numItermax", numItermax) * positive_integer("numInnerItermax", numInnerItermax)
    return entropic_plan(problem, kind, solver, start, budget, (stopThr, stopThr2), verbose, log, warn)


def cg(
    a: Any,
    b: Any,
    M: Any,
    reg: float,
    f: Function,
    df: Function,
    G0: Any = None,
    line_search: None = None,
    numItermax: int = 200,
    numItermaxEmd: int = 100000,
    stopThr: float = 1e-9,
    stopThr2: float = 1e-9,
    verbose: bool = False,
    log: bool = False,
    nx: Any = None,
    **kwargs: Any,
) -> Any:
    """Replacement for `ot.optim.cg`: the plan of  min ⟨γ, M⟩ + reg f(γ)  without entropy, by conditional gradient.

    The line search is exact.

    Parameters
    ----------
    a, b : array of shape (n,), (m,)
        The masses of rows and columns; an empty list for uniform ones.
    M : array of shape (n, m)
        The cost.
    reg : float
        The weight of f, non-negative.
    f, df : callable
        f(γ), a number, and its gradient ∇f(γ), an array of shape (n, m).
    G0 : array of shape (n, m), optional
        The plan to start from.
    line_search : None
        Another line search cannot be given.
    numItermax : int
        The largest number of iterations.
    numItermaxEmd : int
        Has no effect: the linear programmes are always solved exactly.
    stopThr, stopThr2 : float
        The tolerances, relative and absolute, for the certified gap and for the change of the loss. The solver stops
        when one is met.
    verbose : bool
        Whether to print the loss of each iteration.
    log : bool
        Whether to return a dictionary as well.
    nx : ignored
        The library is that of the arrays.
    **kwargs
        `warn=False` silences the warning.

    Returns
    -------
    plan : array of shape (n, m)
    log : dict
        If `log`: POT's entries, and "gap" and "solution".

    Warns
    -----
    ConvergenceWarning
        If no tolerance is met.

    Examples
    --------
    The square of the plan spreads it, where the cost alone would give the identity:

    >>> import numpy as np
    >>> from driftway.pot import cg
    >>> M = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> cg([0.5, 0.5], [0.5, 0.5], M, 2.0, lambda G: (G**2).sum(), lambda G: 2.0 * G).round(4)
    array([[0.375, 0.125],
           [0.125, 0.375]])

    """
    warn = flag("warn", kwargs.pop("warn", True))
    refuse("cg", kwargs if line_search is None else {**kwargs, "line_search": line_search})
    refuse_graphs("cg", a, b, M)
    positive_integer("numItermaxEmd", numItermaxEmd)
    kind, rows, columns, cost = arrays(a, b, M)
    weight = real_number("reg", reg, minimum=0.0)
    problem = Problem(cost, rows, columns, epsilon=0.0, regularizer=_custom(f, df, weight, kind, convex=False))
    start = None if G0 is None else double_array("G0", on_host(G0), problem.shape)
    unit = 1e-3 * float(np.ptp(cost)) * problem.mass
    stopping = StoppingRule(np.inf, stopThr2, unit, flag("verbose", verbose), stopThr)
    with quietly():
        solution = solve(
            problem,
            FrankWolfe(),
            tol=stopThr,
            max_iter=positive_integer("numItermax", numItermax),
            init=None if start is None else _positive(start, problem),
            callback=stopping,
        )
    if warn and not (solution.gap <= stopThr or stopping.enough):
        warn_of_gap(solution, f"numItermax={numItermax} iterations", stopThr, "numItermax or stopThr")
    plan = kind.wrap(solution.plan.round().array())
    if not log:
        return plan
    u, v = (np.asarray(potential) for potential in solution.potentials)
    return plan, {
        "loss": solution.trace.objective.tolist(),
        "cost": float(np.vdot(solution.plan.array(), cost)),
        "u": kind.wrap(u),
        "v": kind.wrap(v),
        "warning": None if solution.gap <= stopThr or stopping.enough else solution.message,
        "result_code": 1,
        "gap": solution.gap,
        "solution": solution,
    }


def _custom(f: Function, df: Function, weight: float, kind: Kind, convex: bool) -> Regularizer:
    """The regulariser weight · f, where f and its gradient get plans in the caller's library."""
    return weight * Custom(
        lambda gamma: on_host(f(kind.wrap(gamma))), lambda gamma: on_host(df(kind.wrap(gamma))), convex=convex
    )


def _positive(G0: Any, problem: Problem) -> Double:
    """The starting plan; one with zeros is mixed with the independent coupling."""
    gamma = double_array("G0", on_host(G0), problem.shape)
    if (gamma < 0).any():
        raise ValueError(f"G0 must be non-negative, but its minimum is {gamma.min():g}")
    if (gamma[np.ix_(problem.a > 0, problem.b > 0)] > 0).all():
        return gamma
    independent = np.multiply.outer(problem.a, problem.b) / problem.mass
    return (1.0 - INDEPENDENT_SHARE) * gamma + INDEPENDENT_SHARE * independent
