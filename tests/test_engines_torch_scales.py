"""The Torch engine at extreme scales and small ε."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from driftway import (
    ConditionalGradient,
    ForwardBackward,
    GroupLasso,
    PointCloudCost,
    Problem,
    TimeSmoothness,
    WassersteinTime,
    solve,
)
from driftway.geometry import Dense
from driftway.plan.sinkhorn import balance
from driftway.solvers import DualAscent, loop

pytest.importorskip("torch")

TYPES = ("float32", "float64")
RNG = np.random.default_rng(0)
X, Y, PREVIOUS = RNG.normal(size=(12, 2)), RNG.normal(size=(9, 2)), RNG.normal(size=(12, 2))


def engine(dtype: str) -> object:
    from driftway.engines import Torch

    return Torch("cpu", dtype)


@pytest.mark.parametrize(("level", "epsilon"), [(500.0, 0.1), (50.0, 0.03), (0.0, 0.001)])
def test_rounded_marginals_in_float32_hold_to_1e_6(level: float, epsilon: float) -> None:
    """Earlier they were off by 6e-5: potentials of many times ε are rounded by float32."""
    cost = level + np.random.default_rng(0).random((30, 25))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plan = solve(Problem(cost, epsilon=epsilon), engine=engine("float32"), max_iter=2).plan.round()
    gamma = plan.dense()
    assert np.abs(gamma.sum(axis=1) - 1 / 30).sum() < 1e-6
    assert np.abs(gamma.sum(axis=0) - 1 / 25).sum() < 1e-6


@pytest.mark.parametrize("cost", [1e-100, 1e100])
@pytest.mark.parametrize("kind", ["matrix", "euclidean", "sqeuclidean"])
def test_costs_beyond_float32_are_solved_in_float32(cost: float, kind: str) -> None:
    """Earlier costs near 1e-100 were zero there, and the objective not a number."""
    scale = np.sqrt(cost) if kind == "sqeuclidean" else cost

    def problem(cost: float, scale: float) -> Problem:
        matrix = cost * np.abs(X[:, None] - Y).sum(axis=2)
        given = matrix if kind == "matrix" else PointCloudCost(scale * X, scale * Y, kind)
        return Problem(given, epsilon=0.3 * cost, regularizer=TimeSmoothness(Y, PREVIOUS, 0.1 * cost))

    ours, plain = solve(problem(cost, scale), engine=engine("float32"), tol=1e-5), solve(problem(1.0, 1.0))
    assert ours.converged
    assert ours.value == pytest.approx(cost * plain.value, rel=1e-4)


def test_small_problems_take_few_sweeps_in_float64() -> None:
    """A kernel on the host replaces launches: 20 steps took 2185 sweeps."""
    torch, sweeps = engine("float64"), 0
    sweep = torch.sweep

    def counted(request: object) -> object:
        nonlocal sweeps
        sweeps += 1
        return sweep(request)

    torch.sweep = counted
    problem = Problem(RNG.random((30, 25)), epsilon=0.003, regularizer=GroupLasso(np.arange(30) % 3, 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solve(problem, ForwardBackward(), engine=torch, max_iter=20)
    assert sweeps < 500


@pytest.mark.parametrize("epsilon", [0.1, 0.03, 0.01, 0.003, 0.001])
def test_float32_does_not_look_for_digits_that_it_has_not(epsilon: float) -> None:
    """Quasi-Newton steps beyond its precision were made until none were left, 1,000 of them."""
    log, a, b = Dense(-np.abs(X[:, None] - Y).sum(axis=2) / epsilon), np.full(12, 1 / 12), np.full(9, 1 / 9)
    found = balance(log, a, b, np.zeros(12), np.zeros(9), tol=1e-12, max_iter=1000, engine=engine("float32"))
    assert found.n_iter < 500
    assert found.error < 1e-3


def test_a_slow_solve_in_float32_says_so() -> None:
    problem = Problem(PointCloudCost(X, Y), epsilon=0.05, regularizer=TimeSmoothness(Y, PREVIOUS, 8.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        messages = {t: solve(problem, ForwardBackward(), engine=engine(t), max_iter=12).message for t in TYPES}
    assert "float64 is faster" in messages["float32"]
    assert "float64 is faster" not in messages["float64"]
    assert all("slow where J is much stronger" in message for message in messages.values())


def test_few_iterations_of_many_inner_ones_are_said_to_be_slow_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, PREVIOUS, 0.1))
    messages = []
    for many in (10**9, 10):
        monkeypatch.setattr(loop, "MANY_INNER", many)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = solve(problem, ConditionalGradient(), tol=1e-3, engine=engine("float32"))
        assert found.converged
        assert found.n_iter < loop.MANY_IN_SINGLE
        messages.append(found.message)
    assert ["float64 is faster" in message for message in messages] == [False, True]
    assert ["each a Sinkhorn solve" in message for message in messages] == [False, True]


def test_a_plan_in_float32_is_rounded_to_one_of_the_value_that_is_certified() -> None:
    """Sums were lowered by what potentials of any size may need, and so much mass cost 4e-5 of the value."""
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.full(5, 3.0)), rng.dirichlet(np.full(12, 3.0))
    cost, epsilon = 64.0 * rng.random((5, 12)), 0.9
    ours = solve(Problem(cost, a, b, epsilon=epsilon), DualAscent(), tol=1e-5, engine=engine("float32"))
    gamma = ours.plan.round().dense()
    assert np.abs(gamma.sum(axis=1) - a).sum() + np.abs(gamma.sum(axis=0) - b).sum() < 1e-6
    assert ours.converged
    assert ours.value == pytest.approx((gamma * (cost + epsilon * (np.log(gamma) - 1.0))).sum(), rel=4e-6)


def test_what_is_beyond_float32_is_infinite_there_without_a_warning() -> None:
    import torch

    from driftway.engines.torch.blocks import Place

    sent = Place(torch, torch.device("cpu"), torch.float32).send(np.array([1e300, -1e300, 1.0]))
    assert sent.tolist() == [np.inf, -np.inf, 1.0]


@pytest.mark.parametrize("tiny", [1e-26, 1e-85])
@pytest.mark.parametrize(("side", "normalization"), [("row", "mean"), ("column", "sum")])
def test_tiny_masses_are_computed_with_in_float64(tiny: float, side: str, normalization: Any) -> None:
    """Earlier rows of so little mass were lost, and the value of a certified plan was 4e-6 above what was said."""
    a, b = (np.random.default_rng(k).dirichlet(np.full(size, 3.0)) for k, size in enumerate((12, 9)))
    (a if side == "row" else b)[0] = tiny
    a, b = a / a.sum(), b / b.sum()
    cost, J = RNG.random((12, 9)), TimeSmoothness(Y, PREVIOUS, 0.5, normalization)
    problem = Problem(cost, a, b, epsilon=0.1, regularizer=J)
    ours, plain = (solve(problem, DualAscent(), engine=each) for each in (engine("float32"), None))
    gamma = ours.plan.round().dense()
    entropy = (gamma * (np.log(gamma, where=gamma > 0, out=np.zeros_like(gamma)) - 1.0)).sum()
    assert ours.value == pytest.approx((gamma * cost).sum() + 0.1 * entropy + J.on(a, b).value(gamma), rel=1e-7)
    assert ours.converged
    assert ours.value == pytest.approx(plain.value, rel=1e-6)


def test_a_cloud_is_compared_in_float64_where_it_has_a_tiny_mass() -> None:
    """Earlier: the regularizer's value must be finite, got nan."""
    masses = np.array([1e-85, *np.full(11, 1.0 / 11)])
    for J, a in ((WassersteinTime(Y, PREVIOUS), masses), (WassersteinTime(Y, PREVIOUS, previous_masses=masses), None)):
        problem = Problem(RNG.random((12, 9)), a, epsilon=0.1, regularizer=J)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            values = [solve(problem, engine=engine(dtype), max_iter=2).value for dtype in TYPES]
        assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_a_device_without_float64_refuses_tiny_masses(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = engine("float32")
    monkeypatch.setattr(torch, "_device", SimpleNamespace(type="mps"))
    with pytest.raises(
        ValueError, match=r"masses cannot be represented in float32: the least is 1\.0e-30 of the total"
    ):
        torch.holding(np.array([1.0, 1e-30]))
    assert torch.holding(np.array([1.0, 1e-20]), np.zeros(2)) is torch
