"""The base class of solvers, their start and their state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from driftway.geometry.matrices import Matrix
from driftway.plan.plan import Plan
from driftway.problem.model import Model
from driftway.problem.point import Point, Tangent
from driftway.problem.problem import Problem

Double = npt.NDArray[np.float64]

# Sinkhorn iterations of one inner problem at the most; an unfinished one is carried on by the next.
INNER_ITERATIONS = 1_000
# A round that leaves more of the error than this made no progress.
NO_PROGRESS = 0.9
# A strength on the way is given up after so many evaluations; a solve, if none of as many brought it forward.
STAGE_LIMIT = 300
# A start whose marginals are off by more than this share of the mass is worse than none.
WORTHLESS_START = 1.0
# Relative smoothness over ε below which forward-backward contracts by more than four in every step.
WEAK = 0.3


@dataclass(frozen=True, eq=False)
class Start:
    """The point from which a solve begins, as solvers are given it.

    Attributes
    ----------
    f, g : potentials in units of cost; zeros if none were given
    log : a log-plan to start from, to which the potentials belong, or `None`
    plan : the plan of the solution to start from, or `None`
    dual : if there is a log-plan, the potentials of the problem itself, if they are known

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import Problem
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> from driftway.solvers import Sinkhorn, Start
    >>> model = Model(Problem(np.eye(2), epsilon=0.5), Threads())
    >>> state = Sinkhorn().start(model, Start(np.zeros(2), np.zeros(2)), accuracy=1e-9)
    >>> bool(state.point.error <= 1e-9)
    True

    """

    f: Double
    g: Double
    log: Matrix | None = None
    plan: Plan | None = None
    dual: tuple[Double, Double] | None = None


@dataclass(frozen=True, eq=False)
class State:
    """The state of a solve after an iteration, as solvers return it.

    Attributes
    ----------
    point : the present plan and its objective
    tangent : the linearisation of J there, from which the certificate computes a lower bound where the solver's own
    does
        not suffice; `None` where the solver's own is as good
    bound : a lower bound on the optimum if this iteration found one at no cost, else `None`
    potentials : f and g, in units of cost, of the linearised problem
    step : the step size that led here
    inner : inner iterations spent on this step
    memory : what else the solver needs in its next step
    magnitude : the absolute values that the bound is made of besides potentials, where there is no tangent
    exhausted : whether rounding allows the solver no further progress

    Examples
    --------
    A solve by hand:

    >>> import numpy as np
    >>> from driftway import ForwardBackward, GroupLasso, Problem
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> from driftway.solvers import Start
    >>> cost = np.random.default_rng(0).random((6, 5))
    >>> problem = Problem(cost, epsilon=0.1, regularizer=GroupLasso([0, 0, 0, 1, 1, 1]))
    >>> solver, model = ForwardBackward(), Model(problem, Threads())
    >>> state = solver.start(model, Start(np.zeros(6), np.zeros(5)), accuracy=1e-9)
    >>> first = state.point.objective
    >>> for _ in range(10):
    ...     state = solver.advance(model, state, accuracy=1e-9)
    >>> bool(state.point.objective < first)
    True

    """

    point: Point
    tangent: Tangent | None
    bound: float | None
    potentials: tuple[Double, Double]
    step: float
    inner: int
    memory: Any = None
    magnitude: float = 0.0
    exhausted: bool = False


class Solver(ABC):
    """Base class of solvers: a start and a step. The loop that drives them does everything else.

    A solver is an immutable value and keeps nothing between calls; what it has to remember is `State.memory`. A
    subclass gives `start` and `advance`, and `check` if it does not fit every problem.

    Attributes
    ----------
    direct : bool
        Whether it goes all the way in a step, so that it is asked for the final accuracy at once.
    expense : str
        What makes many iterations slow; messages cite it.
    steps_in_inverse_cost : bool
        Whether the step sizes that it reports are in units of one over a cost.

    Examples
    --------
    Two steps of a solve, made by hand:

    >>> import numpy as np
    >>> from driftway import ForwardBackward, GroupLasso, Problem
    >>> from driftway.engines import Threads
    >>> from driftway.problem import Model
    >>> from driftway.solvers import Start
    >>> cost = np.random.default_rng(0).random((6, 5))
    >>> problem = Problem(cost, epsilon=0.1, regularizer=GroupLasso([0, 0, 0, 1, 1, 1]))
    >>> model, solver = Model(problem, Threads()), ForwardBackward(step=1.0)
    >>> solver.check(problem)
    >>> first = solver.start(model, Start(np.zeros(6), np.zeros(5)), accuracy=1e-9)
    >>> second = solver.advance(model, first, accuracy=1e-9)
    >>> bool(second.point.objective < first.point.objective), second.step
    (True, 1.0)

    """

    direct: bool = False
    expense: str = ""
    steps_in_inverse_cost: bool = False

    def check(self, problem: Problem) -> None:  # noqa: B027 - a solver that fits every problem has nothing to say
        """Raises if the problem does not fit this solver.

        See the example of the class.

        Parameters
        ----------
        problem : Problem

        Raises
        ------
        ValueError
            With a solver that does fit.

        """

    def in_units(self, cost: float) -> Self:
        """The solver for a problem whose unit of cost is `cost`: one with parameters in units of cost converts them.

        Parameters
        ----------
        cost : float

        Returns
        -------
        Solver

        Examples
        --------
        >>> from driftway import ForwardBackward
        >>> ForwardBackward(step=2.0).in_units(4.0).step
        8.0

        """
        return self

    @abstractmethod
    def start(self, model: Model, start: Start, accuracy: float) -> State:
        """The state before the first iteration.

        See the example of the class.

        Parameters
        ----------
        model : Model
            The problem.
        start : Start
            Where to begin.
        accuracy : float
            The marginal error to which inner problems are solved.

        Returns
        -------
        State

        """

    @abstractmethod
    def advance(self, model: Model, state: State, accuracy: float) -> State:
        """The next state.

        See the example of the class.

        Parameters
        ----------
        model : Model
            The problem.
        state : State
            What `start` or the last `advance` returned.
        accuracy : float
            The marginal error to which inner problems are solved.

        Returns
        -------
        State

        """


def is_weak(problem: Problem) -> bool:
    """Whether J is so weak beside the entropy that a few steps of a splitting method are all it takes."""
    smoothness = problem.regularizer.smoothness
    return smoothness is not None and smoothness < WEAK * problem.epsilon


def require_entropy(solver: object, problem: Problem) -> None:
    """Raises if ε = 0, where only plain conditional gradient works."""
    if problem.epsilon <= 0:
        raise ValueError(
            f"{type(solver).__name__} needs epsilon > 0, got {problem.epsilon:g}; use driftway.solvers.FrankWolfe for "
            "epsilon = 0"
        )
