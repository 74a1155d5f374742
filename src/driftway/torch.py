"""Transport in PyTorch: the optimal value as a training loss, and plans as tensors.

Everything is computed in float64 on the CPU; tensors elsewhere are moved there, and what is returned has the dtype
and the device of the first tensor. `TimeSmoothness`, `Laplacian` and `WassersteinTime` of this module are those of
`driftway`, differentiable in the positions they are given; any other regulariser of `driftway` is welcome too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("driftway.torch needs PyTorch: pip install 'driftway[torch]'") from None

from driftway.arrays.interchange import kind_of, on_host
from driftway.derivatives.deferred_costs import PointCloudCost
from driftway.derivatives.deferred_regularizers import Deferred, Laplacian, TimeSmoothness, WassersteinTime
from driftway.derivatives.differentiable import Differentiable
from driftway.derivatives.entropic_plan import EntropicPlan
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
) -> torch.Tensor:
    """The optimal value  min ⟨γ, C⟩ + ε H(γ) + J(γ),  differentiable in cost, positions and masses.

    Parameters
    ----------
    cost : tensor (n, m) or PointCloudCost
        C, or this module's `PointCloudCost(X, Y, metric)`, which is differentiated in X and Y.
    a, b : tensor (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default. See the notes for their derivatives.
    epsilon, regularizer : see `driftway.Problem`
        The regularisers of this module are differentiated in their own positions as well.
    solver, tol, max_iter, engine : see `driftway.solve`
        The gradient is as accurate as the plan, which is about the square root of `tol`.

    Returns
    -------
    A tensor with one element. It can be differentiated once.

    Notes
    -----
    By the envelope theorem one solve gives value and gradient; nothing is unrolled. b is rescaled to the total of a,
    so that the derivative in b is zero along b; that in a includes what a larger total mass does. Through a softmax,
    the usual way to train masses, only differences of the potentials remain.

    Examples
    --------
    >>> import torch
    >>> from driftway.torch import PointCloudCost, transport_loss
    >>> X = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    >>> Y = torch.ones(4, 2, dtype=torch.float64)
    >>> transport_loss(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.1).backward()
    >>> X.grad.sum(dim=0).round(decimals=4).tolist()
    [-2.0, -2.0]

    """
    value, arrays = OptimalValue.of(_tensor, cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)
    return _Function.apply(value, *arrays)


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
) -> torch.Tensor:
    """The plan behind `transport_loss`, which is not differentiated.

    Parameters
    ----------
    cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine : see `transport_loss`

    Returns
    -------
    A tensor (n, m).

    Examples
    --------
    >>> import torch
    >>> from driftway.torch import transport_plan
    >>> plan = transport_plan(1.0 - torch.eye(2, dtype=torch.float64), epsilon=0.5)
    >>> plan.round(decimals=2).tolist()
    [[0.44, 0.06], [0.06, 0.44]]

    """
    value, arrays = OptimalValue.of(_tensor, cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)
    return kind_of(arrays[0]).wrap(value.plan([on_host(array) for array in arrays]))


def entropic_plan(
    cost: Any,
    a: Any = None,
    b: Any = None,
    *,
    epsilon: float,
    tol: float = 1e-9,
    max_iter: int = 100_000,
    init: Solution | None = None,
) -> torch.Tensor:
    """The entropic plan, of  min ⟨γ, C⟩ + ε H(γ),  differentiable in cost, a and b.

    Its derivative comes from the implicit function theorem: one linear system of the smaller side's size.

    Parameters
    ----------
    cost : tensor (n, m)
        C.
    a, b : tensor (n,), (m,), optional
        Masses of equal total; uniform of total 1 by default.
    epsilon, tol, max_iter : see `driftway.sinkhorn`
    init : Solution, optional
        Of this or a similar problem, to start from.

    Returns
    -------
    A tensor (n, m). It can be differentiated once.

    Examples
    --------
    >>> import torch
    >>> from driftway.torch import entropic_plan
    >>> cost = (1.0 - torch.eye(2, dtype=torch.float64)).requires_grad_()
    >>> plan = entropic_plan(cost, epsilon=0.5)
    >>> plan[0, 0].backward()
    >>> cost.grad.round(decimals=2).tolist()
    [[-0.05, 0.05], [0.05, -0.05]]

    """
    plan, arrays = EntropicPlan.of(_tensor, cost, a, b, epsilon, tol, max_iter, init)
    return _Function.apply(plan, *arrays)


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


def _tensor(value: Any, like: torch.Tensor | None) -> torch.Tensor:
    """`value` as a tensor of floating-point numbers, on the device of `like` if it is no tensor yet."""
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(np.asarray(value), device=None if like is None else like.device)
    return value if value.dtype.is_floating_point else value.to(torch.float64)
