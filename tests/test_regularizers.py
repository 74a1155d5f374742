"""Regularisers: gradients, smoothness, moments and conjugates are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import REGULARIZERS, Data, data
from scipy import sparse

from driftway import (
    Custom,
    GroupLasso,
    Laplacian,
    PointCloudCost,
    Problem,
    Regularizer,
    TimeSmoothness,
    WassersteinTime,
    solve,
)
from driftway.arrays.rowwise import Remote
from driftway.engines import Request, Sweep, Threads
from driftway.regularizers import GroupNorms, MomentRegularizer
from driftway.solvers import DualNewton

N, M = 7, 6
BUILT_IN = {name: make for name, (make, _) in REGULARIZERS.items() if name != "none"} | {
    "wasserstein": lambda d, w: WassersteinTime(d.Y, d.previous, w),
    "wasserstein-biased": lambda d, w: WassersteinTime(d.Y, d.previous, w, blur=0.3, debias=False),
    "wasserstein+lasso": lambda d, w: 2.0 * WassersteinTime(d.Y, d.previous[:4], w) + GroupLasso(d.labels, w),
}


def bound(name: str, d: Data) -> Regularizer:
    return BUILT_IN[name](d, 1.0).on(d.a, d.b)


def random_plan(d: Data, rng: np.random.Generator, temperature: float) -> np.ndarray:
    """A random coupling of a and b, the more extreme the higher the temperature."""
    plan = np.exp(temperature * rng.normal(size=(len(d.a), len(d.b))))
    for _ in range(500):
        plan *= (d.a / plan.sum(axis=1))[:, None]
        plan *= d.b / plan.sum(axis=0)
    return plan


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q) - p + q).sum())


@pytest.mark.parametrize("name", BUILT_IN)
def test_gradients_match_finite_differences(name: str) -> None:
    d, rng = data(N, M, seed=0), np.random.default_rng(0)
    J, gamma = bound(name, d), random_plan(d, rng, 1.0)
    gradient, step = J.gradient(gamma), 1e-6
    numeric = np.empty_like(gamma)
    for index in np.ndindex(*gamma.shape):
        # Scaled to the entry, or it would leave the positive orthant.
        h = step * gamma[index]
        up, down = gamma.copy(), gamma.copy()
        up[index] += h
        down[index] -= h
        numeric[index] = (J.value(up) - J.value(down)) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-4, atol=2e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("name", [name for name in BUILT_IN if bound(name, data(N, M, seed=0)).smoothness is not None])
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), hot=st.floats(0.1, 4.0), cold=st.floats(0.01, 2.0))
def test_the_declared_smoothness_holds_on_pairs_of_plans(name: str, seed: int, hot: float, cold: float) -> None:
    d, rng = data(N, M, seed=seed % 17), np.random.default_rng(seed)
    J = bound(name, d)
    p, q = random_plan(d, rng, hot), random_plan(d, rng, cold)
    bregman = J.value(p) - J.value(q) - np.vdot(J.gradient(q), p - q)
    assert bregman <= J.smoothness * divergence(p, q) * (1 + 1e-6) + 1e-10


@pytest.mark.parametrize("name", [name for name in BUILT_IN if bound(name, data(N, M, seed=0)).convex])
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_what_is_declared_convex_lies_above_its_tangents(name: str, seed: int) -> None:
    d, rng = data(N, M, seed=seed % 17), np.random.default_rng(seed)
    J = bound(name, d)
    p, q = random_plan(d, rng, 2.0), random_plan(d, rng, 2.0)
    assert J.value(p) >= J.value(q) + np.vdot(J.gradient(q), p - q) - 1e-10
    assert J.value(p) >= J.minimum


@pytest.mark.parametrize("name", ["time-mean", "time-sum", "time-coupling"])
def test_conjugates_meet_fenchels_inequality_with_equality_at_the_gradient(name: str) -> None:
    d, rng = data(N, M, seed=2), np.random.default_rng(2)
    J = 1.5 * bound(name, d)
    p, q = random_plan(d, rng, 1.0), random_plan(d, rng, 1.0)

    def conjugate(at: np.ndarray) -> tuple[np.ndarray, float]:
        """A gradient as an n×m array, and J* there."""
        right, left = J.phi_gradient(at @ J.right_basis, at.T @ J.left_basis)
        return right @ J.right_basis.T, J.phi_conjugate(right, left)

    G, star = conjugate(q)
    assert J.value(q) + star == pytest.approx(np.vdot(G, q), abs=1e-9)
    assert J.value(p) + star >= np.vdot(G, p) - 1e-9


def test_a_conjugate_is_infinite_outside_its_domain() -> None:
    d = data(N, M, seed=2)
    still = TimeSmoothness(d.Y, d.previous, 0.0, a=d.a)
    assert still.phi_conjugate(np.ones((N, 2)), np.empty((M, 0))) == np.inf


@pytest.mark.parametrize("name", [n for n in BUILT_IN if isinstance(bound(n, data(N, M, seed=0)), MomentRegularizer)])
def test_the_moment_form_is_the_dense_form(name: str) -> None:
    d, rng = data(N, M, seed=3), np.random.default_rng(3)
    J, gamma = bound(name, d), random_plan(d, rng, 1.0)
    right, left = gamma @ J.right_basis, gamma.T @ J.left_basis
    assert J.phi(right, left) == pytest.approx(J.value(gamma), rel=1e-12)
    P, Q = J.phi_gradient(right, left)
    np.testing.assert_allclose(P @ J.right_basis.T + J.left_basis @ Q.T, J.gradient(gamma), atol=1e-12)


def test_sums_and_multiples_are_pointwise() -> None:
    d, rng = data(N, M, seed=4), np.random.default_rng(4)
    gamma = random_plan(d, rng, 1.0)
    lasso, time = bound("lasso", d), bound("time-mean", d)
    J = 0.5 * (lasso + 2.0 * time) + sum([time, lasso]) / 4.0
    assert J.value(gamma) == pytest.approx(0.75 * lasso.value(gamma) + 1.25 * time.value(gamma))
    np.testing.assert_allclose(J.gradient(gamma), 0.75 * lasso.gradient(gamma) + 1.25 * time.gradient(gamma))
    assert J.smoothness == pytest.approx(0.75 * lasso.smoothness + 1.25 * time.smoothness)
    assert isinstance(time + 3.0 * time, MomentRegularizer)
    assert not isinstance(time + lasso, MomentRegularizer)
    assert repr(2.0 * (lasso + time)).startswith("2 * (")


def test_time_normalizations_differ_by_powers_of_n_under_uniform_masses() -> None:
    d, rng = data(N, M, seed=5, uniform=True), np.random.default_rng(5)
    gamma = random_plan(d, rng, 1.0)
    mean, literal, coupling = (
        TimeSmoothness(d.Y, d.previous, 1.0, kind).value(gamma) for kind in ("mean", "sum", "coupling")
    )
    text = np.linalg.norm(N * gamma @ d.Y - d.previous) ** 2
    assert literal == pytest.approx(text)
    assert mean == pytest.approx(text / N)
    assert coupling == pytest.approx(np.linalg.norm(gamma @ d.Y - d.previous / N) ** 2)


def test_group_lasso_groups_any_labels_by_equality() -> None:
    gamma = np.random.default_rng(0).random((4, 3))
    values = [GroupLasso(labels, 2.0).value(gamma) for labels in ([1, 0, 1, 0], ["b", "a", "b", "a"], [1.5, 2, 1.5, 2])]
    expected = 2.0 * (np.linalg.norm(gamma[[0, 2]], axis=0).sum() + np.linalg.norm(gamma[[1, 3]], axis=0).sum())
    assert values == pytest.approx([expected] * 3)


def test_group_lasso_is_exact_where_squares_underflow() -> None:
    gamma = np.full((2, 1), 1e-200)
    J = GroupLasso([0, 0], 1.0)
    assert J.value(gamma) == pytest.approx(np.sqrt(2) * 1e-200)
    np.testing.assert_allclose(J.gradient(gamma), np.sqrt(0.5))
    np.testing.assert_array_equal(J.gradient(np.zeros((2, 1))), 0.0)


def test_a_laplacian_may_be_sparse() -> None:
    d, rng = data(N, M, seed=6), np.random.default_rng(6)
    gamma = random_plan(d, rng, 1.0)
    dense = Laplacian(d.source_similarity, d.Y, 1.0, masses=d.a)
    scattered = Laplacian(sparse.csr_array(d.source_similarity), d.Y, 1.0, masses=d.a)
    T = gamma @ d.Y / d.a[:, None]
    pairs = ((T[:, None] - T) ** 2).sum(axis=2)
    expected = (d.source_similarity * pairs).sum() / d.source_similarity.sum()
    assert dense.value(gamma) == pytest.approx(expected)
    assert scattered.value(gamma) == pytest.approx(expected)


def test_the_sinkhorn_divergence_vanishes_at_the_previous_cloud_only() -> None:
    d = data(N, N, seed=7, uniform=True)
    identity = np.eye(N) / N
    J = WassersteinTime(d.Y, d.Y, 1.0)
    assert abs(J.value(identity)) <= 1e-10
    assert np.abs(J.gradient(identity)).max() <= 1e-8
    shuffled = identity[np.random.default_rng(0).permutation(N)]
    assert abs(J.value(shuffled)) <= 1e-10  # a cloud, not points one by one
    assert J.value(np.full((N, N), 1 / N**2)) > 0.1


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_custom_is_differentiated_by_the_library_named(library: str) -> None:
    pytest.importorskip(library)
    gamma = np.random.default_rng(0).random((3, 4))
    J = Custom(lambda g: (g**3).sum(), autodiff=library)
    assert J.value(gamma) == pytest.approx((gamma**3).sum(), rel=1e-12)
    np.testing.assert_allclose(J.gradient(gamma), 3 * gamma**2, rtol=1e-12)


def test_rows_on_a_cluster_are_refused_where_all_are_needed() -> None:
    class Elsewhere(Remote):
        size = 3

        def __by_rows__(self, function: object, *arguments: object, **options: object) -> None: ...

    with pytest.raises(TypeError, match=r"WassersteinTime .* use PointCloudCost"):
        WassersteinTime(np.zeros((4, 2)), np.ones((3, 2))).on(Elsewhere(), np.full(4, 0.25))


def test_transport_within_a_regularizer_runs_on_the_engine_of_the_solve() -> None:
    shapes: set[tuple[int, int]] = set()

    class Recording(Threads):
        def sweep(self, request: Request) -> Sweep:
            shapes.add(request.log.shape)
            return super().sweep(request)

    d, engine = data(9, 8, seed=1), Recording()
    J = 2.0 * WassersteinTime(d.Y, d.previous[:5]) + TimeSmoothness(d.Y, d.previous)
    found = solve(Problem(PointCloudCost(d.X, d.Y), d.a, d.b, epsilon=0.5, regularizer=J), engine=engine)
    assert {(9, 8), (9, 5), (9, 9)} <= shapes  # the plan, images to the previous cloud, and images to themselves
    shapes.clear()
    WassersteinTime(d.Y, d.previous[:5], a=d.a).partials(found.plan)
    assert {(9, 5), (5, 9)} <= shapes


def test_norms_do_not_depend_on_how_a_plan_is_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from driftway.regularizers import group_lasso

    rng = np.random.default_rng(0)
    gamma, labels = rng.random((50, 7)), rng.integers(4, size=50)
    gamma[:, 2] *= 1e-200  # squares underflow
    gamma[labels == 1, 3] = 0.0
    J = GroupLasso(labels, 1.5)
    norms = np.array([np.linalg.norm(gamma[labels == k] * 1e100, axis=0) / 1e100 for k in range(4)])
    expected = 1.5 * gamma / np.where(norms > 0, norms, 1.0)[labels]
    for entries in (1, 40, 2**15):
        monkeypatch.setattr(group_lasso, "BLOCK_ENTRIES", entries)
        assert J.value(gamma) == pytest.approx(1.5 * norms.sum(), rel=1e-13)
        np.testing.assert_allclose(J.gradient(gamma), expected, rtol=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-30])
def test_norms_of_groups_are_solved_under_any_name(unit: float) -> None:
    """Also in units far from 1, in which the regulariser is another object."""
    pytest.importorskip("numba")

    class ByCity(Regularizer):
        convex, minimum = True, 0.0

        def __init__(self, norms: GroupLasso) -> None:
            self._norms = norms

        def value(self, gamma: np.ndarray) -> float:
            return self._norms.value(gamma)

        def gradient(self, gamma: np.ndarray) -> np.ndarray:
            return self._norms.gradient(gamma)

        @property
        def group_norms(self) -> GroupNorms:
            return self._norms.group_norms

    d = data(12, 10, seed=3)
    lasso, cost = GroupLasso(d.labels, 0.3 * unit), unit * PointCloudCost(d.X, d.Y).rows(slice(None))
    own, ours = (
        solve(Problem(cost, d.a, d.b, epsilon=0.1 * unit, regularizer=J), DualNewton()) for J in (ByCity(lasso), lasso)
    )
    assert own.converged
    assert own.value == pytest.approx(ours.value, rel=1e-9, abs=0.0)
