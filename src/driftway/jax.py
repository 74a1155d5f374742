"""Transport in JAX: the optimal value as a training loss, and plans as JAX arrays.

Everything is computed in float64 on the CPU, through a callback where JAX compiles or maps; arrays elsewhere are
moved there, and what is returned has the dtype of the first array. `TimeSmoothness`, `Laplacian` and
`WassersteinTime` of this module are those of `driftway`, differentiable in the positions they are given; any other
regulariser of `driftway` is welcome too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise ImportError("driftway.jax needs JAX: pip install 'driftway[jax]'") from None

from driftway.derivatives import calls
from driftway.derivatives.deferred_costs import PointCloudCost
from driftway.derivatives.deferred_regularizers import Laplacian, TimeSmoothness, WassersteinTime
from driftway.derivatives.differentiable import Differentiable, Double

__all__ = [
    "Laplacian",
    "PointCloudCost",
    "TimeSmoothness",
    "WassersteinTime",
    "entropic_plan",
    "transport_loss",
    "transport_plan",
]

WORDS = {
    "array": "array",
    "an array": "An array",
    "once": ", in reverse mode",
    "notes": """

It works under `jax.grad`, `jax.jit` and `jax.vmap` (one problem after the other). Under `jit`, where JAX advises
against calling it from its own callbacks, `Custom` is better given its gradient than `autodiff`.""",
    "transport_loss": """
>>> import jax, jax.numpy as jnp
>>> from driftway.jax import PointCloudCost, transport_loss
>>> Y = jnp.ones((4, 2))
>>> loss = lambda X: transport_loss(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.1)
>>> jax.grad(loss)(jnp.zeros((3, 2))).sum(axis=0).round(4).tolist()
[-2.0, -2.0]
""".strip(),
    "transport_plan": """
>>> import jax, jax.numpy as jnp
>>> from driftway.jax import transport_plan
>>> plan = transport_plan(1.0 - jnp.eye(2), epsilon=0.5)
>>> bool(jnp.allclose(plan, jnp.array([[0.44, 0.06], [0.06, 0.44]]), atol=0.01))
True
""".strip(),
    "entropic_plan": """
>>> import jax, jax.numpy as jnp
>>> from driftway.jax import entropic_plan
>>> slope = jax.grad(lambda cost: entropic_plan(cost, epsilon=0.5)[0, 0])(1.0 - jnp.eye(2))
>>> bool(jnp.allclose(slope, jnp.array([[-0.05, 0.05], [0.05, -0.05]]), atol=0.01))
True
""".strip(),
}


class _Jax:
    """What is JAX's own."""

    array: type[jax.Array] = jax.Array
    words: Mapping[str, str] = WORDS

    def floating(self, value: Any, like: Any) -> Any:
        array = jnp.asarray(value)
        return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))

    def differentiable(self, function: Differentiable[Any], arrays: list[Any]) -> jax.Array:
        """The function with derivatives; between the two passes JAX can keep arrays only."""
        shape, kept = function.shapes([array.shape for array in arrays])
        result = jax.ShapeDtypeStruct(shape, arrays[0].dtype)
        saved = [jax.ShapeDtypeStruct(each, jnp.result_type(*arrays)) for each in kept]
        like = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]

        def with_saved(*values: Any) -> list[Any]:
            solved = function.solve(values)
            return [function.result(solved), *function.saved(solved)]

        def primal(*values: Any) -> Any:
            return _on_host(lambda *values: [function.result(function.solve(values))], [result], *values)[0]

        def forward(*values: Any) -> tuple[Any, Any]:
            value, *arrays = _on_host(with_saved, [result, *saved], *values)
            return value, arrays

        def backward(saved: Any, slope: Any) -> tuple[Any, ...]:
            return tuple(_on_host(lambda slope, *saved: function.pull_back_saved(saved, slope), like, slope, *saved))

        call = jax.custom_vjp(primal)
        call.defvjp(forward, backward)
        value: jax.Array = call(*arrays)
        return value

    def constant(
        self, function: Callable[[Sequence[Any]], Double], shape: tuple[int, ...], arrays: list[Any]
    ) -> jax.Array:
        result = jax.ShapeDtypeStruct(shape, arrays[0].dtype)
        stopped = [jax.lax.stop_gradient(array) for array in arrays]
        value: jax.Array = _on_host(lambda *values: [function(values)], [result], *stopped)[0]
        return value


def _on_host(function: Callable[..., list[Any]], shapes: list[Any], *values: Any) -> list[Any]:
    """`function` of the values as NumPy arrays: called at once if they are numbers, else when they will be."""

    def called(*arrays: Any) -> list[Any]:
        results = function(*map(np.asarray, arrays))
        return [np.asarray(result, dtype=shape.dtype) for result, shape in zip(results, shapes, strict=True)]

    if any(isinstance(value, jax.core.Tracer) for value in values):
        return list(jax.pure_callback(called, shapes, *values, vmap_method="sequential"))
    return [jnp.asarray(result) for result in called(*values)]


JAX = _Jax()
transport_loss = calls.offered(calls.transport_loss, JAX, __name__)
transport_plan = calls.offered(calls.transport_plan, JAX, __name__)
entropic_plan = calls.offered(calls.entropic_plan, JAX, __name__)
# Where doctest looks for examples of functions that are made elsewhere.
__test__ = {each.__name__: each.__doc__ or "" for each in (transport_loss, transport_plan, entropic_plan)}
