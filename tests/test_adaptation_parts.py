"""Parts of the adaptation by themselves: maps, motions, energy distance, class masses, units, circular validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from turning_moons import moons

from driftway import CircularScore, ContinuousTransportClassifier, PointCloudCost
from driftway.adaptation.carried import Carried
from driftway.adaptation.energy import energy_distance
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap
from driftway.adaptation.marginals import Estimated, class_masses
from driftway.adaptation.motion import AffineMotion
from driftway.adaptation.resolution import settings_of
from driftway.adaptation.rigid import nearest_turn, turned
from driftway.adaptation.scaling import fit_scaling
from driftway.adaptation.tracking import advance
from driftway.adaptation.tracks import TransportTrack, TurnTrack


def spun(rng: np.random.Generator, d: int) -> np.ndarray:
    """A rotation by up to 10° in planes of no special position."""
    frame = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turn = np.eye(d)
    for one, angle in zip(range(0, d - 1, 2), np.deg2rad([10.0, 7.0, 4.0, 2.0]), strict=False):
        turn[one : one + 2, one : one + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return frame @ turn @ frame.T


class TestTurns:
    @pytest.mark.parametrize("d", [2, 5, 8])
    def test_the_nearest_turn_is_a_rotation_and_no_other_is_nearer(self, d: int) -> None:
        rng = np.random.default_rng(d)
        products = rng.normal(size=(d, d))
        found = nearest_turn(products)
        np.testing.assert_allclose(found.T @ found, np.eye(d), atol=1e-12)
        assert np.linalg.det(found) > 0
        best = np.trace(found.T @ products)
        assert all(np.trace((found @ spun(rng, d)).T @ products) < best for _ in range(20))

    def test_a_turn_and_a_shift_are_found_exactly_and_an_expected_one_where_images_say_nothing(self) -> None:
        rng = np.random.default_rng(0)
        X, a = rng.normal(size=(50, 4)), rng.uniform(0.5, 1.5, 50)
        truth = X @ spun(rng, 4) + rng.normal(size=4)
        np.testing.assert_allclose(turned(X, truth, a, X, 0.0), truth, atol=1e-12)
        mean = np.broadcast_to(a @ truth / a.sum(), X.shape)
        np.testing.assert_allclose(turned(X, mean, a, truth, 0.1), truth, atol=1e-12)

    def test_the_track_of_turns_keeps_distances_where_affine_maps_lose_variance(self) -> None:
        rng = np.random.default_rng(0)
        centres, y, d = 3.0 * rng.normal(size=(5, 8)), np.arange(200) % 5, 8
        X, turn, total = centres[y] + rng.normal(size=(200, d)), spun(rng, d), np.eye(d)
        weights = np.full(200, 1 / 200)
        tracks = TurnTrack("turn", AffineMotion(0.3)), TransportTrack("affine", AffineMap(), AffineMotion(0.3))
        settings = replace(settings_of(ContinuousTransportClassifier(), heaps=None), tracks=tracks)
        carried = Carried.first(X, y, y, None, weights, 2)
        for _ in range(9):
            total = total @ turn
            batch = (centres[rng.permutation(80) % 5] + rng.normal(size=(80, d))) @ total
            carried = advance(carried, batch, np.full(80, 1 / 80), settings).carried
        np.testing.assert_allclose(cdist(carried.now[0], carried.now[0]), cdist(X, X), atol=1e-9)
        errors = np.sqrt(((carried.now - X @ total) ** 2).sum(axis=2).mean(axis=1))
        assert errors[0] < 0.5 * errors[1]
        assert carried.now[1].var(axis=0).sum() < 0.8 * X.var(axis=0).sum()


class TestParts:
    def test_an_affine_motion_is_recovered_from_noisy_images(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3))
        A, shift = np.eye(3) + 0.2 * rng.normal(size=(3, 3)), rng.normal(size=3)
        truth = X @ A + shift
        images = AffineMap(0.0).images(X, truth + 0.1 * rng.normal(size=X.shape), np.ones(400), 400)
        assert np.abs(images - truth).max() < 0.1
        ahead = AffineMotion(1.0, ridge=0.0).predict(X, truth, np.zeros_like(X), np.zeros(400, int), np.ones(400), 400)
        np.testing.assert_allclose(ahead - truth, truth - X, atol=1e-8)

    def test_a_kernel_map_bends_and_raw_images_are_raw(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(300, 1))
        bent = X + np.sin(2 * X)
        weights = np.ones(300)
        error = {
            model: np.abs(model.images(X, bent, weights, 3000) - bent).mean()
            for model in (AffineMap(), KernelMap(0.2, ridge=0.01), BarycentricMap())
        }
        assert error[KernelMap(0.2, ridge=0.01)] < 0.3 * error[AffineMap()]
        assert error[BarycentricMap()] == 0

    def test_classes_have_velocities_of_their_own(self) -> None:
        rng = np.random.default_rng(0)
        groups = np.arange(300) % 3
        X = rng.normal(size=(300, 2)) + 8.0 * groups[:, None] * [0, 1]
        moved = X + np.where(groups[:, None] == 1, [1.0, 0.0], [-1.0, 0.0])
        ahead = AffineMotion(1.0, by_class=True).predict(X, moved, np.zeros_like(X), groups, np.ones(300), 300)
        np.testing.assert_allclose(ahead - moved, moved - X, atol=0.3)

    def test_the_energy_distance_is_zero_for_the_same_and_its_usual_value_is_right(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 2))
        uniform = np.full(50, 0.02)
        assert energy_distance(X, X, uniform, uniform)[0] == pytest.approx(0.0, abs=1e-12)
        pairs = [
            energy_distance(rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), uniform, uniform) for _ in range(60)
        ]
        found, usual = np.mean(pairs, axis=0)
        assert found == pytest.approx(usual, rel=0.15)
        assert energy_distance(X, X + 1, uniform, uniform)[0] > 3 * usual

    def test_class_masses_are_estimated(self) -> None:
        rng = np.random.default_rng(0)
        groups = np.repeat([0, 1, 2], 40)
        X = rng.normal(size=(120, 2)) + 5 * groups[:, None]
        z = np.repeat([0, 1, 2], [70, 30, 0])
        Y = rng.normal(size=(100, 2)) + 5 * z[:, None]
        cost = PointCloudCost(X, Y, "sqeuclidean")
        a, b = np.full(120, 1 / 120), np.full(100, 0.01)
        seen, gain = class_masses(cost, a, b, groups, 1.0)
        np.testing.assert_allclose(seen, [0.7, 0.3, 0.0], atol=0.01)
        assert gain > 0.3
        masses = Estimated().masses(cost, a, b, groups, 1.0)
        assert masses.sum() == pytest.approx(1.0)
        assert masses[groups == 0].sum() == pytest.approx(0.7, abs=0.01)

    def test_features_get_units_of_their_own_only_where_labels_ask_for_it(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(200) % 2
        useful, noise = 3.0 * y + rng.normal(size=200), 1e4 * rng.normal(size=200)
        X = np.column_stack([useful, noise, np.full(200, 7.0)])
        each = fit_scaling("auto", X, y, np.ones(200))
        assert each.unit[0] < 10
        assert each.unit[2] == pytest.approx(np.median(X.std(axis=0)[:2]))  # a constant feature is not blown up
        rare = np.column_stack([useful, np.eye(200)[:, 0]])
        assert fit_scaling("features", rare, y, np.ones(200)).unit[1] == pytest.approx(0.1)
        same = fit_scaling("auto", X[:, [0, 0]], y, np.ones(200))
        assert same.unit[0] == same.unit[1]
        np.testing.assert_allclose(each.inverse(each(X)), X)

    def test_circular_validation_prefers_what_follows(self) -> None:
        X, y, batches = moons(steps=12, m=80)
        score = CircularScore([B for B, _ in batches])
        good, bad = (
            ContinuousTransportClassifier(),
            ContinuousTransportClassifier(map="barycentric", motion=None, epsilon=0.5),
        )
        assert score(good, X, y) > 0.95
        assert score(good, X, y) > score(bad, X, y)
        with pytest.raises(ValueError, match="at least one batch"):
            CircularScore([])
