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

from driftway.arrays.interchange import on_host
from driftway.derivatives.deferred_costs import PointCloudCost
from driftway.derivatives.deferred_regularizers import Deferred, Laplacian, TimeSmoothness, WassersteinTime
from driftway.derivatives.optimal_value import OptimalValue, pull_back
from driftway.engines.engine import Engine
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import Regularizer
from driftway.solvers.solve import sinkhorn
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
    arrays, value = _problem(cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)
    return _Value.apply(value, *arrays)


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
    """The plan behind `transport_loss`, an n×m tensor that is not differentiated; see there."""
    arrays, value = _problem(cost, a, b, epsilon, regularizer, solver, tol, max_iter, engine)
    return _like(arrays[0], value.solve([on_host(array) for array in arrays]).solution.plan.array())


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
    """The plan of  min ⟨γ, C⟩ + ε H(γ),  an n×m tensor that is differentiable in cost, a and b.

    Its derivative comes from the implicit function theorem: one linear system of the smaller side's size. A
    `Solution` of this or a similar problem may be given to start from.
    """
    matrix = _tensor(cost)
    given = [None if mass is None else _tensor(mass, matrix) for mass in (a, b)]
    options = {"epsilon": epsilon, "tol": tol, "max_iter": max_iter, "init": init}
    return _EntropicPlan.apply(options, matrix, *given)


class _Value(torch.autograd.Function):
    """The optimal value of a problem made of tensors."""

    @staticmethod
    def forward(ctx: Any, value: OptimalValue, *arrays: torch.Tensor) -> torch.Tensor:
        ctx.value = value
        ctx.save_for_backward(*arrays)  # which notices it if one is written to before the backward pass
        ctx.optimum = value.solve([on_host(array) for array in arrays])
        return _like(arrays[0], ctx.optimum.solution.value)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        _once()
        arrays, wanted = ctx.saved_tensors, ctx.needs_input_grad[1:]
        gradients = ctx.value.gradients(ctx.optimum, wanted)
        scale = float(upstream)
        return None, *(
            _like(array, scale * gradient) if want else None
            for array, gradient, want in zip(arrays, gradients, wanted, strict=True)
        )


class _EntropicPlan(torch.autograd.Function):
    """The entropic plan of a cost matrix and masses."""

    @staticmethod
    def forward(ctx: Any, options: dict[str, Any], cost: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
        matrix, rows, columns = (_double(array) for array in (cost, a, b))
        ctx.gamma = sinkhorn(matrix, rows, columns, **options).plan.array()
        ctx.epsilon = options["epsilon"]
        ctx.save_for_backward(cost, a, b)
        return _like(cost, ctx.gamma)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        _once()
        arrays = ctx.saved_tensors
        b = _double(arrays[2])
        columns = ctx.gamma.sum(axis=0) if b is None else b
        gradients = pull_back(ctx.gamma, ctx.epsilon, _double(upstream), columns)
        return (
            None,
            *(
                _like(array, gradient) if want else None
                for array, gradient, want in zip(arrays, gradients, ctx.needs_input_grad[1:], strict=True)
            ),
        )


def _problem(
    cost: Any, a: Any, b: Any, epsilon: float, regularizer: Deferred | Regularizer | None, *options: Any
) -> tuple[list[torch.Tensor], OptimalValue]:
    """All tensors in order, and the function of them."""
    metric = None
    if isinstance(cost, PointCloudCost):
        X, Y = _tensor(cost.X), _tensor(cost.Y, cost.X)
        if callable(cost.metric):
            arrays = [cost.metric(X, Y)]
        else:
            arrays, metric = [X, Y], cost.metric
    else:
        arrays = [_tensor(cost)]
    deferred = Deferred.of(regularizer)
    given = [mass for mass in (a, b) if mass is not None]
    arrays += [_tensor(array, arrays[0]) for array in (*given, *deferred.arrays)]
    return arrays, OptimalValue(metric, (a is not None, b is not None), deferred, epsilon, *options)


def _once() -> None:
    """Raises where a graph of the backward pass is asked for, which would lack our part."""
    if torch.is_grad_enabled():
        raise RuntimeError("transport can be differentiated once only; call backward without create_graph=True")


def _tensor(value: Any, like: Any = None) -> torch.Tensor:
    """`value` as a tensor of floating-point numbers, on the device of `like` if it is no tensor yet."""
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(np.asarray(value), device=getattr(like, "device", None))
    return value if value.dtype.is_floating_point else value.to(torch.float64)


def _like(tensor: torch.Tensor, value: Any) -> torch.Tensor:
    """`value` as a tensor of the same dtype and device."""
    return torch.tensor(np.asarray(value), dtype=tensor.dtype, device=tensor.device)


def _double(value: Any) -> Any:
    return None if value is None else np.asarray(on_host(value), dtype=np.float64)
