"""Replacements for POT's functions of regularised transport: `gcg`, `cg` and `sinkhorn_l1l2_gl`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from driftway.arrays.interchange import Kind, is_differentiated, on_host
from driftway.arrays.validation import double_array, flag, one_of, positive_integer, real_number
from driftway.pot.entropic import METHODS
from driftway.pot.masses import arrays, finite
from driftway.pot.reporting import StoppingRule, refuse, scalings
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers.custom import Custom
from driftway.regularizers.group_lasso import GroupLasso
from driftway.regularizers.regularizer import Regularizer
from driftway.regularizers.time_smoothness import TimeSmoothness
from driftway.solvers.conditional_gradient.frank_wolfe import FrankWolfe
from driftway.solvers.forward_backward.solver import ForwardBackward
from driftway.solvers.silence import quietly
from driftway.solvers.solve import solve
from driftway.solvers.solver import Solver

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
    _refuse_graphs("gcg", a, b, M)
    kind, rows, columns, cost = arrays(a, b, M)
    weight = real_number("reg2", reg2, minimum=0.0)
    J = _custom(f, df, weight, kind, convex) if weight else None
    problem = _problem(cost, rows, columns, reg1, J)
    start = None if G0 is None else _positive(G0, problem)
    solver = None if J is None else ForwardBackward(accelerate=flag("convex", convex) and start is None)
    budget = positive_integer("numItermax", numItermax) * positive_integer("numInnerItermax", numInnerItermax)
    return _entropic(problem, kind, solver, start, budget, (stopThr, stopThr2), verbose, log, warn)


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
    _refuse_graphs("cg", a, b, M)
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
        _warn(solution, f"numItermax={numItermax} iterations", stopThr, "numItermax or stopThr")
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
    _refuse_graphs("sinkhorn_l1l2_gl", a, b, M)
    real_number("eps", eps, minimum=0.0)
    kind, rows, columns, cost = arrays(a, b, M)
    lasso = GroupLasso(on_host(labels_a), real_number("eta", eta, minimum=0.0))
    problem = _problem(cost, rows, columns, reg, lasso)
    budget = positive_integer("numItermax", numItermax) * positive_integer("numInnerItermax", numInnerItermax)
    return _entropic(problem, kind, None, None, budget, (stopInnerThr, 1e-9), verbose, log, flag("warn", warn))


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
    problem, limit = _problem(M, a, b, reg, J), positive_integer("max_iter", max_iter)
    plan, log = _entropic(problem, Kind("numpy", None), None, None, limit, (tol, 0.0), verbose, True, True)
    return plan, log


def _entropic(
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
        _warn(solution, f"a budget of {budget} Sinkhorn iterations", relative, "numItermax")
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


def _problem(cost: Double, a: Double, b: Double, reg: float, J: Regularizer | None) -> Problem:
    strength = real_number("reg", reg, minimum=0.0, strict=True)
    return Problem(finite(cost, strength), a, b, epsilon=strength, regularizer=J)


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


def _refuse_graphs(function: str, *inputs: Any) -> None:
    if any(map(is_differentiated, inputs)):
        raise TypeError(
            f"the plan of {function} is not differentiable: detach the inputs, or use transport_loss of driftway.torch "
            f"or driftway.jax, whose value is"
        )


def _warn(solution: Solution, after: str, threshold: float, remedy: str) -> None:
    warnings.warn(
        f"the certified relative gap is {solution.gap:.1e} after {after}, more than {threshold:g}; increase {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )
