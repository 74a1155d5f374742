"""The labelled source as hypotheses see it, against NumPy, finite differences and direct optimisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from driftway.adaptation.source import automatic
from driftway.adaptation.source.answers import fit_answers
from driftway.adaptation.source.automatic import AutomaticClassifier, AutomaticRegressor
from driftway.adaptation.source.calibration import PULL, fit_power, tempered
from driftway.adaptation.source.classes import source_classes
from driftway.adaptation.source.clouds import class_clouds, thinned
from driftway.adaptation.source.spaces import feature_spaces
from driftway.adaptation.source.stacking import averaged, stacked
from driftway.adaptation.source.view import source_views

Array = np.ndarray


def labelled(features: int, classes: int = 3, n: int = 60, seed: int = 0) -> tuple[Array, Array, Array]:
    """Points, classes and weights."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(classes), rng.integers(classes, size=n - classes)])
    return rng.normal(size=(n, features)) + groups[:, None], groups, rng.uniform(0.5, 2.0, size=n)


class TestClouds:
    @pytest.mark.parametrize("features", [1, 2, 4])
    def test_the_energy_is_that_of_all_pairs(self, features: int) -> None:
        X, groups, weights = labelled(features)
        Y, mix = np.random.default_rng(1).normal(size=(25, features)) + 0.5, np.array([0.5, 0.2, 0.3])
        cloud = class_clouds(X, groups, weights, 3)
        mean = np.zeros((3, 3))
        for k in range(3):
            for j in range(3):
                pairs = [
                    (weights[p] * weights[q], np.linalg.norm(X[p] - X[q]))
                    for p in np.flatnonzero(groups == k)
                    for q in np.flatnonzero(groups == j)
                    if p != q  # without bias: nobody is compared with himself
                ]
                mass, distance = np.array(pairs).T
                mean[k, j] = mass @ distance / mass.sum()
        apart = [np.linalg.norm(Y[:, None] - X[groups == k], axis=2).mean(axis=0) for k in range(3)]
        to_class = [np.average(apart[k], weights=weights[groups == k]) for k in range(3)]
        among = np.mean([np.linalg.norm(Y[i] - Y[j]) for i in range(25) for j in range(25) if i != j])
        wanted = 2 * mix @ to_class - mix @ mean @ mix - among
        np.testing.assert_allclose(cloud.within, mean, rtol=1e-10)
        assert cloud.energy(Y, mix) == pytest.approx(wanted, rel=1e-10)
        assert cloud.energy_with_gradients(Y, mix)[0] == pytest.approx(wanted, rel=1e-10)

    @pytest.mark.parametrize("features", [1, 3])
    def test_gradients_are_finite_differences(self, features: int) -> None:
        cloud = class_clouds(*labelled(features), 3)
        Y, mix = np.random.default_rng(2).normal(size=(12, features)), np.array([0.2, 0.5, 0.3])
        _, by_mix, by_point = cloud.energy_with_gradients(Y, mix)
        assert check_grad(lambda w: cloud.energy(Y, w), lambda _: by_mix, mix) < 1e-6
        flat = by_point.ravel()
        assert check_grad(lambda y: cloud.energy(y.reshape(Y.shape), mix), lambda _: flat, Y.ravel()) < 1e-6
        np.testing.assert_allclose(cloud.energies(Y).gradient(mix), by_mix, rtol=1e-10)

    def test_a_line_in_space_is_a_line(self) -> None:
        X, groups, weights = labelled(1)
        Y, mix = np.random.default_rng(3).normal(size=(40, 1)), np.array([0.1, 0.6, 0.3])
        Y[5:9] = Y[4]  # ties, also with landmarks
        Y[10] = X[3]
        line = class_clouds(X, groups, weights, 3).energy_with_gradients(Y, mix)
        direction = np.array([[0.6, 0.8]])
        space = class_clouds(X @ direction, groups, weights, 3).energy_with_gradients(Y @ direction, mix)
        assert line[0] == pytest.approx(space[0], rel=1e-10)
        np.testing.assert_allclose(line[1], space[1], rtol=1e-9)
        np.testing.assert_allclose(line[2], space[2] @ direction.T, atol=1e-7)

    def test_without_bias_it_is_nought_on_average_and_finds_the_mix(self) -> None:
        rng = np.random.default_rng(4)
        X, groups, _ = labelled(2, n=150)
        cloud = class_clouds(X, groups, np.ones(150), 3)
        truth = np.array([0.7, 0.1, 0.2])

        def sample() -> Array:
            return rng.normal(size=(150, 2)) + rng.choice(3, size=150, p=truth)[:, None]

        found = [cloud.energy(sample(), truth) for _ in range(30)]
        assert abs(np.mean(found)) < 3 * np.std(found)
        energies = cloud.energies(sample())
        best = minimize(lambda u: energies(softmax(u)), np.zeros(3), method="BFGS").x
        np.testing.assert_allclose(softmax(best), truth, atol=0.12)

    def test_large_sources_and_batches_are_thinned_evenly(self) -> None:
        X, groups, _ = labelled(2, n=5000)
        groups[:2] = 3  # a rare class
        cloud = class_clouds(X, groups, np.ones(5000), 4)
        assert len(cloud.points) < 220
        np.testing.assert_allclose(cloud.inside.sum(axis=0), 1.0)
        assert len(thinned(X)) == 150
        np.testing.assert_array_equal(thinned(X), thinned(X))
        np.testing.assert_array_equal(thinned(X[:150]), X[:150])

    @pytest.mark.parametrize("period", range(2, 40))
    def test_the_order_of_the_rows_has_no_say_in_the_mix(self, period: int) -> None:
        for count in (300, 301, 600, 1000, 5000):
            kinds = (np.arange(count) % period == 0)[:, None].astype(float)
            expected = kinds.mean()
            assert abs(thinned(kinds).mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / 150)


class TestClasses:
    def test_moments_are_those_of_numpy(self) -> None:
        X, groups, weights = labelled(4, n=90)
        X = 7.0 + X * [1.0, 10.0, 0.1, 3.0]
        found = source_classes(X, groups, weights, 3)
        np.testing.assert_allclose(found.centre, np.average(X, axis=0, weights=weights))
        np.testing.assert_allclose(found.unit**2, np.diag(np.cov(X.T, aweights=weights, ddof=0)))
        Z = found.standardised(X)
        for k in range(3):
            inside = groups == k
            np.testing.assert_allclose(found.means[k], np.average(Z[inside], axis=0, weights=weights[inside]))
            wanted = np.diag(np.cov(Z[inside].T, aweights=weights[inside], ddof=0))
            np.testing.assert_allclose(found.variances[k], wanted)
        mean, variance = found.moments(found.shares)
        np.testing.assert_allclose(mean, 0.0, atol=1e-12)
        np.testing.assert_allclose(variance, 1.0)
        total = 0.95 * np.cov(Z.T, aweights=weights, ddof=0) + 0.05 * np.eye(4)
        np.testing.assert_allclose((found.axes * found.spectrum) @ found.axes.T, total, atol=1e-12)
        assert found.dimension == pytest.approx(np.trace(total) ** 2 / np.trace(total @ total))
        assert 1.0 <= found.dimension <= 4.0

    def test_another_mix_has_the_moments_of_points_so_weighted(self) -> None:
        X, groups, weights = labelled(3)
        found, mix = source_classes(X, groups, weights, 3), np.array([0.1, 0.3, 0.6])
        masses = found.weights * (mix / found.shares)[groups]
        mean, variance = found.moments(mix)
        np.testing.assert_allclose(mean, masses @ found.points)
        np.testing.assert_allclose(variance, masses @ (found.points - mean) ** 2)

    def test_discriminants_part_the_classes_and_are_white_within(self) -> None:
        rng = np.random.default_rng(0)
        groups = np.arange(600) % 3
        X = rng.normal(size=(600, 5)) * [1, 2, 3, 4, 5]
        X[:, 1] += 9.0 * (groups == 1)
        X[:, 3] += 18.0 * (groups == 2)
        found = source_classes(X, groups, np.ones(600), 3)
        assert found.directions.shape == (5, 2)
        residuals = (found.points - found.means[groups]) @ found.directions
        np.testing.assert_allclose(np.cov(residuals.T), np.eye(2), atol=0.1)
        own = np.abs(found.directions * found.unit[:, None] ** 0).sum(axis=1)
        assert own[[1, 3]].min() > 5 * own[[0, 2, 4]].max()

    def test_codes_are_not_moved(self) -> None:
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=80), rng.integers(2, size=80), np.full(80, 3.0), rng.integers(3, size=80)])
        found = source_classes(X, np.arange(80) % 2, np.ones(80), 2)
        np.testing.assert_array_equal(found.movable(found.points), [True, False, False, True])
        np.testing.assert_array_equal(found.movable(found.points + 0.01), True)
        assert np.isfinite(found.standardised(X)).all()


class TestSpaces:
    def test_skewed_features_of_one_sign_have_a_logarithm_that_can_be_undone(self) -> None:
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=200), rng.lognormal(0, 1.5, size=200), -rng.lognormal(0, 1.5, size=200)])
        given, other = feature_spaces(X)
        assert not given.logarithmic.any()
        np.testing.assert_array_equal(other.logarithmic, [False, True, True])
        np.testing.assert_allclose(other.inverse(other(X)), X, rtol=1e-12)
        np.testing.assert_array_equal(other(X)[:, 0], X[:, 0])
        assert len(feature_spaces(X[:, :1])) == 1

    @pytest.mark.parametrize(("regression", "quantile"), [(False, 0.25), (True, 0.5)])
    def test_a_regression_bends_small_values_less(self, regression: bool, quantile: float) -> None:
        X = np.random.default_rng(0).lognormal(0, 1.5, size=(200, 2))
        _, other = feature_spaces(X, regression)
        np.testing.assert_allclose(other.unit, np.quantile(X, quantile, axis=0))

    def test_views_share_the_answer_by_what_they_make_likely(self) -> None:
        rng = np.random.default_rng(1)
        y = np.arange(150) % 2
        X = np.exp(rng.normal(size=(150, 2)) + 1.5 * y[:, None])  # a linear classifier likes the logarithms
        given, other = source_views(X, y, y, np.ones(150), LogisticRegression(), 2)
        assert given.share + other.share == pytest.approx(1.0)
        assert other.share > 0.8
        np.testing.assert_allclose(other.inverse(other(X)), X, rtol=1e-9)


class TestStacking:
    def test_the_shares_are_those_of_a_direct_optimisation(self) -> None:
        rng = np.random.default_rng(0)
        for trial in range(5):
            likelihoods = rng.beta(2.0, 1.0 + trial, size=(200, 3)) * [1.0, 0.9, 1.1]
            best = minimize(
                lambda u, p=likelihoods: -np.log(p @ softmax(u)).mean(), np.zeros(3), method="BFGS", tol=1e-9
            )
            found = stacked(likelihoods)
            assert found.sum() == pytest.approx(1.0)
            assert -np.log(likelihoods @ found).mean() < best.fun + 2e-4

    def test_nothing_held_out_is_an_even_vote(self) -> None:
        np.testing.assert_array_equal(stacked(np.empty((0, 4))), 0.25)

    def test_a_voter_that_is_always_better_has_it_all(self) -> None:
        assert stacked(np.array([[0.9, 0.3], [0.8, 0.7], [0.6, 0.1]]))[0] > 0.999


class TestAveraging:
    def test_the_shares_have_the_least_squared_error(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(5):
            errors = rng.normal(size=(200, 2)) * rng.uniform(0.5, 2.0, size=2) + rng.normal(size=(200, 1))
            grid = np.linspace(0.0, 1.0, 1001)
            losses = [np.mean((errors @ [share, 1.0 - share]) ** 2) for share in grid]
            np.testing.assert_allclose(averaged(errors), [(best := grid[np.argmin(losses)]), 1.0 - best], atol=2e-3)

    def test_the_scale_of_the_errors_does_not_matter(self) -> None:
        errors = np.random.default_rng(0).normal(size=(50, 2))
        np.testing.assert_allclose(averaged(1e-200 * errors), averaged(errors), atol=1e-9)

    def test_the_first_answers_alone_where_there_is_nothing_to_tell_by(self) -> None:
        np.testing.assert_array_equal(averaged(np.empty((0, 3))), [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(averaged(np.zeros((4, 2))), [1.0, 0.0])

    @pytest.mark.parametrize("estimator", [AutomaticRegressor(), Ridge()])
    def test_a_space_in_which_a_regression_fails_has_no_voice(self, estimator: object) -> None:
        rng = np.random.default_rng(0)
        X = np.exp(1.5 * rng.normal(size=(300, 3)))
        told = source_views(X, X.sum(axis=1), np.zeros(300, dtype=np.intp), np.full(300, 1 / 300), estimator, None)
        assert not told[0].space.logarithmic.any()  # the target is linear in features as they are
        assert told[0].share > 0.9
        logs = np.log(X).sum(axis=1)
        told = source_views(X, logs, np.zeros(300, dtype=np.intp), np.full(300, 1 / 300), estimator, None)
        assert told[-1].space.logarithmic.all()
        assert told[-1].share > 0.6


class TestCalibration:
    def test_the_power_is_the_best_on_a_grid(self) -> None:
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(400, 3))
        y = np.array([rng.choice(3, p=softmax(each)) for each in logits])
        overconfident = softmax(3.0 * logits, axis=1)
        found = fit_power(overconfident, y, np.ones(400))
        assert found == pytest.approx(1 / 3, abs=0.08)

        def loss(power: float) -> float:
            right = tempered(overconfident, power)[np.arange(400), y]
            return float(-np.log(right).mean() + PULL * np.log(power) ** 2)

        assert loss(found) <= min(map(loss, np.geomspace(0.25, 4.0, 60))) + 1e-5
        np.testing.assert_allclose(tempered(overconfident, found).sum(axis=1), 1.0)

    def test_an_estimator_that_only_predicts_and_one_that_cannot_be_held_out_still_answer(self) -> None:
        X, y, _ = labelled(2, classes=2, n=20)
        from sklearn.svm import LinearSVC

        answers = fit_answers(LinearSVC(), X, y, np.ones(20), 2)
        np.testing.assert_allclose(answers(X).sum(axis=1), 1.0)
        lonely = fit_answers(LogisticRegression(), X, np.eye(20, dtype=int)[0], np.ones(20), 2)
        assert lonely.power == 1.0
        assert lonely.held_out.size == 0


def brittle(n: int, seed: int) -> tuple[Array, Array]:
    """Two features whose small difference tells the classes exactly, and some that tell them well enough."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    base = rng.normal(size=n)
    fine = base + 0.1 * (2 * y - 1) + 0.02 * rng.normal(size=n)
    coarse = 1.2 * (2 * y - 1)[:, None] + rng.normal(size=(n, 2))
    return np.column_stack([base, fine, coarse]), y


class TestAutomaticClassifier:
    def test_it_is_deterministic_and_a_vote(self) -> None:
        X, y = load_wine(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        X, y = X[::2], np.array(["a", "b", "c"])[y[::2]]
        one, two = AutomaticClassifier().fit(X, y), AutomaticClassifier().fit(X, y)
        assert sum(one.shares_.values()) == pytest.approx(1.0)
        assert min(one.shares_.values()) >= automatic.LEAST_SHARE
        assert one.shares_ == two.shares_
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        np.testing.assert_allclose(one.predict_proba(X).sum(axis=1), 1.0)
        assert np.mean(one.predict(X) == y) > 0.95
        assert ((one.likelihoods_ > 0) & (one.likelihoods_ <= 1)).all()
        assert one.likelihoods_.size == len(automatic.ERRORS) * len(y)

    def test_what_is_brittle_loses_its_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = brittle(150, 0)

        def on(*features: int) -> automatic.Learner:
            return lambda: make_pipeline(FunctionTransformer(lambda X: X[:, features]), LogisticRegression(C=1e6))

        monkeypatch.setattr(automatic, "CLASSIFIERS", {"fine": on(0, 1), "coarse": on(2, 3)})
        off = AutomaticClassifier().fit(X, y)
        assert off.shares_["coarse"] > 0.9
        monkeypatch.setattr(automatic, "ERRORS", (1e-9,))
        clean = AutomaticClassifier().fit(X, y)
        assert clean.shares_["fine"] > 0.9
        assert clean.scores_["fine"] > clean.scores_["coarse"]
        assert off.scores_["fine"] < off.scores_["coarse"]

    def test_it_is_better_calibrated_than_a_forest_where_features_are_off(self) -> None:
        # That is where it answers; on clean data it has more doubts than it need have, which may cost a little.
        for load in (load_iris, load_wine, load_breast_cancer):
            rng, (X, y) = np.random.default_rng(0), load(return_X_y=True)
            order = rng.permutation(len(y))
            X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[order], y[order]
            ours = AutomaticClassifier().fit(X[:90], y[:90])
            forest = RandomForestClassifier(100, random_state=0).fit(X[:90], y[:90])
            d = X.shape[1]
            draws = [np.exp(e * rng.normal(size=d)) * X[90:] + e * rng.normal(size=d) for e in automatic.ERRORS * 2]
            loss = [np.mean([log_loss(y[90:], m.predict_proba(D)) for D in draws]) for m in (ours, forest)]
            assert loss[0] < loss[1]

    def test_classes_of_one_point_and_a_single_class_are_learned_too(self) -> None:
        X, y, _ = labelled(2, n=12)
        few = AutomaticClassifier().fit(X, np.r_[np.zeros(11, int), 1])
        assert few.shares_ == {"neighbours": 1.0}
        assert AutomaticClassifier().fit(X, np.ones(12)).predict(X).tolist() == [1.0] * 12
        assert np.isfinite(AutomaticClassifier().fit(X, y).predict_proba(X)).all()


def test_the_automatic_regressor_averages_those_near_the_best() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    linear = AutomaticRegressor().fit(X, X @ [1.0, 2.0, -1.0])
    assert linear.chosen_ == ["ridge"]
    best = max(linear.scores_.values())
    assert all((score >= best - automatic.NEAR) == (name in linear.chosen_) for name, score in linear.scores_.items())
    nearly_collinear = np.column_stack([X, X.sum(axis=1) + 0.05 * np.sin(np.arange(len(X)))])
    cancelling = nearly_collinear @ [-20.0, -20.0, -20.0, 20.0]  # a target that any noise of the columns drowns
    assert "ridge" not in AutomaticRegressor().fit(nearly_collinear, cancelling).chosen_
    bent = AutomaticRegressor().fit(X, np.sign(X[:, 0]) * 3.0)
    assert "ridge" not in bent.chosen_
    np.testing.assert_allclose(bent.predict(X), np.mean([each.predict(X) for each in bent.estimators_], axis=0))
