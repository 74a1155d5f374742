"""`ForwardBackward(step=α, inner_tol=…)` is the paper's Algorithm 1 to the letter, as written plainly here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from driftway import ForwardBackward, GroupLasso, Problem, TimeSmoothness, solve

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(24, 2)), RNG.normal(size=(17, 2)) + 0.5
COST = ((X[:, None] - Y) ** 2).sum(-1)
A, B = RNG.dirichlet(np.full(24, 5.0)), RNG.dirichlet(np.full(17, 5.0))
LABELS = np.arange(24) % 3
EPSILON, ITERATIONS = 0.1, 7


def plain_sinkhorn(cost: np.ndarray, epsilon: float) -> np.ndarray:
    """argmin ⟨γ, cost⟩ + ε H(γ) over the couplings of A and B, by ten thousand updates of logarithms at the most."""
    f, g = np.zeros(24), np.zeros(17)
    for _ in range(10_000):
        f = np.log(A) - logsumexp(g - cost / epsilon, axis=1)
        before, g = g, np.log(B) - logsumexp(f[:, None] - cost / epsilon, axis=0)
        if np.abs(g - before).max() < 1e-15:
            break
    return np.exp(f[:, None] + g - cost / epsilon)


def smooth_gradient(gamma: np.ndarray) -> np.ndarray:
    """Of J(γ) = 0.3 Σ aᵢ ‖yᵢ − xᵢ‖² with the barycentric images yᵢ = (γY)ᵢ/aᵢ."""
    return 0.6 * ((gamma @ Y) / A[:, None] - X) @ Y.T


def lasso_gradient(gamma: np.ndarray) -> np.ndarray:
    """Of J(γ) = 0.2 Σⱼ Σ_c ‖γ_cj‖."""
    norms = np.array([[np.linalg.norm(gamma[c == LABELS, j]) for j in range(17)] for c in range(3)])
    return 0.2 * gamma / norms[LABELS]


PROBLEMS = {
    "time": (TimeSmoothness(Y, X, weight=0.3), smooth_gradient),
    "lasso": (GroupLasso(LABELS, weight=0.2), lasso_gradient),
}


def algorithm1(gradient: object, gamma: np.ndarray, alpha: float) -> list[np.ndarray]:
    """C_k = αC + α∇J(γ_k) − log γ_k,  γ_{k+1} = sinkhorn(C_k, 1 + αε)."""
    plans = [gamma]
    for _ in range(ITERATIONS):
        gamma = plans[-1]
        plans.append(plain_sinkhorn(alpha * COST + alpha * gradient(gamma) - np.log(gamma), 1.0 + alpha * EPSILON))
    return plans


def iterates(name: str, init: np.ndarray | None, **options: float) -> list[np.ndarray]:
    plans: list[np.ndarray] = []

    def keep(_: object, plan: object) -> bool:
        plans.append(plan.dense())
        return len(plans) > ITERATIONS

    problem = Problem(COST, A, B, epsilon=EPSILON, regularizer=PROBLEMS[name][0])
    with pytest.warns(UserWarning, match="stopped by the callback"):
        solve(problem, ForwardBackward(**options), init=init, tol=1e-14, callback=keep)
    return plans


STARTS = {"entropic": None, "independent": np.outer(A, B), "other": plain_sinkhorn(RNG.random((24, 17)), 0.3)}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("alpha", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_plan_is_that_of_exact_steps(name: str, alpha: float, start: str) -> None:
    init = STARTS[start]
    exact = algorithm1(PROBLEMS[name][1], plain_sinkhorn(COST, EPSILON) if init is None else init, alpha)
    found = iterates(name, init, step=alpha, inner_tol=1e-13)
    assert len(found) == len(exact)
    distances = [np.abs(ours - theirs).sum() for ours, theirs in zip(found, exact, strict=True)]
    assert max(distances) < 1e-10


@pytest.mark.parametrize(
    ("value", "error"), [(0.0, ValueError), (-1.0, ValueError), (np.nan, ValueError), ("no", TypeError)]
)
def test_an_inner_tolerance_that_is_none_is_named(value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^inner_tol must be "):
        ForwardBackward(inner_tol=value)
