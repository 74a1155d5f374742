"""Transport in JAX: the optimal value as a training loss, and plans as JAX arrays.

Everything is computed in float64 on the CPU, through a callback where JAX compiles or maps; arrays elsewhere are
moved there, and what is returned has the dtype of the first array. `TimeSmoothness`, `Laplacian` and
`WassersteinTime` of this module are those of `driftway`, differentiable in the positions they are given; any other
regulariser of `driftway` is welcome too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise ImportError("driftway.jax needs JAX: pip install 'driftway[jax]'") from None

from driftway.derivatives.deferred_costs import PointCloudCost
from driftway.derivatives.deferred_regularizers import Deferred, Laplacian, TimeSmoothness, WassersteinTime
from driftway.derivatives.entropic_plan import Coupling, EntropicPlan
from driftway.derivatives.optimal_value import OptimalValue
from driftway.engines.engine import Engine
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import Regularizer
from driftway.solvers.solver import Solver

__all__ = [
    "Laplacian",
    "PointCloudCost",
    "TimeSmoothness",
    "WassersteinTime",
    "entropic_plan",
    "transport_loss",
    "transport_plan",
]


def transport_loss(
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
) -> jax.Array:
    """The optimal value  min ⟨γ, C⟩ + ε H(γ) + J(γ),  differentiable in cost, positions and masses.

    It works under `jax.grad`, `jax.jit` and `jax.vmap` (one problem after the other).

    Parameters
    ----------
    cost : array (n, m) or PointCloudCost
        C, or this module's `PointCloudCost(X, Y, metric)`, which is differentiated in X and Y.
    a, b : array (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default. See the notes for their derivatives.
    epsilon, regularizer : see `driftway.Problem`
        The regularisers of this module are differentiated in their own positions as well. Under `jit`, where JAX
        advises against calling it from its own callbacks, `Custom` is better given its gradient than `autodiff`.
    solver, tol, max_iter, engine : see `driftway.solve`
        The gradient is as accurate as the plan, which is about the square root of `tol`.

    Returns
    -------
    An array with one element. It can be differentiated once, in reverse mode.

    Notes
    -----
    By the envelope theorem one solve gives value and gradient; nothing is unrolled. b is rescaled to the total of a,
    so that the derivative in b is zero along b; that in a includes what a larger total mass does. Through a softmax,
    the usual way to train masses, only differences of the potentials remain.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from driftway.jax import PointCloudCost, transport_loss
    >>> Y = jnp.ones((4, 2))
    >>> loss = lambda X: transport_loss(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.1)
    >>> jax.grad(loss)(jnp.zeros((3, 2))).sum(axis=0).round(4).tolist()
    [-2.0, -2.0]

    """
    value, arrays = OptimalValue.of(_floating, cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)

    scalar = jax.ShapeDtypeStruct((), arrays[0].dtype)

    def with_gradients(*values: Any) -> list[Any]:
        solved = value.solve(values)
        return [value.result(solved), *value.gradients(solved)]

    def primal(*values: Any) -> Any:
        return _on_host(lambda *values: [value.result(value.solve(values))], [scalar], *values)[0]

    def forward(*values: Any) -> tuple[Any, Any]:
        result, *gradients = _on_host(with_gradients, [scalar, *map(_shape, values)], *values)
        return result, gradients

    def backward(gradients: Any, upstream: Any) -> tuple[Any, ...]:
        return tuple((upstream * gradient).astype(gradient.dtype) for gradient in gradients)

    return _differentiable(primal, forward, backward)(*arrays)


def transport_plan(
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
) -> jax.Array:
    """The plan behind `transport_loss`, which is not differentiated.

    Parameters
    ----------
    cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine : see `transport_loss`

    Returns
    -------
    An array (n, m).

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from driftway.jax import transport_plan
    >>> plan = transport_plan(1.0 - jnp.eye(2), epsilon=0.5)
    >>> bool(jnp.allclose(plan, jnp.array([[0.44, 0.06], [0.06, 0.44]]), atol=0.01))
    True

    """
    value, arrays = OptimalValue.of(_floating, cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)
    shape = jax.ShapeDtypeStruct(value.shape(arrays), arrays[0].dtype)
    stopped = [jax.lax.stop_gradient(array) for array in arrays]
    return _on_host(lambda *values: [value.plan(values)], [shape], *stopped)[0]


def entropic_plan(
    cost: Any,
    a: Any = None,
    b: Any = None,
    *,
    epsilon: float,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    init: Solution | None = None,
) -> jax.Array:
    """The entropic plan, of  min ⟨γ, C⟩ + ε H(γ),  differentiable in cost, a and b.

    Its derivative comes from the implicit function theorem: one linear system of the smaller side's size.

    Parameters
    ----------
    cost : array (n, m)
        C.
    a, b : array (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default.
    epsilon, tol, max_iter : see `driftway.sinkhorn`
    init : Solution, optional
        Of this or a similar problem, to start from.

    Returns
    -------
    An array (n, m). It can be differentiated once.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from driftway.jax import entropic_plan
    >>> slope = jax.grad(lambda cost: entropic_plan(cost, epsilon=0.5)[0, 0])(1.0 - jnp.eye(2))
    >>> bool(jnp.allclose(slope, jnp.array([[-0.05, 0.05], [0.05, -0.05]]), atol=0.01))
    True

    """
    cost = _floating(cost)
    a, b = (
        jnp.full(size, 1.0 / size, cost.dtype) if mass is None else mass
        for mass, size in zip((a, b), cost.shape, strict=True)
    )
    plan, arrays = EntropicPlan.of(_floating, cost, a, b, epsilon, tol, max_iter, init)

    def primal(*values: Any) -> Any:
        return _on_host(lambda *values: [plan.result(plan.solve(values))], [_shape(cost)], *values)[0]

    def forward(*values: Any) -> tuple[Any, Any]:
        gamma = primal(*values)
        return gamma, (gamma, values)

    def backward(saved: Any, upstream: Any) -> tuple[Any, ...]:
        gamma, values = saved
        pulled = _on_host(
            lambda gamma, b, slope: plan.pull_back(Coupling(gamma, b), slope),
            list(map(_shape, values)),
            *(gamma, values[2], upstream),
        )
        return tuple(pulled)

    return _differentiable(primal, forward, backward)(*arrays)


def _differentiable(primal: Any, forward: Any, backward: Any) -> Any:
    function = jax.custom_vjp(primal)
    function.defvjp(forward, backward)
    return function


def _on_host(function: Callable[..., list[Any]], shapes: list[Any], *values: Any) -> list[Any]:
    """`function` of the values as NumPy arrays: called at once if they are numbers, else when they will be."""

    def called(*arrays: Any) -> list[Any]:
        results = function(*map(np.asarray, arrays))
        return [np.asarray(result, dtype=shape.dtype) for result, shape in zip(results, shapes, strict=True)]

    if any(isinstance(value, jax.core.Tracer) for value in values):
        return list(jax.pure_callback(called, shapes, *values, vmap_method="sequential"))
    return [jnp.asarray(result) for result in called(*values)]


def _floating(value: Any, like: Any = None) -> Any:
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


def _shape(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)
