"""`solve` and `sinkhorn`: the two functions most users need."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind, on_host
from driftway.arrays.validation import double_array, flag, positive_integer, real_array, real_number
from driftway.engines.cores import single_blas
from driftway.engines.engine import Engine
from driftway.engines.threads.engine import Threads
from driftway.geometry.cost import Cost
from driftway.geometry.dense import Dense
from driftway.geometry.matrices import Factored
from driftway.plan.plan import Plan
from driftway.problem.model import Model
from driftway.problem.problem import Problem
from driftway.problem.solution import Iteration, Solution
from driftway.problem.units import Units
from driftway.solvers.attempts import first_to_succeed
from driftway.solvers.choice import choose
from driftway.solvers.loop import Callback, iterate
from driftway.solvers.silence import is_quiet
from driftway.solvers.sinkhorn import Sinkhorn
from driftway.solvers.solver import Solver, Start

Double = npt.NDArray[np.float64]
Init = Solution | Plan | npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]


def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    init: Init | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    engine: Engine | None = None,
) -> Solution:
    """Solves  min ⟨γ, C⟩ + ε H(γ) + J(γ)  over the couplings of a and b.

    Parameters
    ----------
    problem : Problem
    solver : ForwardBackward, DualAscent, DualNewton, Sinkhorn, ConditionalGradient or FrankWolfe, optional
        One of `driftway.solvers`, or your own subclass of its `Solver`. By default the fastest safe one:
        `Sinkhorn` without a regulariser, `DualAscent` for time regularity and for small problems without a
        regulariser, `DualNewton` for a group lasso with or without time regularity, else `ForwardBackward`,
        accelerated if J is convex. `Solution.message` says which it was.
    tol : float
        What the certified relative gap and the marginal error must not exceed for `converged`.
    max_iter : int
        Iterations of the solver at the most.
    init : optional
        Where to start. A pair (f, g) of potentials in units of cost; a `Solution` of this or a similar problem
        of the same shape, of which potentials, dual variables and plan are used as far as they fit; or a
        `Plan` or positive array γ₀ as in the paper's Algorithm 1, which is then held dense; the solvers of duals
        (`Sinkhorn`, `DualAscent`, `DualNewton`) do not take one.
    callback : callable, optional
        Called as callback(iteration, plan) with each line of the trace; a true return value stops the solve.
    progress : bool
        Whether to show a progress bar.
    engine : Engine, optional
        What executes the sweeps, one of `driftway.engines`; by default `Threads()`, one thread per core.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import PointCloudCost, Problem, TimeSmoothness, solve
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    >>> smooth = TimeSmoothness(Y, previous=X, weight=2.0)
    >>> solution = solve(Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=smooth))
    >>> bool(solution.lower_bound <= solution.value), solution.converged
    (True, True)

    """
    return _run(problem, solver, tol, max_iter, init, callback, progress, engine)


def sinkhorn(
    cost: npt.ArrayLike | Cost,
    a: npt.ArrayLike | None = None,
    b: npt.ArrayLike | None = None,
    *,
    epsilon: float,
    tol: float = 1e-6,
    max_iter: int = 100_000,
    scaling: float | Literal["auto"] | None = "auto",
    relax: bool = True,
    init: Solution | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    engine: Engine | None = None,
) -> Solution:
    """Entropic optimal transport:  min ⟨γ, C⟩ + ε H(γ)  over the couplings of a and b.

    Parameters
    ----------
    cost, a, b, epsilon : see `Problem`
    max_iter : int
        Updates of the pair of potentials, rounded up to whole rounds, at least two; `n_iter` counts rounds.
    scaling, relax : see `driftway.solvers.Sinkhorn`
    tol, init, callback, progress, engine : see `solve`

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import sinkhorn
    >>> solution = sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.1)
    >>> solution.plan.dense().round(4)
    array([[0.5, 0. ],
           [0. , 0.5]])

    """
    updates = positive_integer("max_iter", max_iter)
    solver = Sinkhorn(scaling=scaling, relax=relax, round_length=min(1000, updates))
    problem = Problem(cost, a, b, epsilon=epsilon)
    rounds = max(1, -(-updates // solver.round_length) - 1)
    return _run(problem, solver, tol, rounds, init, callback, progress, engine)


def _run(
    problem: Problem,
    solver: Solver | None,
    tol: float,
    max_iter: int,
    init: Init | None,
    callback: Callback | None,
    progress: bool,
    engine: Engine | None,
) -> Solution:
    """Checks everything, then iterates."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {type(problem).__name__}")
    real_number("tol", tol, minimum=0.0)
    positive_integer("max_iter", max_iter)
    flag("progress", progress)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    if solver is not None and (isinstance(solver, type) or not isinstance(solver, Solver)):
        raise TypeError(f"solver must be a solver such as ForwardBackward(), got {solver!r}")
    if engine is not None and (isinstance(engine, type) or not isinstance(engine, Engine)):
        raise TypeError(f"engine must be an engine such as driftway.engines.Threads(), got {engine!r}")
    given = init is not None and not isinstance(init, Solution | tuple)  # a plan, which has no factored form here
    engine = Threads() if engine is None else engine
    problem.cost.check_engine(engine)
    if solver is not None:
        solver.check(problem)
    units = Units.of(problem)
    problem = units.normalized()
    if not problem.cost.remote:
        engine = engine.holding(problem.a, problem.b)
    solvers = choose(problem, engine, from_plan=given) if solver is None else [solver]
    model = Model(problem, engine, dense=given)
    with single_blas():
        start = _start(model, _init_in(units, problem, init))
        model.check()

        def attempt(solver: Solver) -> tuple[Solution, bool]:
            solver, steps = solver.in_units(units.cost), solver.steps_in_inverse_cost

            def tell(iteration: Iteration, plan: Plan) -> bool | None:
                assert callback is not None
                return callback(units.iteration_out(iteration, steps=steps), units.plan_out(plan))

            watch = None if callback is None else tell
            found = iterate(model, solver, start, tol=tol, max_iter=max_iter, callback=watch, progress=progress)
            return units.solution_out(found[0], steps=steps), found[1]

        solution = in_kind(first_to_succeed(model, solvers, attempt), units.problem.kind)
    if not solution.converged and not is_quiet():
        from sklearn.exceptions import ConvergenceWarning  # here, for its import takes longer than most solves

        warnings.warn(solution.message, ConvergenceWarning, stacklevel=3)
    return solution


def in_kind(solution: Solution, kind: Kind | None) -> Solution:
    """A solution whose plan and potentials are arrays of another library."""
    if kind is None:
        return solution
    f, g = (kind.wrap(potential) for potential in solution.potentials)
    return replace(solution, plan=replace(solution.plan, kind=kind), potentials=(f, g))


def _init_in(units: Units, problem: Problem, init: Init | None) -> Init | None:
    """`init` in these units; what is malformed is left for `_start` to refuse."""
    if units.ordinary or init is None:
        return init
    if isinstance(init, Solution):
        if init.plan.shape != problem.shape:
            return init
        return replace(init, plan=units.plan_in(init.plan, problem), potentials=units.potentials_in(*init.potentials))
    if isinstance(init, Plan):
        return units.plan_in(init, problem)
    if isinstance(init, tuple):
        return units.potentials_in(*init) if len(init) == 2 else init
    return real_array("init", init) / units.mass


def _start(model: Model, init: Init | None) -> Start:
    """The start that `init` describes."""
    n, m = model.problem.shape
    if init is None:
        return Start(np.zeros_like(model.a), np.zeros(m))
    if isinstance(init, Solution):
        if init.plan.shape != (n, m):
            raise ValueError(f"init must be of the problem's shape {(n, m)}, got a solution of shape {init.plan.shape}")
        if init.plan.log.held is not None and model.moments is None and model.epsilon > 0:
            f, g = _potentials(model, (model.epsilon * init.plan.f, model.epsilon * init.plan.g))
            return Start(f, g, init.plan.log, init.plan, _potentials(model, init.potentials))
        return Start(*_potentials(model, init.potentials), _log_over(model, init.plan), init.plan)
    if isinstance(init, tuple):
        if len(init) != 2:
            raise ValueError(f"init must be a pair of potentials (f, g), got a tuple of length {len(init)}")
        return Start(*_potentials(model, init))
    support = np.multiply.outer(model.a > 0, model.b > 0)
    if isinstance(init, Plan) and init.shape == (n, m) and init.remainder is None:
        log = model.engine.assemble(init.log) + init.g
        log += init.f[:, None]  # the logarithm itself, which does not underflow as the plan may
    else:
        gamma = double_array("init", init.array() if isinstance(init, Plan) else init, (n, m))
        log = np.log(gamma, out=np.full((n, m), -np.inf), where=gamma > 0)
    if not np.isfinite(log[support]).all():
        least = np.asarray(on_host(init))[support].min()
        raise ValueError(f"init must be positive wherever a and b are, since its logarithm is taken; got {least:g}")
    return Start(np.zeros(n), np.zeros(m), Dense(np.where(support, log, 0.0)))


def _potentials(model: Model, pair: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[Double, Double]:
    """Finite potentials; those of massless points (−∞ in a solution) do not matter."""
    n, m = model.problem.shape
    f, g = (real_array(f"init[{k}]", potential).astype(np.float64) for k, potential in enumerate(pair))
    f[np.isneginf(f)], g[np.isneginf(g)] = 0.0, 0.0
    return double_array("init[0]", f, (n,)), double_array("init[1]", g, (m,))


def _log_over(model: Model, plan: Plan) -> Factored | None:
    """The log-plan of another solution over this problem's cost and bases, if it has as many coefficients."""
    log, cost = plan.log.factored, model.cost.factored
    if log is None or cost is None or model.epsilon == 0:
        return None
    if log.P.shape != cost.P.shape or log.Q.shape != cost.Q.shape or not (log.P.size or log.Q.size):
        return None
    # In units of cost the coefficients stay what they were.
    factor = -1.0 / (model.epsilon * log.scale) if log.scale else 1.0
    return cost.with_coefficients(-1.0 / model.epsilon, factor * log.P, factor * log.Q)
