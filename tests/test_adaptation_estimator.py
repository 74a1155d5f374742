"""Estimators of adaptation are estimators like any other: scikit-learn's checks, clones, pickles, frames, histories."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator
from turning_moons import moons, turned

from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor

# partial_fit takes unlabelled batches after fit: these checks give it labels before.
EXPECTED = {
    "check_n_features_in_after_fitting": "partial_fit is for unlabelled batches",
    "check_estimators_partial_fit_n_features": "partial_fit is for unlabelled batches",
}
# What is chosen and calibrated by cross-validation, or is a forest, is not the same for weights as for repetitions; nor
# are scikit-learn's own. Besides, weights are masses here, so that regularised estimators see no more points.
BY_FOLDS = EXPECTED | {"check_sample_weight_equivalence_on_dense_data": "folds, forests and masses"}
CHECKED = [
    pytest.param(ContinuousTransportClassifier(), BY_FOLDS, marks=pytest.mark.slow),
    pytest.param(ContinuousTransportRegressor(), BY_FOLDS, marks=pytest.mark.slow),
    (ContinuousTransportClassifier(LogisticRegression()), BY_FOLDS),
    (ContinuousTransportRegressor(Ridge()), BY_FOLDS),
    (ContinuousTransportClassifier(None, hypotheses="transport"), EXPECTED),
    (ContinuousTransportRegressor(None, hypotheses="transport"), EXPECTED),
]


class TestAnEstimatorLikeAnyOther:
    @pytest.mark.parametrize(("model", "expected"), CHECKED, ids=repr)
    def test_scikit_learns_checks(self, model: object, expected: dict[str, str]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
        failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
        assert not failed
        assert sum(r["status"] == "passed" for r in results) > 30

    def test_it_is_cloned_and_pickled(self) -> None:
        X, y, batches = moons(steps=2)
        model = ContinuousTransportClassifier(LogisticRegression(), epsilon=0.2).fit(X, y).partial_fit(batches[0][0])
        assert clone(model).get_params()["estimator__C"] == 1.0
        copy = pickle.loads(pickle.dumps(model))
        B = batches[1][0]
        np.testing.assert_array_equal(copy.partial_fit(B).predict_proba(B), model.partial_fit(B).predict_proba(B))

    def test_fitting_again_forgets(self) -> None:
        X, y, batches = moons(steps=2)
        model = ContinuousTransportClassifier().fit(X, y).partial_fit(batches[0][0]).fit(X, y)
        assert model.n_steps_ == 0
        np.testing.assert_allclose(model.images_, X)
        assert model.score(X, y) == 1.0

    def test_probabilities_are_those_of_the_classes(self) -> None:
        X, y, batches = moons(steps=1)
        model = ContinuousTransportClassifier().fit(X, y)
        with pytest.raises(AttributeError, match="first partial_fit"):
            _ = model.batch_proba_
        B, z = batches[0]
        model.partial_fit(B)
        for proba in (model.predict_proba(B), model.batch_proba_):
            assert proba.shape == (50, 2)
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)
            assert np.mean(proba.argmax(axis=1) == z) > 0.9

    def test_further_points_are_carried_like_the_source(self) -> None:
        X, y, batches = moons(steps=3)
        model = ContinuousTransportClassifier().fit(X, y)
        for B, _ in batches:
            model.partial_fit(B)
        np.testing.assert_allclose(model.transform(X), model.images_, atol=1e-8)
        fresh, labels = make_moons(100, noise=0.05, random_state=99)
        assert np.abs(model.transform(fresh) - turned(fresh, 54.0)).mean() < 0.2
        assert model.score(model.transform(fresh), labels) > 0.97

    @pytest.mark.parametrize("hypotheses", ["auto", "sensors", "transport"])
    def test_the_history_is_a_table(self, hypotheses: str) -> None:
        X, y, batches = moons(steps=7)
        model = ContinuousTransportClassifier(LogisticRegression(), hypotheses=hypotheses).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if hypotheses == "sensors" else "error", AdaptationWarning)
            for B, _ in batches:
                model.partial_fit(B)
        history = model.history_
        np.testing.assert_array_equal(history["step"], np.arange(1, 8))
        assert history["converged"].all()
        assert ((history["belief"] > 0) & (history["belief"] <= 1)).all()
        by_plan = ~np.isin(history["track"], ["still", "sensors", "sensors and mix"])
        assert by_plan.any() == (hypotheses != "sensors")
        assert by_plan.all() == (hypotheses == "transport")
        assert (history["gap"][by_plan] <= 1e-5).all()
        assert np.isnan(history["misfit"][by_plan]).all()
        assert np.isnan(history["gap"][~by_plan]).all()  # no plan has answered, so that there is none to certify
        assert (history["misfit"][~by_plan] >= 0).all()
        assert np.isnan(history["signal"][:5]).all()
        assert np.isfinite(history["signal"][5:]).all()
        assert len(str(history).splitlines()) == 8
        assert set(history.to_dict()) >= {"transport", "displacement", "seconds", "drift"}
        with pytest.raises(KeyError, match="no column"):
            history["speed"]

    def test_a_regression_is_carried_too(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(300, 2))
        y = X[:, 0] + 0.5 * X[:, 1]
        model = ContinuousTransportRegressor().fit(X, y)
        for t in range(1, 9):
            B = rng.uniform(-1, 1, size=(150, 2))
            model.partial_fit(B + 0.4 * t)
            value = B[:, 0] + 0.5 * B[:, 1]
        assert model.score(B + 0.4 * 8, value) > 0.9
        assert np.corrcoef(model.batch_values_, value)[0, 1] > 0.95


def test_the_order_of_the_entries_in_memory_does_not_matter() -> None:
    X, y, batches = moons(steps=4, n=100)
    rows, columns = (
        ContinuousTransportClassifier().fit(X, y),
        ContinuousTransportClassifier().fit(np.asfortranarray(X), y),
    )
    for batch, _ in batches:
        rows.partial_fit(batch)
        columns.partial_fit(np.asfortranarray(batch))
    np.testing.assert_array_equal(rows.images_, columns.images_)
    np.testing.assert_array_equal(rows.batch_proba_, columns.batch_proba_)
    np.testing.assert_array_equal(rows.transform(X), columns.transform(np.asfortranarray(X)))


def test_frames_are_taken_with_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, batches = moons(steps=1)
    frame = pandas.DataFrame(X, columns=["east", "north"])
    model = ContinuousTransportClassifier().fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, ["east", "north"])
    assert model.partial_fit(pandas.DataFrame(batches[0][0], columns=["east", "north"])).n_steps_ == 1
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(pandas.DataFrame(batches[0][0], columns=["north", "east"]))
