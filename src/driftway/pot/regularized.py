"""Transport with a regulariser as POT calls it."""

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
from driftway.pot.reporting import Losses, refuse, scalings
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

# How much of the independent coupling a starting plan with zeros is given: forward-backward steps multiply.
MIXED = 0.01


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
    """`ot.optim.gcg`: the plan of  min ⟨γ, M⟩ + reg1 Σ γ log γ + reg2 f(γ)  with the gradient `df` of f.

    The plan has the marginals a and b exactly. It ends when the certified gap is within `stopThr`, relatively, or
    `stopThr2`, absolutely, or after numItermax · numInnerItermax Sinkhorn iterations, POT's budget; it warns if the
    gap is not, unless `warn=False`.

    Parameters
    ----------
    a, b : array (n,), (m,)
        Masses; an empty list for uniform ones.
    M : array (n, m)
        The cost.
    reg1, reg2 : float
        Strengths of the entropy, positive, and of f, non-negative.
    f, df : callable
        f(γ), a number, and ∇f(γ), an array (n, m).
    G0 : array (n, m), optional
        The plan to start from.
    numItermax, numInnerItermax, stopThr, stopThr2, verbose, log : as in POT
    convex : bool
        Whether f is convex, which POT has not. It lets the solver accelerate and bound the optimum.

    Returns
    -------
    array (n, m); with `log=True` also a dictionary with POT's entries, and "gap" and "solution"

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
    """`ot.optim.cg`: the plan of  min ⟨γ, M⟩ + reg f(γ)  without entropy, by conditional gradient.

    The line search is exact, so none can be given. It ends when the certified gap or the variation of the loss is
    within `stopThr`, relatively, or `stopThr2`, absolutely, or after `numItermax` iterations, where it warns.

    Parameters
    ----------
    a, b : array (n,), (m,)
        Masses; an empty list for uniform ones.
    M : array (n, m)
        The cost.
    reg : float
        The non-negative weight of f.
    f, df : callable
        f(γ), a number, and ∇f(γ), an array (n, m).
    G0 : array (n, m), optional
        The plan to start from.
    numItermax, stopThr, stopThr2, verbose, log : as in POT
    numItermaxEmd : int
        Has no effect: the transport problems within are always solved to the end.
    nx : ignored
        The library is read off the arrays.

    Returns
    -------
    array (n, m); with `log=True` also a dictionary with POT's entries, and "gap" and "solution"

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
    stopping = Losses(np.inf, stopThr2, unit, flag("verbose", verbose), stopThr)
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
    """`ot.da.sinkhorn_l1l2_gl`: entropic transport with a group lasso over the labels of the source.

        min ⟨γ, M⟩ + reg Σ γ log γ + eta Σⱼ Σ_ℓ ‖γ(I_ℓ, j)‖₂

    The plan has the marginals a and b exactly, and is optimal up to a certified gap of `stopInnerThr`; budget,
    thresholds and warning are those of `gcg`.

    Parameters
    ----------
    a : array (n,)
        Masses of the source; an empty list for uniform ones.
    labels_a : array (n,)
        Labels of the source.
    b : array (m,)
        Masses of the target; an empty list for uniform ones.
    M : array (n, m)
        The cost.
    reg : float
        Strength of the entropy, positive.
    eta : float
        Weight of the group lasso, non-negative.
    numItermax, numInnerItermax, stopInnerThr, verbose, log : as in POT
    eps : float
        Has no effect; it keeps POT from dividing by zero.
    warn : bool
        Whether to warn if the gap is not reached.

    Returns
    -------
    array (n, m); with `log=True` also a dictionary with POT's entries, and "gap" and "solution"

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
            raise ValueError("ys must be given where reg_cl is positive: the group lasso is over the source's labels")
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
    """The plan, and its log if asked for, within a budget of Sinkhorn iterations."""
    relative, absolute = thresholds
    stopping = Losses(budget, absolute, problem.epsilon * problem.mass, flag("verbose", verbose))
    with quietly():  # POT's functions judge convergence by thresholds of their own
        solution = solve(problem, solver, tol=relative, max_iter=budget, init=start, callback=stopping)
    if warn and not (solution.gap <= relative or stopping.enough):
        _warn(solution, f"a budget of {budget} Sinkhorn iterations", relative, "numItermax")
    plan = kind.wrap(solution.plan.round().array())
    if not log:
        return plan
    losses = [*solution.trace.objective[:-1], solution.value]  # the last one of the plan that is returned
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
    """weight · f, where f and its gradient see plans of the caller's kind."""
    return weight * Custom(
        lambda gamma: on_host(f(kind.wrap(gamma))), lambda gamma: on_host(df(kind.wrap(gamma))), convex=convex
    )


def _positive(G0: Any, problem: Problem) -> Double:
    """The starting plan, mixed with a little of the independent coupling where it has zeros."""
    gamma = double_array("G0", on_host(G0), problem.shape)
    if (gamma < 0).any():
        raise ValueError(f"G0 must be non-negative, but its minimum is {gamma.min():g}")
    if (gamma[np.ix_(problem.a > 0, problem.b > 0)] > 0).all():
        return gamma
    return (1.0 - MIXED) * gamma + MIXED * np.multiply.outer(problem.a, problem.b) / problem.mass


def _refuse_graphs(function: str, *inputs: Any) -> None:
    if any(map(is_differentiated, inputs)):
        raise TypeError(
            f"{function}'s plan cannot be differentiated: detach its inputs, or use transport_loss of driftway.torch "
            f"or driftway.jax, whose value can"
        )


def _warn(solution: Solution, after: str, threshold: float, remedy: str) -> None:
    warnings.warn(
        f"the plan is certified to a relative gap of {solution.gap:.1e} only, more than {threshold:g}, after {after}; "
        f"increase {remedy}",
        ConvergenceWarning,
        stacklevel=4,
    )
