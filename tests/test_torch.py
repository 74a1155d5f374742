"""The optimal value as a loss in PyTorch: its gradients are those of finite differences, and training converges."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import losses  # noqa: E402

import driftway  # noqa: E402
from driftway import Custom, Problem, solve  # noqa: E402
from driftway.torch import (  # noqa: E402
    PointCloudCost,
    TimeSmoothness,
    entropic_plan,
    transport_loss,
    transport_plan,
)

TIGHT = 1e-12


def variables(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]


def gradcheck(function, inputs: list[torch.Tensor], **options) -> bool:
    return torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-6, rtol=1e-4, **options)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("name", losses.REGULARIZERS)
def test_gradients_in_positions_and_masses(name: str, metric: str) -> None:
    """X, Y, the previous images, a and b at once, as they enter cost, regulariser and constraints."""

    def loss(X, Y, Z, a, b):
        cost, J = PointCloudCost(X, Y, metric), losses.REGULARIZERS[name](X, Y, Z)
        return transport_loss(cost, a, b, epsilon=0.3, regularizer=J, tol=TIGHT)

    assert gradcheck(loss, variables(losses.X, losses.Y, losses.Z, losses.A, losses.B), fast_mode=True)


@pytest.mark.parametrize("name", losses.REGULARIZERS)
def test_gradients_in_the_cost_and_through_a_softmax(name: str) -> None:
    def loss(C, p, q):
        J = losses.REGULARIZERS[name](losses.X, losses.Y, losses.Z)
        return transport_loss(C, p.softmax(0), q.softmax(0), epsilon=0.3, regularizer=J, tol=TIGHT)

    C = np.random.default_rng(1).random((losses.N, losses.M))
    assert gradcheck(loss, variables(C, np.log(losses.A), np.log(losses.B)), fast_mode=True)


def test_every_single_derivative() -> None:
    """Not by random projections: entry by entry, where solves are quick, and at another total mass."""

    def loss(X, Y, Z, a, b):
        J = TimeSmoothness(Y, Z, 0.5)
        return transport_loss(PointCloudCost(X, Y), a, b, epsilon=0.1, regularizer=J, tol=TIGHT)

    assert gradcheck(loss, variables(losses.X, losses.Y, losses.Z, 3 * losses.A, 3 * losses.B))


def test_a_callable_metric_is_differentiated_by_the_library() -> None:
    def loss(X, Y):
        return transport_loss(PointCloudCost(X, Y, lambda x, y: torch.cdist(x, y, p=1.0)), epsilon=0.2, tol=TIGHT)

    assert gradcheck(loss, variables(losses.X, losses.Y), fast_mode=True)


def test_the_entropic_plan_is_differentiable() -> None:
    for C in (np.random.default_rng(2).random((5, 4)), np.random.default_rng(3).random((3, 6))):
        a, b = (np.random.default_rng(k).dirichlet(np.ones(k)) for k in C.shape)
        assert gradcheck(lambda C, a, b: entropic_plan(C, a, b, epsilon=0.3, tol=1e-13), variables(C, a, b))


def test_a_plan_that_falls_into_blocks_has_a_derivative() -> None:
    C, a = variables(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5]))
    (entropic_plan(C, a, epsilon=1e-3)[0, 0] * 3.0).backward()
    np.testing.assert_allclose(C.grad, 0.0, atol=1e-12)
    assert torch.isfinite(a.grad).all()


def test_a_cost_that_is_written_to_before_the_backward_pass_is_noticed() -> None:
    for loss in (lambda C: transport_loss(C, epsilon=0.1), lambda C: entropic_plan(C, epsilon=0.1).square().sum()):
        (leaf,) = variables(np.random.default_rng(0).random((4, 3)))
        C = leaf * 1.0
        value = loss(C)
        C += 1.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            value.backward()


def test_autodiff_gives_the_loss_of_the_same_regulariser_by_hand() -> None:
    C = np.random.default_rng(4).random((6, 5))
    by_hand = Custom(lambda g: (g**3).sum(), lambda g: 3 * g**2, convex=True)
    by_torch = Custom(lambda g: (g**3).sum(), autodiff="torch", convex=True)
    values = [float(transport_loss(C, epsilon=0.1, regularizer=J)) for J in (by_hand, by_torch)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_an_autodiff_regulariser_without_a_gradient_has_slope_zero() -> None:
    constant = Custom(lambda g: torch.tensor(2.0), autodiff="torch", convex=True)
    np.testing.assert_array_equal(constant.gradient(np.full((2, 3), 0.2)), np.zeros((2, 3)))


def test_tensors_go_into_a_problem_and_meet_its_plan() -> None:
    C, a, b = map(torch.tensor, (np.random.default_rng(5).random((4, 3)), np.full(4, 0.25), np.full(3, 1 / 3)))
    plan = solve(Problem(C, a, b, epsilon=0.2)).plan
    product = plan @ C.T
    assert isinstance(product, torch.Tensor)
    np.testing.assert_allclose(product, np.asarray(plan) @ C.numpy().T, rtol=1e-12)
    np.testing.assert_allclose(transport_plan(C, a, b, epsilon=0.2), plan.dense(), atol=1e-6)


def test_a_gradient_does_not_get_lost_silently() -> None:
    """The regularisers of driftway itself hold numbers: those of driftway.torch are what a loss is made of."""
    (Y,) = variables(losses.Y)
    for lose in (lambda: driftway.TimeSmoothness(Y, losses.Z), lambda: Problem(Y, epsilon=0.1)):
        with pytest.raises(TypeError, match="is being differentiated or traced, which would end here: detach it"):
            lose()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_have_the_dtype_of_what_came_in(dtype: torch.dtype) -> None:
    X, Y = (torch.tensor(array, dtype=dtype, requires_grad=True) for array in (losses.X, losses.Y))
    loss = transport_loss(PointCloudCost(X, Y), epsilon=0.1, regularizer=TimeSmoothness(Y, losses.Z))
    loss.backward()
    assert loss.dtype == X.grad.dtype == Y.grad.dtype == dtype
    assert transport_plan(PointCloudCost(X, Y), epsilon=0.1).dtype == dtype
    exact = transport_loss(
        PointCloudCost(losses.X, losses.Y), epsilon=0.1, regularizer=TimeSmoothness(losses.Y, losses.Z)
    )
    assert loss.item() == pytest.approx(exact.item(), rel=1e-6)


def test_points_without_mass_have_no_derivative_in_it() -> None:
    (a,) = variables(np.array([0.5, 0.5, 0.0]))
    transport_loss(np.random.default_rng(6).random((3, 2)), a, epsilon=0.1).backward()
    assert torch.isfinite(a.grad).all()
    assert a.grad[2] == 0


def test_a_second_derivative_is_refused() -> None:
    (X,) = variables(losses.X)
    loss = transport_loss(PointCloudCost(X, torch.tensor(losses.Y)), epsilon=0.1)
    with pytest.raises(RuntimeError, match="differentiated once only"):
        torch.autograd.grad(loss, X, create_graph=True)


def test_metrics_without_a_known_derivative_are_refused() -> None:
    with pytest.raises(ValueError, match="metric must be one of 'euclidean', 'sqeuclidean'"):
        transport_loss(PointCloudCost(losses.X, losses.Y, "cityblock"), epsilon=0.1)


def test_training_moves_points_to_the_target_and_keeps_them_near_where_they_were() -> None:
    """Gradient descent on positions with a time regulariser ends where the whole loss is stationary."""
    rng = np.random.default_rng(7)
    Y, Z = torch.tensor(rng.normal(size=(15, 2)) + 2.0), torch.tensor(rng.normal(size=(20, 2)))
    X = Z.clone().requires_grad_()
    trace = []
    for _ in range(60):
        J = TimeSmoothness(X, previous=Y, weight=0.2)  # the images of Y among the moving points stay near Y
        loss = transport_loss(PointCloudCost(Y, X, "sqeuclidean"), epsilon=0.05, regularizer=J)
        (gradient,) = torch.autograd.grad(loss, X)
        X = (X - 5.0 * gradient).detach().requires_grad_()
        trace.append((loss.item(), gradient.norm().item()))
    values, norms = np.array(trace).T
    assert (np.diff(values) <= 1e-7).all()
    assert values[-1] < 0.1 * values[0]
    assert norms[-1] < 1e-3 * norms[0]
