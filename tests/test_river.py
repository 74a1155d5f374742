"""The river wrapper: labels that cease, batches that drift, and river's own checks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import driftway

pytest.importorskip("river")
pytest.importorskip("pandas")

import pandas as pd
from river import base, checks, compose, evaluate, metrics, naive_bayes, preprocessing, stream

from driftway.river import ContinuousTransportClassifier, ContinuousTransportRegressor

Frame = Any
MODELS = [
    pytest.param(ContinuousTransportClassifier(), marks=pytest.mark.slow, id="classifier"),
    pytest.param(ContinuousTransportRegressor(), id="regressor"),
]


def moons(step: int, degrees: float = 18.0, m: int = 60) -> tuple[Frame, Frame]:
    """A batch of turning moons, with names and labels."""
    X, y = make_moons(200 if step == 0 else m, noise=0.05, random_state=step)
    t = np.deg2rad(degrees * step)
    turned = (X - [0.5, 0.25]) @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
    return pd.DataFrame(turned, columns=["east", "north"]), pd.Series(np.array(["upper", "lower"])[y])


@pytest.mark.parametrize("model", MODELS)
def test_rivers_checks(model: base.Estimator) -> None:
    """All of them: nothing is skipped, as some of river's own models ask to."""
    names = []
    with threadpool_limits(1):
        for check in checks.yield_checks(model):
            check(model.clone())
            names.append(check.__name__)
    assert {"check_learn_many_matches_learn_one", "check_predict_many_matches_predict_one"} < set(names)


class TestAStreamWhoseLabelsCease:
    def test_batches_are_followed(self) -> None:
        model, still = ContinuousTransportClassifier(), naive_bayes.GaussianNB()
        model.learn_many(*moons(0))
        still.learn_many(*moons(0))
        found, lost = [], []
        for step in range(1, 11):
            X, y = moons(step)
            model.learn_many(X)
            found.append((model.predict_many(X) == y).mean())
            lost.append((still.predict_many(X) == y).mean())
        assert np.mean(found) > 0.97
        assert np.mean(lost) < 0.7
        assert model.transport_.n_steps_ == 10

    def test_it_is_the_estimator_of_driftway(self) -> None:
        X, y = moons(0)
        transport = driftway.ContinuousTransportClassifier(LogisticRegression(), epsilon=0.2)
        model = ContinuousTransportClassifier(transport)
        model.learn_many(X, y)
        reference = driftway.ContinuousTransportClassifier(LogisticRegression(), epsilon=0.2).fit(X.to_numpy(), y)
        for step in (1, 2, 3):
            batch, _ = moons(step)
            model.learn_many(batch)
            reference.partial_fit(batch.to_numpy())
        np.testing.assert_array_equal(model.predict_many(batch), reference.predict(batch.to_numpy()))
        proba = model.predict_proba_many(batch)
        np.testing.assert_allclose(proba[list(reference.classes_)], reference.predict_proba(batch.to_numpy()))
        assert not hasattr(transport, "history_")  # the one that was given stays as it is

    def test_rows_one_by_one_are_gathered_into_batches(self) -> None:
        one, many = ContinuousTransportClassifier(batch_size=60), ContinuousTransportClassifier()
        for x, label in stream.iter_frame(*moons(0)):
            one.learn_one(x, label)
        many.learn_many(*moons(0))
        for step in range(1, 4):
            X, _ = moons(step)
            for x, _ in stream.iter_frame(X):
                one.learn_one(x)
            many.learn_many(X)
            assert one.transport_.n_steps_ == step
        np.testing.assert_array_equal(one.predict_proba_many(X), many.predict_proba_many(X))
        x = X.iloc[0].to_dict()
        assert one.predict_one(x) == many.predict_many(X).iloc[0]
        assert one.predict_proba_one(x) == many.predict_proba_many(X).iloc[0].to_dict()

    def test_labels_that_come_again_join_the_source_where_it_is_now(self) -> None:
        model = ContinuousTransportClassifier()
        model.learn_many(*moons(0))
        for step in range(1, 7):
            model.learn_many(moons(step)[0])
        before = model.transport_.images_
        X, y = moons(6, m=10)
        model.learn_many(X, y)
        assert model.transport_.n_steps_ == 0
        np.testing.assert_allclose(model.transport_.images_, np.vstack([before, X]))
        for step in range(7, 11):
            X, y = moons(step)
            model.learn_many(X)
            assert (model.predict_many(X) == y).mean() > 0.95

    def test_a_new_class_may_come_with_later_labels(self) -> None:
        model = ContinuousTransportClassifier()
        model.learn_many(*moons(0))
        model.learn_many(moons(1)[0])
        far = pd.DataFrame({"east": [20.0, 20.1], "north": [20.0, 20.0]})
        model.learn_many(far, pd.Series(["new", "new"]))
        assert model.predict_many(far).tolist() == ["new", "new"]
        assert set(model.predict_proba_many(far).columns) == {"upper", "lower", "new"}

    def test_the_source_is_a_window(self) -> None:
        model = ContinuousTransportClassifier(window_size=50)
        X, y = moons(0)
        model.learn_many(X, y)
        np.testing.assert_allclose(model.transport_.images_, X.to_numpy()[-50:], atol=1e-12)

    def test_a_regression(self) -> None:
        rng = np.random.default_rng(0)
        model = ContinuousTransportRegressor(batch_size=100)
        for step in range(8):
            X = rng.uniform(-1, 1, size=(200, 2))
            y = pd.Series(X[:, 0] + 0.5 * X[:, 1])
            frame = pd.DataFrame(X + 0.4 * step, columns=["a", "b"])
            model.learn_many(frame, y) if step == 0 else model.learn_many(frame)
        assert np.corrcoef(model.predict_many(frame), y)[0, 1] > 0.95
        assert model.predict_one(frame.iloc[3].to_dict()) == model.predict_many(frame).iloc[3]


class TestRiversManners:
    def test_frames_of_every_library_and_their_index(self) -> None:
        pl = pytest.importorskip("polars")
        X, y = moons(0)
        model = ContinuousTransportClassifier()
        model.learn_many(
            pl.DataFrame({"north": X["north"].to_list(), "east": X["east"].to_list()}), pl.Series(y.to_list())
        )
        batch = moons(1)[0].set_index(np.arange(500, 560))
        model.learn_many(batch)
        assert list(model.predict_many(batch).index) == list(batch.index)
        assert list(model.predict_proba_many(batch).index) == list(batch.index)
        found = model.predict_many(pl.DataFrame({name: batch[name].to_list() for name in batch}))
        assert isinstance(found, pl.Series)
        assert found.to_list() == model.predict_many(batch).to_list()

    def test_pipelines_pass_batches_on(self) -> None:
        model = preprocessing.StandardScaler() | ContinuousTransportClassifier()
        assert isinstance(model, compose.Pipeline)
        model.learn_many(*moons(0))
        for step in range(1, 5):
            X, y = moons(step, degrees=6.0)
            model.learn_many(X)
        assert model["ContinuousTransportClassifier"].transport_.n_steps_ == 4
        assert (model.predict_many(X) == y).mean() > 0.95

    def test_progressive_validation_with_labels(self) -> None:
        with threadpool_limits(1):
            score = evaluate.progressive_val_score(
                stream.iter_frame(*moons(0)), ContinuousTransportClassifier(), metrics.Accuracy()
            )
        assert score.get() > 0.9

    def test_features_may_be_missing_or_new(self) -> None:
        model = ContinuousTransportClassifier()
        X, y = moons(0)
        model.learn_many(X, y)
        batch = moons(1)[0].assign(extra=1.0)
        expected = model.predict_many(moons(1)[0])
        assert model.predict_many(batch[["extra", "north", "east"]]).equals(expected)
        lacking = model.predict_many(batch[["east"]])
        assert lacking.equals(model.predict_many(batch[["east"]].assign(north=X["north"].mean())))

    def test_it_is_pickled_with_its_state(self) -> None:
        model = ContinuousTransportClassifier()
        model.learn_many(*moons(0))
        model.learn_many(moons(1)[0])
        again = pickle.loads(pickle.dumps(model))
        X, _ = moons(2)
        model.learn_many(X)
        again.learn_many(X)
        np.testing.assert_array_equal(model.predict_proba_many(X), again.predict_proba_many(X))


class TestBadInput:
    def test_unlabelled_rows_need_a_source(self) -> None:
        X, _ = moons(1)
        with pytest.raises(ValueError, match="labelled"):
            ContinuousTransportClassifier().learn_many(X)
        with pytest.raises(ValueError, match="labelled"):
            ContinuousTransportClassifier().learn_one({"east": 1.0, "north": 2.0})

    def test_labelled_rows_must_be_finite(self) -> None:
        X, y = moons(0)
        model = ContinuousTransportClassifier()
        with pytest.raises(ValueError, match="finite"):
            model.learn_many(X.where(X["east"] > 0), y)
        assert not hasattr(model, "transport_")
        with pytest.raises(ValueError, match="y must be finite"):
            ContinuousTransportRegressor().learn_many(X, pd.Series(np.full(len(X), np.nan)))
        with pytest.raises(ValueError, match="one label for each"):
            model.learn_many(X, y[:-1])
        with pytest.raises(ValueError, match="no missing labels"):
            model.learn_many(X, y.where(X["east"] > 0))
        assert model.classes_ == []

    def test_bad_batches_raise_or_are_skipped_and_change_nothing(self) -> None:
        X, y = moons(0)
        bad = moons(1)[0].where(lambda frame: frame > 0, np.inf)
        skipping = ContinuousTransportClassifier(driftway.ContinuousTransportClassifier(on_bad_batch="skip"))
        raising = ContinuousTransportClassifier()
        for model in (skipping, raising):
            model.learn_many(X, y)
        before = [model.transport_.images_ for model in (raising, skipping)]
        with pytest.raises(ValueError, match="infinity"):
            raising.learn_many(bad)
        with pytest.warns(driftway.AdaptationWarning, match="nothing was changed"):
            skipping.learn_many(bad)
        np.testing.assert_array_equal(raising.transport_.images_, before[0])
        np.testing.assert_array_equal(skipping.transport_.images_, before[1])

    @pytest.mark.parametrize(
        ("parameter", "value", "error"),
        [
            ("batch_size", 1, ValueError),
            ("window_size", -3, ValueError),
            ("transport", LogisticRegression(), TypeError),
            ("transport", driftway.ContinuousTransportRegressor(), TypeError),
        ],
        ids=str,
    )
    def test_errors_name_the_parameter(self, parameter: str, value: object, error: type[Exception]) -> None:
        with pytest.raises(error, match=parameter):
            ContinuousTransportClassifier(**{parameter: value})
