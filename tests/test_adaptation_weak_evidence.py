"""What hypotheses make of weak evidence: correlated features, many classes of few rows, classes that overlap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from driftway.adaptation.hypotheses.mix import MixEvidence
from driftway.adaptation.hypotheses.sensor_search import Search, search_of
from driftway.adaptation.hypotheses.sensor_state import Map, SensorState
from driftway.adaptation.hypotheses.sensors import Sensors
from driftway.adaptation.hypotheses.time_prior import NU, Prior, Steps
from driftway.adaptation.source.classes import SHRUNK, SourceClasses, source_classes
from driftway.adaptation.source.view import source_views

Array = np.ndarray


def started(source: SourceClasses) -> SensorState:
    d = source.points.shape[1]
    return SensorState(Map.identity(d), source.shares, Map.identity(d), (), Steps(), (), MixEvidence())


def correlated(n: int, seed: int) -> Array:
    """Five features, the first four of which tell nearly the same."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1)) * [1.0, 1.0, 1.0, 1.0, 0.0]
    return common + rng.normal(size=(n, 5)) * [0.2, 0.3, 0.2, 0.4, 1.0]


def correlated_classes() -> SourceClasses:
    return source_classes(correlated(20_000, 0), np.arange(20_000) % 2, np.ones(20_000), 2)


class TestFilter:
    def test_it_is_the_posterior_mean_of_a_gaussian_step_seen_with_correlated_noise(self) -> None:
        source, rng, m = correlated_classes(), np.random.default_rng(1), 60
        prior = Prior(source, Steps(0.03, 0.01), m)
        delta, eta = 0.2 * rng.normal(size=(2, 5))
        d = source.dimension
        shift, gain, *_ = prior.squares(delta, eta)
        step, stretch = 0.03 * (NU + shift) / (NU + d), 0.01 * (NU + gain) / (NU + d)
        told = prior.trust(delta, eta)
        C = (source.axes * source.spectrum) @ source.axes.T
        N = (source.gain_axes * source.gain_spectrum) @ source.gain_axes.T
        task = search_of(source, True, True, started(source), correlated(m, 2))
        for axes, trust, change, size, noise in (
            (source.axes, told[0], delta, step, C / m),
            (source.gain_axes, told[1], eta, stretch, N / m),
        ):
            wanted = size * np.linalg.solve(size * np.eye(5) + noise, change)
            np.testing.assert_allclose(task.believed(axes, trust, change), wanted, rtol=1e-8)

    def test_chance_moves_log_spreads_as_it_says(self) -> None:
        source, m = correlated_classes(), 200
        logs = np.array([np.log(source.standardised(correlated(m, seed)).std(axis=0)) for seed in range(2000)])
        told = (source.gain_axes * source.gain_spectrum) @ source.gain_axes.T / m
        told[~np.eye(5, dtype=bool)] /= (1.0 - SHRUNK) ** 2  # correlations are shrunk, to be on the safe side
        np.testing.assert_allclose(np.cov(logs.T), told, atol=0.12 / (2 * m))

    def test_small_steps_of_sensors_that_tell_the_same_are_seen(self) -> None:
        """Four sensors with the same signal: their differences are known to a fifth of what chance does to each."""
        rng = np.random.default_rng(3)
        X = correlated(2000, 0)
        y = (X[:, 4] > 0).astype(int)
        source = source_views(X, y, y, np.ones(2000), LinearDiscriminantAnalysis(), 2)[0]
        ageing, offset = Sensors(source, True, False), np.zeros(5)
        state, errors, walked = ageing.start(), [], []
        for step in range(12):
            offset = offset + 0.1 * rng.normal(size=5)
            fit = ageing.fit(state, correlated(50, 10 + step) + offset * source.classes.unit)
            state = fit.state
            moved = fit.map.offset - offset
            errors.append(moved[:4] - moved[:4].mean())
            walked.append(offset[:4] - offset[:4].mean())
        # In units of what chance does to the mean of a single sensor. Feature by feature 0.24 would be left.
        assert np.mean(np.square(errors[3:])) < 0.15 / 50
        assert np.mean(np.square(walked[3:])) > 1.0 / 50


def curves(rows: int, seed: int) -> tuple[Array, Array]:
    """Fifteen classes of smooth curves that differ by little."""
    rng = np.random.default_rng(seed)
    centres = np.cumsum(np.cumsum(np.random.default_rng(0).normal(size=(15, 30)), axis=1), axis=1)
    y = np.arange(rows) % 15
    return centres[y] + np.cumsum(np.cumsum(rng.normal(size=(rows, 30)), axis=1), axis=1), y


class TestManyClasses:
    def test_the_mix_is_not_that_of_the_few_points_which_fit_by_chance(self) -> None:
        X, y = curves(180, 1)
        source = source_views(X, y, y, np.ones(180), LinearDiscriminantAnalysis(), 15)[0]
        both, rng, offset = Sensors(source, True, True), np.random.default_rng(2), np.zeros(30)
        state, off = both.start(), []
        for step in range(6):
            offset = offset + 0.05 * rng.normal(size=30)
            fit = both.fit(state, curves(105, 3 + step)[0] + offset * source.classes.unit)
            state = fit.state
            off.append(0.5 * np.abs(fit.mix - 1.0 / 15).sum())
        # One class for all of them would be off by 0.93.
        assert np.mean(off) < 0.15

    def test_no_mix_is_better_than_one_that_explains_the_batch(self) -> None:
        X, y = curves(180, 1)
        source = source_views(X, y, y, np.ones(180), LinearDiscriminantAnalysis(), 15)[0].classes
        task = search_of(source, True, True, started(source), source.points[::2])
        for k in range(15):
            mix = np.full(15, 1e-3)
            mix[k] = 1.0 - 14e-3
            value = task.objective(mix, task.state.map, task.trust(mix, next(task.anchors())))[0]
            assert value > task.mix_prior(mix)[0]


def overlapping(apart: float) -> Search:
    """A batch of the source's mix, of two classes whose centres are so many deviations apart."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[Array, Array]:
        y = np.arange(n) % 2
        return rng.normal(size=(n, 3)) + apart * y[:, None] * [1.0, 0.0, 0.0], y

    source = source_classes(*draw(300), np.ones(300), 2)
    return search_of(source, True, True, started(source), source.standardised(draw(100)[0]))


class TestAverage:
    @pytest.mark.parametrize("apart", [0.5, 1.5, 6.0])
    def test_the_mix_is_the_mean_of_the_posterior_on_the_way_to_the_best_one(self, apart: float) -> None:
        task = overlapping(apart)
        anchor = next(task.anchors())
        best = task.found(np.array([0.25, 0.75]), anchor)
        parts = np.linspace(0.0, 1.0, 201)
        mixes = task.source.shares + parts[:, None] * (best.mix - task.source.shares)
        weights = softmax([-task.found(mix, anchor).value for mix in mixes])
        np.testing.assert_allclose(task.averaged(best).mix, weights @ mixes, atol=0.03)

    def test_where_classes_overlap_the_mix_stays_near_the_sources_and_else_it_does_not(self) -> None:
        near, far = (overlapping(apart) for apart in (0.5, 6.0))
        for task, low, high in ((near, 0.05, 0.8), (far, -0.1, 0.1)):
            best = task.found(np.array([0.1, 0.9]), next(task.anchors()))
            gone = task.averaged(best).mix[1] - 0.5
            assert low * 0.4 <= gone <= high * 0.4
