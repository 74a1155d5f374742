"""The Torch engine at extreme scales and small ε."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from driftway import ForwardBackward, GroupLasso, PointCloudCost, Problem, TimeSmoothness, solve
from driftway.geometry import Dense
from driftway.plan.sinkhorn import balance

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


def test_what_is_beyond_float32_is_infinite_there_without_a_warning() -> None:
    import torch

    from driftway.engines.torch.blocks import Place

    sent = Place(torch, torch.device("cpu"), torch.float32).send(np.array([1e300, -1e300, 1.0]))
    assert sent.tolist() == [np.inf, -np.inf, 1.0]
