"""What rounding a plan onto its marginals may add to the objective, and what certificates make of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftway import GroupLasso, Problem, Regularizer, TimeSmoothness, solve
from driftway.engines import Threads
from driftway.plan.rounding import growth
from driftway.problem.model import Model
from driftway.regularizers.moment_regularizer import Zero


def rounded(gamma: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Algorithm 2 of Altschuler, Weed & Rigollet (2017), to the letter."""
    lower = gamma * np.minimum(1.0, a / gamma.sum(axis=1))[:, None]
    lower = lower * np.minimum(1.0, b / lower.sum(axis=0))
    lacking = a - lower.sum(axis=1), b - lower.sum(axis=0)
    missing = np.abs(lacking[0]).sum()
    return lower + (np.outer(*lacking) / missing if missing > 0 else 0.0)


def entropy(gamma: np.ndarray) -> float:
    return float((gamma * (np.log(gamma) - 1.0)).sum())


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    mass=st.floats(1e-6, 1e6),
    off=st.floats(1e-12, 1.0),
    spread=st.floats(0.0, 30.0),
    largest=st.sampled_from([0.0, 2.0]),
)
def test_rounding_adds_no_more_than_the_bound(
    seed: int, size: tuple[int, int], mass: float, off: float, spread: float, largest: float
) -> None:
    rng = np.random.default_rng(seed)
    gamma = np.exp(spread * rng.normal(size=size))
    gamma *= mass / gamma.sum()
    a, b = gamma.sum(axis=1), gamma.sum(axis=0)
    gamma = gamma * np.exp(off * rng.normal(size=size)) + 1e-280
    M, epsilon = rng.uniform(-largest, largest, size), 0.3
    there = np.maximum(rounded(gamma, a, b), 1e-290)
    added = ((there - gamma) * M).sum() + epsilon * (entropy(there) - entropy(gamma))
    bound = growth(gamma.sum(axis=1), gamma.sum(axis=0), a, b, epsilon=epsilon, lipschitz=largest)
    assert added <= bound + 1e-12 * mass * (1.0 + abs(np.log(mass)) + spread)


def test_an_exact_plan_is_rounded_for_nothing() -> None:
    a, b = np.full(3, 1 / 3), np.full(2, 0.5)
    assert growth(a, b, a, b, epsilon=1.0, lipschitz=1e6) == 0.0


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_a_group_lasso_changes_by_no_more_than_the_mass_that_moves(factor: float) -> None:
    rng, labels = np.random.default_rng(0), np.arange(8) % 3
    J: Regularizer = factor * GroupLasso(labels, 0.7) + GroupLasso(labels[::-1], 0.1)
    assert J.lipschitz == pytest.approx(0.7 * factor + 0.1)
    for scale in (1e-9, 1e-3, 1.0):
        one = rng.random((8, 5)) ** 8
        other = np.maximum(one + scale * rng.normal(size=(8, 5)), 0.0)
        assert abs(J.value(one) - J.value(other)) <= J.lipschitz * np.abs(one - other).sum() * (1 + 1e-12)


def test_what_has_no_constant_says_so() -> None:
    X, Y = np.random.default_rng(0).normal(size=(2, 5, 2))
    assert Zero(3, 2).lipschitz == 0.0
    assert (GroupLasso(np.arange(5), 1.0) + TimeSmoothness(Y, X, 1.0)).lipschitz is None
    assert (2.0 * TimeSmoothness(Y, X, 1.0)).lipschitz is None


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_the_cheap_value_is_above_the_exact_one_and_within_its_slack(tol: float) -> None:
    rng = np.random.default_rng(3)
    J = GroupLasso(rng.integers(0, 3, 30), 0.4)
    problem = Problem(rng.random((30, 20)), epsilon=0.05, regularizer=J)
    solution = solve(problem, tol=tol)
    model = Model(problem, Threads())
    point, slack = model.evaluate(solution.plan), 1e-9
    cheap, exact = model.rounded(point, slack), model.evaluate(solution.plan.round()).objective
    assert point.error <= 1e-12
    assert exact - 1e-14 <= cheap <= exact + slack
    assert model.rounded(point, 0.0) == pytest.approx(exact, rel=1e-14)


class Doubtful(GroupLasso):
    """A group lasso by somebody else, of whom nothing is known for sure."""


def test_constants_of_others_are_not_relied_on() -> None:
    rng = np.random.default_rng(3)
    problem = Problem(rng.random((9, 6)), epsilon=0.1, regularizer=Doubtful(np.arange(9) % 2, 0.2))
    model = Model(problem, Threads())
    assert model._growth(model.independent) == np.inf
