"""Parts of the adaptation by themselves: maps, motions, energy distance, class masses, units, circular validation."""

from __future__ import annotations

import numpy as np
import pytest
from turning_moons import moons

from driftway import CircularScore, ContinuousTransportClassifier, PointCloudCost
from driftway.adaptation.energy import energy_distance
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap
from driftway.adaptation.marginals import Estimated, class_masses
from driftway.adaptation.motion import AffineMotion
from driftway.adaptation.scaling import fit_scaling


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
