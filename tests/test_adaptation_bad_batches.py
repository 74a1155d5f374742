"""Batches with missing, absurd or too few values, and parameters that do not exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from turning_moons import Array, moons, scores

from driftway import AdaptationWarning, ContinuousTransportClassifier

BAD = {
    "empty": np.empty((0, 2)),
    "empty row": np.array([[np.nan, np.nan], [1.0, 1.0]]),
    "infinite": np.array([[0.0, np.inf], [1.0, 1.0], [2.0, 3.0]]),
    "features": np.zeros((5, 3)),
    "constant": np.ones((5, 2)),
    "single": np.ones((1, 2)),
    "text": np.array([["a", "b"], ["c", "d"]]),
    "flat": np.arange(6.0),
    "far": 1e150 * np.arange(6.0).reshape(3, 2),
}


class TestBadBatches:
    def test_rows_without_any_value_take_no_part(self) -> None:
        X, y, batches = moons(steps=2, n=100)
        holes = X.copy()
        holes[::7] = np.nan
        whole = ~np.isnan(holes).any(axis=1)
        one, two = (
            ContinuousTransportClassifier(LogisticRegression()).fit(*data)
            for data in ((holes, y), (X[whole], y[whole]))
        )
        for B, _ in batches:
            gaps = B.copy()
            gaps[3] = gaps[8] = np.nan
            kept = ~np.isnan(gaps).any(axis=1)
            one.partial_fit(gaps)
            two.partial_fit(B[kept])
            np.testing.assert_array_equal(one.predict_proba(B), two.predict_proba(B))
            np.testing.assert_array_equal(one.batch_proba_[kept], two.batch_proba_)
            np.testing.assert_array_equal(one.batch_proba_[~kept], 0.5)
        assert list(one.history_["size"]) == [50, 50]

    def test_missing_numbers_are_medians_of_the_source_and_of_the_batch(self) -> None:
        X, y, batches = moons(steps=2, n=100)
        one, two = (ContinuousTransportClassifier(LogisticRegression(), hypotheses="sensors") for _ in range(2))
        holes, rng = X.copy(), np.random.default_rng(0)
        holes[rng.random(X.shape) < 0.1] = np.nan
        empty = np.isnan(holes).all(axis=1)  # rows without any value would be left out
        holes[empty] = X[empty]
        one.fit(holes, y)
        two.fit(np.where(np.isnan(holes), np.nanmedian(holes, axis=0), holes), y)
        for number, (B, _) in enumerate(batches):
            gaps = B.copy()
            gaps[3, 0] = gaps[8, 1] = np.nan
            one.partial_fit(gaps)
            two.partial_fit(np.where(np.isnan(gaps), np.nanmedian(gaps, axis=0), gaps))
            np.testing.assert_array_equal(one.predict_proba(B), two.predict_proba(B))
            assert one.history_["missing"].tolist() == [2] * (number + 1)
        assert "2 cells of the last batch had no value" in one.explain()
        assert one.columns_.missing == {f"feature {j}": n for j, n in enumerate(np.isnan(holes).sum(axis=0))}

    def test_a_column_without_values_is_what_it_was_and_said(self) -> None:
        X, y, batches = moons(steps=1, n=100)
        model = ContinuousTransportClassifier(LogisticRegression(), hypotheses="sensors").fit(X, y)
        gaps = batches[0][0].copy()
        gaps[:, 1] = np.nan
        with pytest.warns(AdaptationWarning, match="feature 1 has no value in the batch"):
            model.partial_fit(gaps)
        assert np.isfinite(model.predict_proba(gaps)).all()
        holes = X.copy()
        holes[:, 0] = np.nan
        with pytest.raises(ValueError, match="must have a value in every column, but 'feature 0' has none"):
            model.fit(holes, y)

    def test_missing_values_are_answered_by_what_is_usual_now(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(120) % 2
        X = rng.normal(size=(120, 3)) + 4.0 * y[:, None] * [1, 0, 0]
        for hypotheses in ("auto", "transport"):
            model = ContinuousTransportClassifier(LogisticRegression(), hypotheses=hypotheses).fit(X, y)
            for t in (1, 2):
                model.partial_fit(X + 0.4 * t)
            gaps = X + 0.8
            gaps[::5, 1] = np.nan  # a feature that the classes do not differ in
            filled = np.where(np.isnan(gaps), np.median(model.images_, axis=0), gaps)
            np.testing.assert_array_equal(model.predict_proba(gaps), model.predict_proba(filled))
            np.testing.assert_array_equal(model.encode(gaps), filled)
            assert np.isfinite(model.predict_proba(np.full((1, 3), np.nan))).all()
            assert np.mean(model.predict(gaps) == y) > 0.95
            for carried in (model.transform(gaps), model.inverse_transform(gaps)):
                np.testing.assert_array_equal(np.isnan(carried), np.isnan(gaps))

    @pytest.mark.parametrize("name", BAD)
    def test_they_raise_and_change_nothing(self, name: str, tmp_path: Path) -> None:
        X, y, batches = moons(steps=3)
        model = ContinuousTransportClassifier().fit(X, y).partial_fit(batches[0][0])
        model.save(tmp_path / "before")
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(BAD[name])
        model.save(tmp_path / "after")
        assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
        assert scores(model, batches[1:])[-1] > 0.9

    @pytest.mark.parametrize("name", BAD)
    def test_or_are_skipped_with_a_warning(self, name: str) -> None:
        X, y, batches = moons(steps=2)
        model = ContinuousTransportClassifier(on_bad_batch="skip").fit(X, y).partial_fit(batches[0][0])
        images = model.images_
        with pytest.warns(AdaptationWarning, match="nothing was changed"):
            model.partial_fit(BAD[name])
        np.testing.assert_array_equal(model.images_, images)
        assert (model.n_steps_, model.n_seen_) == (1, 2)

    def test_duplicates_and_other_types_are_fine(self) -> None:
        X, y, batches = moons(steps=1)
        B, z = batches[0]
        model = ContinuousTransportClassifier().fit(X, y)
        assert model.partial_fit(np.repeat(B, 3, axis=0).astype(np.float32)).score(B, z) > 0.9

    def test_an_estimator_that_cannot_be_trained_changes_nothing(self, tmp_path: Path) -> None:
        class Fussy(KNeighborsClassifier):
            def fit(self, X: Array, y: Array) -> Fussy:
                if X[:, 0].mean() > 1.0:
                    raise ValueError("not there")
                return super().fit(X, y)

        X, y, _ = moons(steps=1)
        model = ContinuousTransportClassifier(Fussy(1), stay=False).fit(X, y)
        images = model.images_
        with pytest.raises(ValueError, match="not there"):
            model.partial_fit(X + 9.0)
        assert (model.n_steps_, model.n_seen_) == (0, 0)
        np.testing.assert_array_equal(model.images_, images)

    def test_a_batch_of_one_class_still_trains_a_classifier(self) -> None:
        X, y = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [50.0, 50.0]]), np.array([0, 0, 0, 1])
        model = ContinuousTransportClassifier(LogisticRegression(), labels="plan", marginals="estimated", stay=False)
        model.fit(X, y).partial_fit(X[:3] + 0.01)
        assert set(model.batch_proba_.argmax(axis=1)) == {0}
        assert (model.predict(X[:3]) == 0).all()

    def test_labels_of_a_batch_are_not_looked_at(self) -> None:
        X, y, batches = moons(steps=1)
        B, z = batches[0]
        one, two = (ContinuousTransportClassifier().fit(X, y).partial_fit(B, labels) for labels in (None, 1 - z))
        np.testing.assert_array_equal(one.predict(B), two.predict(B))

    @pytest.mark.parametrize(
        ("parameter", "value"),
        [
            ("cost", "dynamic"),
            ("epsilon", 0.0),
            ("time_weight", -1.0),
            ("map", "cubic"),
            ("motion", 3),
            ("labels", "votes"),
            ("source", "fresh"),
            ("marginals", "free"),
            ("scale", "robust"),
            ("on_bad_batch", "ignore"),
            ("tol", 0.0),
            ("stay", "no"),
        ],
    )
    def test_errors_name_the_parameter(self, parameter: str, value: object) -> None:
        X, y, _ = moons(steps=1)
        extra = {"motion": "affine"} if parameter == "map" else {"map": "affine"} if parameter == "motion" else {}
        with pytest.raises((ValueError, TypeError), match=parameter):
            ContinuousTransportClassifier(**({parameter: value} | extra)).fit(X, y)
