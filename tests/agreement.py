"""What it means that two engines give the same answer, and the table of solvers and problems on which they have to."""

from __future__ import annotations

import warnings

import numpy as np
from problems import REGULARIZERS, Data, data
from sklearn.exceptions import ConvergenceWarning

from driftway import ConditionalGradient, ForwardBackward, Problem, Solution, solve
from driftway.engines import Threads
from driftway.engines.engine import Engine
from driftway.solvers import DualAscent, FrankWolfe, Sinkhorn

# The regularisers that see the plan through moments only, which every solver takes.
BUILT = {name: make(data(6, 5, seed=0), 1.0) for name, (make, _) in REGULARIZERS.items()}
MOMENTS = [name for name, J in BUILT.items() if J is None or J.moment_form is not None]
METRICS = ("euclidean", "sqeuclidean")
# All but DualNewton, which no other engine than threads runs.
SOLVERS = [
    Sinkhorn(),
    ForwardBackward(),
    ForwardBackward(accelerate=True),
    DualAscent(),
    ConditionalGradient(),
    FrankWolfe(),
]
# Nothing is held, compiled or computed in float32.
PLAIN = Threads(memory=0, compiled=False, mixed=False)


def difference(first: Solution, second: Solution, d: Data) -> float:
    """The largest difference of objective, potentials and products of the plan, each relative to its magnitude."""
    pairs = [
        (first.value, second.value),
        (_gauged(first, d), _gauged(second, d)),
        (np.asarray(first.plan @ d.Y), second.plan @ d.Y),
        (first.plan.T @ d.X, second.plan.T @ d.X),
        (first.plan.marginals[1], second.plan.marginals[1]),
    ]
    # NaN, which `max` would pass over, is the largest.
    return float(np.max([np.abs(one - other).max() / np.abs(other).max() for one, other in pairs]))


def _gauged(solution: Solution, d: Data) -> np.ndarray:
    """The potentials with ⟨g, b⟩ = 0: only f ⊕ g matters."""
    f, g = map(np.asarray, solution.potentials)
    level = g @ d.b
    return np.concatenate([f + level, g - level])


def fits(solver: object, p: Problem) -> bool:
    try:
        solver.check(p)
    except ValueError:
        return False
    return True


def run(p: Problem, solver: object, engine: Engine, *, tol: float = 1e-11, max_iter: int = 12) -> Solution:
    """So many iterations at the most, whether they suffice or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(p, solver, tol=tol, max_iter=max_iter, engine=engine)
