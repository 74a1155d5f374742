"""The optimal value as a loss in JAX: its gradients are those of finite differences, compiled or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import losses  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from driftway import Custom, Problem, solve  # noqa: E402
from driftway.jax import PointCloudCost, TimeSmoothness, entropic_plan, transport_loss, transport_plan  # noqa: E402

TIGHT = 1e-12


@pytest.fixture
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def checked(function, *arrays: np.ndarray) -> None:
    check_grads(function, tuple(map(jnp.asarray, arrays)), order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-4)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("name", losses.REGULARIZERS)
def test_gradients_in_positions_and_masses(name: str, metric: str) -> None:
    """X, Y, the previous images, a and b at once, as they enter cost, regulariser and constraints."""

    def loss(X, Y, Z, a, b):
        cost, J = PointCloudCost(X, Y, metric), losses.REGULARIZERS[name](X, Y, Z)
        return transport_loss(cost, a, b, epsilon=0.3, regularizer=J, tol=TIGHT)

    checked(loss, losses.X, losses.Y, losses.Z, losses.A, losses.B)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", losses.REGULARIZERS)
def test_gradients_in_the_cost_and_through_a_softmax(name: str) -> None:
    def loss(C, p, q):
        J = losses.REGULARIZERS[name](losses.X, losses.Y, losses.Z)
        return transport_loss(C, jax.nn.softmax(p), jax.nn.softmax(q), epsilon=0.3, regularizer=J, tol=TIGHT)

    checked(loss, np.random.default_rng(1).random((losses.N, losses.M)), np.log(losses.A), np.log(losses.B))


@pytest.mark.usefixtures("double")
def test_compiled_and_mapped_losses_are_the_plain_ones() -> None:
    def loss(X):
        J = TimeSmoothness(losses.Y, X, 0.5)
        return transport_loss(PointCloudCost(X, losses.Y), epsilon=0.1, regularizer=J)

    X = jnp.asarray(losses.X)
    value, gradient = jax.value_and_grad(loss)(X)
    compiled_value, compiled_gradient = jax.jit(jax.value_and_grad(loss))(X)
    assert float(compiled_value) == float(value)
    np.testing.assert_array_equal(compiled_gradient, gradient)
    np.testing.assert_array_equal(jax.vmap(jax.grad(loss))(jnp.stack([X, 2 * X]))[0], gradient)
    np.testing.assert_allclose(jax.jit(loss)(X), value, rtol=1e-12)


@pytest.mark.usefixtures("double")
def test_a_callable_metric_is_differentiated_by_the_library() -> None:
    def loss(X, Y):
        def cityblock(x, y):
            return jnp.abs(x[:, None] - y).sum(axis=2)

        return transport_loss(PointCloudCost(X, Y, cityblock), epsilon=0.2, tol=TIGHT)

    checked(loss, losses.X, losses.Y)


@pytest.mark.usefixtures("double")
def test_the_entropic_plan_is_differentiable() -> None:
    C = np.random.default_rng(2).random((losses.N, losses.M))
    checked(lambda C, a, b: entropic_plan(C, a, b, epsilon=0.3, tol=1e-13), C, losses.A, losses.B)
    checked(jax.jit(lambda C: entropic_plan(C.T, epsilon=0.3, tol=1e-13)), C)


@pytest.mark.usefixtures("double")
def test_autodiff_gives_the_loss_of_the_same_regulariser_by_hand() -> None:
    C = jnp.asarray(np.random.default_rng(4).random((6, 5)))
    by_hand = Custom(lambda g: (g**3).sum(), lambda g: 3 * g**2, convex=True)
    by_jax = Custom(lambda g: (g**3).sum(), autodiff="jax", convex=True)
    hand, own = (
        jax.value_and_grad(lambda C, J=J: transport_loss(C, epsilon=0.1, regularizer=J))(C) for J in (by_hand, by_jax)
    )
    assert float(hand[0]) == pytest.approx(float(own[0]), rel=1e-12)
    np.testing.assert_allclose(hand[1], own[1], rtol=1e-9)


def test_arrays_go_into_a_problem_and_meet_its_plan() -> None:
    C = jnp.asarray(np.random.default_rng(5).random((4, 3)))
    plan = solve(Problem(C, epsilon=0.2)).plan
    product = plan @ C.T
    assert isinstance(product, jax.Array)
    np.testing.assert_allclose(product, plan.dense() @ np.asarray(C.T), rtol=1e-6)
    np.testing.assert_allclose(transport_plan(C, epsilon=0.2), plan.dense(), atol=1e-6)


def test_an_array_that_is_being_traced_is_sent_to_the_bridge() -> None:
    with pytest.raises(TypeError, match=r"driftway\.jax"):
        jax.jit(lambda C: Problem(C, epsilon=0.1).mass)(jnp.ones((2, 2)))


def test_single_precision_stays_single() -> None:
    X, Y = jnp.asarray(losses.X, dtype=jnp.float32), jnp.asarray(losses.Y, dtype=jnp.float32)
    value, gradient = jax.value_and_grad(lambda X: transport_loss(PointCloudCost(X, Y), epsilon=0.1))(X)
    assert value.dtype == gradient.dtype == jnp.float32
    assert transport_plan(PointCloudCost(X, Y), epsilon=0.1).dtype == jnp.float32
    with jax.enable_x64(True):
        exact = transport_loss(PointCloudCost(losses.X, losses.Y), epsilon=0.1)
    assert float(value) == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.usefixtures("double")
def test_training_moves_points_to_the_target_and_keeps_them_near_where_they_were() -> None:
    """Compiled gradient descent on positions with a time regulariser ends where the whole loss is stationary."""
    rng = np.random.default_rng(7)
    Y, X = jnp.asarray(rng.normal(size=(15, 2)) + 2.0), jnp.asarray(rng.normal(size=(20, 2)))

    @jax.jit
    def descend(X):
        def loss(X):
            J = TimeSmoothness(X, previous=Y, weight=0.2)
            return transport_loss(PointCloudCost(Y, X, "sqeuclidean"), epsilon=0.05, regularizer=J)

        value, gradient = jax.value_and_grad(loss)(X)
        return X - 5.0 * gradient, value, jnp.linalg.norm(gradient)

    trace = []
    for _ in range(60):
        X, value, norm = descend(X)
        trace.append((float(value), float(norm)))
    values, norms = np.array(trace).T
    assert (np.diff(values) <= 1e-7).all()
    assert values[-1] < 0.1 * values[0]
    assert norms[-1] < 1e-3 * norms[0]
