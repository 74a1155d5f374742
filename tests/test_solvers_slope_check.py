"""A solve that does not converge looks whether the regulariser's gradient is that of its values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from driftway import Custom, PointCloudCost, Problem, Solution, solve
from driftway.regularizers import MomentRegularizer

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 0.5
ADVICE = "J's gradient is wrong"


def square(gamma: np.ndarray) -> float:
    return 50 * float((gamma**2).sum())


def solved(J: Custom | MomentRegularizer, max_iter: int = 50) -> Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=J), max_iter=max_iter)


@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize(("factor", "percent"), [(-1.0, 200), (0.5, 50), (10.0, 90)])
def test_a_wrong_gradient_is_named(convex: bool, factor: float, percent: int) -> None:
    J = Custom(square, lambda gamma: 100 * factor * gamma, convex=convex)
    message = solved(J).message
    assert f"{ADVICE}: its slopes and differences of J's values differ by {percent}%" in message


def test_a_wrong_gradient_of_moments_is_named() -> None:
    class Half(MomentRegularizer):
        convex, minimum = True, 0.0
        right_basis, left_basis = Y, np.empty((20, 0))

        def phi(self, right: np.ndarray, left: np.ndarray) -> float:
            return 50 * float((right**2).sum())

        def phi_gradient(self, right: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return 50 * right, np.zeros_like(left)

    assert ADVICE in solved(Half()).message


SHIFT = rng.normal(size=(20, 1))


@pytest.mark.parametrize(
    ("value", "gradient"),
    [
        (lambda g: 1e3 * square(g), lambda g: 1e5 * g),
        (square, lambda g: 100 * g + SHIFT),  # the same on the couplings, where a constant per row does nothing
        (lambda g: 1e3 * square(g) + 1e6, lambda g: 1e5 * g),
        (lambda g: 1e3 * float(np.sqrt((g**2).sum())), lambda g: 1e3 * g / np.sqrt((g**2).sum())),
    ],
)
def test_a_right_gradient_is_not_blamed(value: Callable[..., float], gradient: Callable[..., np.ndarray]) -> None:
    solution = solved(Custom(value, gradient), max_iter=1)
    assert not solution.converged
    assert ADVICE not in solution.message
    assert "raise max_iter" in solution.message


def test_a_false_promise_of_convexity_is_told_from_a_wrong_gradient() -> None:
    message = solved(Custom(lambda g: -10 * square(g), lambda g: -1000 * g, convex=True)).message
    assert ADVICE not in message
    assert re.search("not convex as declared.*declare convex=False", message)


def test_a_function_that_fails_when_it_is_looked_at_does_no_harm() -> None:
    calls = []

    def count(gamma: np.ndarray) -> float:
        calls.append(gamma)
        if len(calls) == fails_at:
            raise RuntimeError
        return square(gamma)

    fails_at = -1
    assert ADVICE in solved(Custom(count, lambda g: 50 * g), max_iter=2).message
    fails_at = len(calls)  # the last call is the look's
    calls.clear()
    assert "raise max_iter" in solved(Custom(count, lambda g: 50 * g), max_iter=2).message
