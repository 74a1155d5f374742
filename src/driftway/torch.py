"""Transport in PyTorch: the optimal value as a training loss, and plans as tensors.

Everything is computed in float64 on the CPU; tensors elsewhere are moved there, and what is returned has the dtype
and the device of the first tensor. `TimeSmoothness`, `Laplacian` and `WassersteinTime` of this module are those of
`driftway`, differentiable in the positions they are given; any other regulariser of `driftway` is welcome too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("driftway.torch needs PyTorch: pip install 'driftway[torch]'") from None

from driftway.arrays.interchange import kind_of, on_host
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
    "array": "tensor",
    "an array": "A tensor",
    "once": "",
    "notes": "",
    "transport_loss": """
>>> import torch
>>> from driftway.torch import PointCloudCost, transport_loss
>>> X = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
>>> Y = torch.ones(4, 2, dtype=torch.float64)
>>> transport_loss(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.1).backward()
>>> X.grad.sum(dim=0).round(decimals=4).tolist()
[-2.0, -2.0]
""".strip(),
    "transport_plan": """
>>> import torch
>>> from driftway.torch import transport_plan
>>> plan = transport_plan(1.0 - torch.eye(2, dtype=torch.float64), epsilon=0.5)
>>> plan.round(decimals=2).tolist()
[[0.44, 0.06], [0.06, 0.44]]
""".strip(),
    "entropic_plan": """
>>> import torch
>>> from driftway.torch import entropic_plan
>>> cost = (1.0 - torch.eye(2, dtype=torch.float64)).requires_grad_()
>>> plan = entropic_plan(cost, epsilon=0.5)
>>> plan[0, 0].backward()
>>> cost.grad.round(decimals=2).tolist()
[[-0.05, 0.05], [0.05, -0.05]]
""".strip(),
}


class _Function(torch.autograd.Function):
    """A differentiable function of NumPy arrays, as one of tensors."""

    @staticmethod
    def forward(ctx: Any, function: Differentiable[Any], *arrays: torch.Tensor) -> torch.Tensor:
        ctx.function = function
        ctx.save_for_backward(*arrays)  # which notices it if one is written to before the backward pass
        ctx.solved = function.solve([on_host(array) for array in arrays])
        return kind_of(arrays[0]).wrap(function.result(ctx.solved))

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if torch.is_grad_enabled():  # a graph of the backward pass is asked for, which would lack our part
            raise RuntimeError("transport can be differentiated once only; call backward without create_graph=True")
        arrays, wanted = ctx.saved_tensors, ctx.needs_input_grad[1:]
        gradients = ctx.function.pull_back(ctx.solved, on_host(upstream), wanted)
        return None, *(
            kind_of(array).wrap(gradient) if want else None
            for array, gradient, want in zip(arrays, gradients, wanted, strict=True)
        )


class _Torch:
    """What is PyTorch's own."""

    array: type[torch.Tensor] = torch.Tensor
    words: Mapping[str, str] = WORDS

    def floating(self, value: Any, like: torch.Tensor | None) -> torch.Tensor:
        """The value as a tensor, on the device of `like` if it is no tensor yet."""
        if not isinstance(value, torch.Tensor):
            value = torch.as_tensor(np.asarray(value), device=None if like is None else like.device)
        return value if value.dtype.is_floating_point else value.to(torch.float64)

    def differentiable(self, function: Differentiable[Any], arrays: list[Any]) -> torch.Tensor:
        return _Function.apply(function, *arrays)

    def constant(
        self, function: Callable[[Sequence[Any]], Double], shape: tuple[int, ...], arrays: list[Any]
    ) -> torch.Tensor:
        return kind_of(arrays[0]).wrap(function([on_host(array) for array in arrays]))


TORCH = _Torch()
transport_loss = calls.offered(calls.transport_loss, TORCH, __name__)
transport_plan = calls.offered(calls.transport_plan, TORCH, __name__)
entropic_plan = calls.offered(calls.entropic_plan, TORCH, __name__)
# Where doctest looks for examples of functions that are made elsewhere.
__test__ = {each.__name__: each.__doc__ or "" for each in (transport_loss, transport_plan, entropic_plan)}
