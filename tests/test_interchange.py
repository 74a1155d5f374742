"""Arrays of any library of the array API standard go in, and what comes out is of the library that came in."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftway import GroupLasso, PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve
from driftway.arrays.interchange import library_of, on_host

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(9, 2)) + 0.5
COST = ((X[:, None] - Y) ** 2).sum(-1)
A, B = RNG.dirichlet(np.ones(12)), RNG.dirichlet(np.ones(9))
Make = Callable[[np.ndarray], Any]


@pytest.fixture(params=["array_api_strict", "torch", "jax"])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes arrays of a library."""
    library = pytest.importorskip("jax.numpy" if request.param == "jax" else request.param)
    if request.param == "array_api_strict":
        return lambda array: library.asarray(array, device=library.Device("device1"))
    return library.asarray


def plain(array: Any) -> np.ndarray:
    return np.asarray(on_host(array))


def assert_same_kind(result: Any, given: Any) -> None:
    assert type(result) is type(given)
    assert result.dtype == given.dtype
    assert getattr(result, "device", None) == getattr(given, "device", None)


def test_the_answer_is_that_of_numpy_in_the_library_of_the_cost(make: Make) -> None:
    # JAX holds float32 unless it is told otherwise.
    cost = make(COST.astype(np.float32))
    ours, theirs = sinkhorn(COST.astype(np.float32), A, B, epsilon=0.2), sinkhorn(cost, make(A), make(B), epsilon=0.2)
    gamma = theirs.plan.dense()
    assert_same_kind(gamma, cost)
    for found in (*theirs.potentials, *theirs.plan.marginals, theirs.plan.rows(slice(2, 5)), theirs.plan.T.dense()):
        assert_same_kind(found, cost)
    assert np.allclose(plain(gamma), ours.plan.dense(), atol=1e-6)
    assert np.allclose(plain(theirs.potentials[0]), ours.potentials[0], atol=1e-4)
    assert np.allclose(plain(gamma).sum(axis=1), A, atol=1e-6)
    assert theirs.value == pytest.approx(ours.value, abs=1e-6)


@pytest.mark.parametrize("name", ["cloud", "masses", "rounded"])
def test_points_masses_and_rounded_plans_decide_too(make: Make, name: str) -> None:
    given = make(X.astype(np.float32))
    if name == "masses":
        problem = Problem(COST, make(A.astype(np.float32)), epsilon=0.2)
    else:
        problem = Problem(PointCloudCost(given, make(Y.astype(np.float32))), epsilon=0.2)
    plan = solve(problem).plan
    gamma = (plan.round() if name == "rounded" else plan).dense()
    assert_same_kind(gamma, given)
    a = A if name == "masses" else np.full(12, 1 / 12)
    assert np.allclose(plain(gamma).sum(axis=1), a, atol=1e-6)
    assert np.asarray(plan).sum() == pytest.approx(1.0, abs=1e-6)  # NumPy is still to be had


def test_regularisers_and_starts_may_come_from_there(make: Make) -> None:
    cost, smooth = make(COST), TimeSmoothness(make(Y), make(X), weight=0.4)
    first = solve(Problem(cost, epsilon=0.2, regularizer=smooth))
    plain_one = solve(
        Problem(plain(cost), epsilon=0.2, regularizer=TimeSmoothness(plain(make(Y)), plain(make(X)), 0.4))
    )
    assert first.value == pytest.approx(plain_one.value, rel=1e-6)
    again = solve(Problem(cost, epsilon=0.2, regularizer=smooth), init=first)
    assert again.converged
    assert sinkhorn(cost, epsilon=0.2, init=sinkhorn(cost, epsilon=0.2).potentials).converged
    lasso = Problem(cost, epsilon=0.2, regularizer=GroupLasso(np.arange(12) % 2, weight=0.1))
    assert solve(lasso, init=solve(lasso).plan.dense()).converged


def test_units_do_not_change_the_kind(make: Make) -> None:
    cost = make(1e-12 * COST)
    found = sinkhorn(cost, epsilon=2e-13)
    assert_same_kind(found.plan.dense(), cost)
    assert sinkhorn(cost, epsilon=2e-13, init=found.potentials).converged


def test_numpy_stays_numpy_and_is_not_copied() -> None:
    problem = Problem(COST, epsilon=0.2)
    found = solve(problem)
    assert problem.kind is found.plan.kind is None
    assert type(found.plan.dense()) is type(found.potentials[0]) is np.ndarray
    assert np.shares_memory(problem.cost.rows(slice(None)), COST)


def test_solutions_of_other_libraries_are_pickled() -> None:
    torch = pytest.importorskip("torch")
    found = pickle.loads(pickle.dumps(sinkhorn(torch.asarray(COST), epsilon=0.2)))
    assert isinstance(found.plan.dense(), torch.Tensor)


def test_two_other_libraries_are_refused() -> None:
    torch, strict = pytest.importorskip("torch"), pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="arrays must come from one library, got some of array_api_strict and PyTorch"):
        PointCloudCost(torch.asarray(X), strict.asarray(Y))


def test_an_array_that_cannot_be_read_is_named() -> None:
    class Unreadable:
        def __array_namespace__(self) -> None: ...

    assert library_of(Unreadable()) == __name__.split(".")[0]
    with pytest.raises(TypeError, match=r"cannot be read by NumPy .* convert it to NumPy first"):
        sinkhorn(Unreadable(), epsilon=1.0)


def test_a_device_array_that_only_copies_itself_is_read() -> None:
    class OnDevice:
        def __array_namespace__(self) -> None: ...

        def __dlpack__(self, **_: object) -> None:
            raise BufferError("on another device")

        def get(self) -> np.ndarray:
            return COST

    assert np.array_equal(on_host(OnDevice()), COST)
