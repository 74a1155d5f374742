"""The functions of `driftway.torch` and `driftway.jax`: their arguments and what is told about them, once.

A `Library` says in which two ways PyTorch and JAX differ. `offered` makes a function of a door of each function below:
`help()` shows its signature and its docstring, type checkers see the same through `ParamSpec`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from driftway.derivatives.deferred_regularizers import Deferred
from driftway.derivatives.differentiable import Differentiable, Double
from driftway.derivatives.entropic_plan import EntropicPlan
from driftway.derivatives.optimal_value import OptimalValue
from driftway.engines.engine import Engine
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import Regularizer
from driftway.solvers.solver import Solver

Arguments = ParamSpec("Arguments")
Array = TypeVar("Array")
Array_co = TypeVar("Array_co", covariant=True)


class Library(Protocol[Array_co]):
    """A library of arrays that can be differentiated."""

    @property
    def array(self) -> type[Array_co]:
        """The class of its arrays."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """What stands for {array}, {an array} and other places in docstrings, the functions' examples among them."""
        ...

    def floating(self, value: Any, like: Any) -> Any:
        """A value as an array of floating-point numbers, beside another one if that is given."""
        ...

    def differentiable(self, function: Differentiable[Any], arrays: list[Any]) -> Array_co:
        """The value of a function at these arrays, with derivatives in them."""
        ...

    def constant(
        self, function: Callable[[Sequence[Any]], Double], shape: tuple[int, ...], arrays: list[Any]
    ) -> Array_co:
        """The value of a function at these arrays, which is not differentiated."""
        ...


def transport_loss(
    library: Library[Array],
    cost: Any,
    a: Any = None,
    b: Any = None,
    *,
    epsilon: float,
    regularizer: Deferred | Regularizer | None = None,
    solver: Solver | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    engine: Engine | None = None,
) -> Array:
    """The optimal value  min ⟨γ, C⟩ + ε H(γ) + J(γ),  differentiable in cost, positions and masses.

    Parameters
    ----------
    cost : {array} (n, m) or PointCloudCost
        C, or this module's `PointCloudCost(X, Y, metric)`, which is differentiated in X and Y.
    a, b : {array} (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default. See the notes for their derivatives.
    epsilon, regularizer : see `driftway.Problem`
        The regularisers of this module are differentiated in their own positions as well.
    solver, tol, max_iter, engine : see `driftway.solve`
        The gradient is as accurate as the plan, which is about the square root of `tol`.

    Returns
    -------
    {an array} with one element. It can be differentiated once{once}.

    Notes
    -----
    By the envelope theorem one solve gives value and gradient; nothing is unrolled. b is rescaled to the total of a,
    so that the derivative in b is zero along b; that in a includes what a larger total mass does. Through a softmax,
    the usual way to train masses, only differences of the potentials remain.{notes}

    Examples
    --------
    {transport_loss}

    """
    options = epsilon, regularizer, solver, tol, max_iter, engine
    return library.differentiable(*OptimalValue.of(library.floating, cost, a, b, *options))


def transport_plan(
    library: Library[Array],
    cost: Any,
    a: Any = None,
    b: Any = None,
    *,
    epsilon: float,
    regularizer: Deferred | Regularizer | None = None,
    solver: Solver | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    engine: Engine | None = None,
) -> Array:
    """The plan behind `transport_loss`, which is not differentiated.

    Parameters
    ----------
    cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine : see `transport_loss`

    Returns
    -------
    {an array} (n, m).

    Examples
    --------
    {transport_plan}

    """
    options = epsilon, regularizer, solver, tol, max_iter, engine
    value, arrays = OptimalValue.of(library.floating, cost, a, b, *options)
    return library.constant(value.plan, value.shape(arrays), arrays)


def entropic_plan(
    library: Library[Array],
    cost: Any,
    a: Any = None,
    b: Any = None,
    *,
    epsilon: float,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    init: Solution | None = None,
) -> Array:
    """The entropic plan, of  min ⟨γ, C⟩ + ε H(γ),  differentiable in cost, a and b.

    Its derivative comes from the implicit function theorem: one linear system of the smaller side's size.

    Parameters
    ----------
    cost : {array} (n, m)
        C.
    a, b : {array} (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default.
    epsilon, tol, max_iter : see `driftway.sinkhorn`
    init : Solution, optional
        Of this or a similar problem, to start from.

    Returns
    -------
    {an array} (n, m). It can be differentiated once{once}.

    Examples
    --------
    {entropic_plan}

    """
    return library.differentiable(*EntropicPlan.of(library.floating, cost, a, b, epsilon, tol, max_iter, init))


def offered(
    function: Callable[Concatenate[Library[Array], Arguments], Array], library: Library[Array], module: str
) -> Callable[Arguments, Array]:
    """A function above with its library given, as a function of a module."""

    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Array:
        return function(library, *args, **kwargs)

    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1:]
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=library.array
    )
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": library.array}
    call.__name__ = call.__qualname__ = function.__name__
    call.__module__ = module
    if function.__doc__ is not None:  # which it is under python -OO
        call.__doc__ = inspect.cleandoc(function.__doc__)
        for place, words in library.words.items():
            call.__doc__ = call.__doc__.replace(f"{{{place}}}", words)
    return call
