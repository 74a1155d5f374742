"""Continuous adaptation: it stays right, harms nobody, and is an estimator like any other."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from driftway import (
    AdaptationWarning,
    CircularScore,
    ContinuousTransportClassifier,
    ContinuousTransportRegressor,
    PointCloudCost,
    adapt_stream,
)
from driftway.adaptation import persistence
from driftway.adaptation.energy import energy_distance
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap
from driftway.adaptation.marginals import Estimated, class_masses
from driftway.adaptation.motion import AffineMotion
from driftway.adaptation.scaling import fit_scaling
from driftway.adaptation.source.automatic import AutomaticClassifier

Array = np.ndarray
PAPER = {
    "metric": "euclidean",
    "epsilon": 0.4,
    "relative_epsilon": False,
    "time_weight": 0.3,
    "map": "barycentric",
    "motion": None,
    "labels": "classifier",
    "scale": None,
    "stay": False,
}


def turned(X: Array, degrees: float) -> Array:
    t, centre = np.deg2rad(degrees), np.array([0.5, 0.25])
    return (X - centre) @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) + centre


def moons(
    steps: int = 20, degrees: float = 18.0, n: int = 300, m: int = 50, seed: int = 0, noise: float = 0.05
) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    """A source, and batches with the labels that nobody sees."""
    X, y = make_moons(n, noise=noise, random_state=seed)
    batches = [make_moons(m, noise=noise, random_state=1000 * seed + t) for t in range(1, steps + 1)]
    return X, y, [(turned(B, degrees * (t + 1)), z) for t, (B, z) in enumerate(batches)]


def scores(model: ContinuousTransportClassifier, batches: list[tuple[Array, Array]]) -> list[float]:
    return [model.partial_fit(B).score(B, z) for B, z in batches]


class TestItStaysRight:
    @pytest.mark.parametrize("setting", [{}, {"degrees": 36.0}, {"m": 20}, {"noise": 0.15}], ids=str)
    def test_the_default_follows_turning_moons(self, setting: dict) -> None:
        X, y, batches = moons(**setting)
        found = scores(ContinuousTransportClassifier().fit(X, y), batches)
        assert np.mean(found) > 0.95
        assert KNeighborsClassifier(1).fit(X, y).score(*batches[3]) < 0.9

    def test_the_method_of_the_paper_follows_them_too(self) -> None:
        X, y, batches = moons()
        assert np.mean(scores(ContinuousTransportClassifier(**PAPER).fit(X, y), batches)) > 0.97

    def test_a_static_cost_loses_them(self) -> None:
        X, y, batches = moons()
        static = ContinuousTransportClassifier(**(PAPER | {"cost": "static", "time_weight": 0.0})).fit(X, y)
        assert np.mean(scores(static, batches)) < 0.8

    @pytest.mark.parametrize("extra", [{"time_weight": 0.0, "label_weight": 0.02}, {"label_weight": 0.02}], ids=str)
    def test_the_class_regulariser_is_solved_and_certified(self, extra: dict) -> None:
        X, y, batches = moons(steps=4)
        model = ContinuousTransportClassifier(**(PAPER | extra)).fit(X, y)
        assert min(scores(model, batches)) > 0.9
        assert model.history_["converged"].all()

    def test_classes_that_cross_are_told_apart_by_their_motion(self) -> None:
        rng = np.random.default_rng(0)

        def sample(t: int) -> tuple[Array, Array]:
            labels = np.repeat([0, 1], 150)
            middle = np.where(labels[:, None] == 0, [-4 + 0.2 * t, 0], [4 - 0.2 * t, 0])
            return middle + rng.normal(size=(300, 2)) * [0.8, 1.0], labels

        model = ContinuousTransportClassifier(map="barycentric", motion="classes").fit(*sample(0))
        batches = [sample(t) for t in range(1, 41)]
        assert np.mean(scores(model, batches)[-8:]) > 0.95
        resting = ContinuousTransportClassifier(map="barycentric", motion=None).fit(*sample(0))
        assert np.mean(scores(resting, batches)[-8:]) < 0.8

    @pytest.mark.parametrize("choice", ["affine", "kernel", "barycentric"])
    @pytest.mark.parametrize("motion", [None, "affine", "classes"])
    def test_maps_and_motions_are_chosen_by_name(self, choice: str, motion: str | None) -> None:
        X, y, batches = moons(steps=3, degrees=8.0)
        model = ContinuousTransportClassifier(map=choice, motion=motion).fit(X, y)
        assert min(scores(model, batches)) > 0.9
        assert set(model.history_["track"]) == {"given"}

    def test_a_renewed_source_is_the_batch(self) -> None:
        X, y, batches = moons(steps=4, m=60)
        model = ContinuousTransportClassifier(source="renewed").fit(X, y)
        assert min(scores(model, batches)) > 0.9
        np.testing.assert_allclose(model.images_, batches[-1][0])
        with pytest.raises(ValueError, match="renewed"):
            model.transform(X)

    def test_multiplying_all_features_changes_nothing(self) -> None:
        X, y, batches = moons(steps=5)
        small, large = (
            ContinuousTransportClassifier(time_weight=0.3, label_weight=0.01).fit(c * X, y) for c in (1, 1e3)
        )
        for B, _ in batches:
            np.testing.assert_array_equal(small.partial_fit(B).predict(B), large.partial_fit(1e3 * B).predict(1e3 * B))
        np.testing.assert_allclose(large.images_, 1e3 * small.images_, rtol=1e-4)

    def test_weights_are_masses(self) -> None:
        X, y, batches = moons(steps=2)
        doubled = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])
        weights = np.ones(len(X))
        weights[:40] = 2.0
        kinds = {"map": "affine", "motion": "affine", "scale": None, "tol": 1e-9}
        one = ContinuousTransportClassifier(**kinds).fit(X, y, sample_weight=weights)
        two = ContinuousTransportClassifier(**kinds).fit(*doubled)
        for B, _ in batches:
            one.partial_fit(B)
            two.partial_fit(B)
        np.testing.assert_allclose(one.images_, two.images_[: len(X)], atol=1e-5)


class TestDoNoHarm:
    def test_without_drift_it_stays_with_the_source(self) -> None:
        rng = np.random.default_rng(1)
        y = np.arange(300) % 2
        X = rng.normal(size=(300, 2)) + 2.5 * y[:, None]
        model = ContinuousTransportClassifier(clusters=False).fit(X, y)
        for _ in range(12):
            model.partial_fit(rng.normal(size=(300, 2)) + 2.5 * y[:, None])
        assert np.mean(model.history_["answer"] == "source") > 0.5
        assert (model.history_["drift"] < 3).all()

    def test_another_mix_of_classes_is_no_drift(self) -> None:
        rng = np.random.default_rng(3)
        y = np.arange(300) % 2
        X = rng.normal(size=(300, 2)) + 3.0 * y[:, None]
        model, static = ContinuousTransportClassifier(clusters=False).fit(X, y), AutomaticClassifier().fit(X, y)
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            for share in np.linspace(0.5, 0.05, 12):
                z = (rng.random(300) < share).astype(int)
                B = rng.normal(size=(300, 2)) + 3.0 * z[:, None]
                found.append(model.partial_fit(B).score(B, z) - static.score(B, z))
        # Corrected for the mix it is better than the source's own answer, and in no batch clearly worse.
        assert np.mean(found) > 0.0
        assert min(found) > -0.02
        assert np.mean(model.history_["answer"] == "source") > 0.5

    def test_a_shift_of_the_classes_warns_and_can_be_estimated(self) -> None:
        rng = np.random.default_rng(2)
        y = np.repeat([0, 1], 100)
        X = rng.normal(size=(200, 2)) + 6.0 * y[:, None]
        z = np.repeat([0, 1], [180, 20])
        B = rng.normal(size=(200, 2)) + 6.0 * z[:, None]
        balanced = ContinuousTransportClassifier(labels="plan", stay=False).fit(X, y)
        with pytest.warns(AdaptationWarning, match="changed class"):
            balanced.partial_fit(B)
        estimated = ContinuousTransportClassifier(labels="plan", marginals="estimated", stay=False).fit(X, y)
        estimated.partial_fit(B)
        assert np.mean(balanced.batch_proba_.argmax(axis=1) == z) < 0.75
        assert np.mean(estimated.batch_proba_.argmax(axis=1) == z) > 0.98
        assert balanced.history_["class_shift"][0] == pytest.approx(0.4, abs=0.05)

    def test_a_plan_that_denies_a_batch_of_one_class_is_not_believed(self) -> None:
        rng = np.random.default_rng(5)
        centres, y = 8.0 * np.stack([np.arange(6) % 3, np.arange(6) // 3], axis=1), np.arange(300) % 6
        z = np.zeros(200, dtype=int)
        X, B = centres[y] + rng.normal(size=(300, 2)), centres[z] + rng.normal(size=(200, 2))
        for stay in (True, False):
            model = ContinuousTransportClassifier(None, hypotheses="transport", clusters=False, stay=stay).fit(X, y)
            with pytest.warns(AdaptationWarning, match="changed class"):
                model.partial_fit(B)
            assert model.history_[-1].answer == ("source" if stay else "adapted")
            assert (model.score(B, z) > 0.95) == stay

    def test_a_jump_is_unusual(self) -> None:
        X, y, batches = moons(steps=8, degrees=3.0, m=150)
        model = ContinuousTransportClassifier().fit(X, y)
        for B, _ in batches:
            model.partial_fit(B)
        assert not any(model.history_["warning"])
        with pytest.warns(AdaptationWarning, match="standard deviations"):
            model.partial_fit(batches[-1][0] + 5.0)

    def test_an_unsolved_plan_warns(self) -> None:
        X, y, batches = moons(steps=1)
        kinds = {"hypotheses": "transport", "epsilon": 1e-4, "tol": 1e-13, "solver_iterations": 1}
        model = ContinuousTransportClassifier(**kinds).fit(X, y)
        with pytest.warns(AdaptationWarning, match="not solved"):
            model.partial_fit(batches[0][0])


BAD = {
    "empty": np.empty((0, 2)),
    "nan": np.array([[0.0, np.nan], [1.0, 1.0]]),
    "infinite": np.array([[0.0, np.inf], [1.0, 1.0], [2.0, 3.0]]),
    "features": np.zeros((5, 3)),
    "constant": np.ones((5, 2)),
    "single": np.ones((1, 2)),
    "text": np.array([["a", "b"], ["c", "d"]]),
    "flat": np.arange(6.0),
}


class TestBadBatches:
    def test_rows_with_missing_values_take_no_part(self) -> None:
        X, y, batches = moons(steps=2, n=100)
        holes = X.copy()
        holes[::7, 1] = np.nan
        whole = ~np.isnan(holes).any(axis=1)
        one, two = (
            ContinuousTransportClassifier(LogisticRegression()).fit(*data)
            for data in ((holes, y), (X[whole], y[whole]))
        )
        for B, _ in batches:
            gaps = B.copy()
            gaps[3, 0] = gaps[8] = np.nan
            kept = ~np.isnan(gaps).any(axis=1)
            one.partial_fit(gaps)
            two.partial_fit(B[kept])
            np.testing.assert_array_equal(one.predict_proba(B), two.predict_proba(B))
            np.testing.assert_array_equal(one.batch_proba_[kept], two.batch_proba_)
            np.testing.assert_array_equal(one.batch_proba_[~kept], 0.5)
        assert list(one.history_["size"]) == [50, 50]

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
            filled = np.where(np.isnan(gaps), model.images_.mean(axis=0), gaps)
            np.testing.assert_array_equal(model.predict_proba(gaps), model.predict_proba(filled))
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


class TestStateOnDisk:
    def test_a_stream_resumes_with_the_same_bits(self, tmp_path: Path) -> None:
        X, y, batches = moons(steps=8)
        points = [B for B, _ in batches]
        whole = [a.predicted for a in adapt_stream(ContinuousTransportClassifier().fit(X, y), points)]
        for stop in (1, 5, 7):
            state = tmp_path / f"{stop}"
            for count, _ in enumerate(adapt_stream(ContinuousTransportClassifier().fit(X, y), points, state=state), 1):
                if count == stop:
                    break
            rest = list(adapt_stream(ContinuousTransportClassifier().fit(X, y), points, state=state))
            assert len(rest) == 8 - stop
            for expected, adapted in zip(whole[stop:], rest, strict=True):
                np.testing.assert_array_equal(adapted.predicted, expected)

    def test_a_loaded_estimator_is_the_same(self, tmp_path: Path) -> None:
        X, y, batches = moons(steps=3)
        names = np.array(["left", "right"], dtype=object)[y]
        model = ContinuousTransportClassifier(
            LogisticRegression(C=3.0), map=KernelMap(0.4), motion=AffineMotion(0.5), labels="plan"
        ).fit(X, names)
        for B, _ in batches[:2]:
            model.partial_fit(B)
        model.save(tmp_path / "state")
        again = ContinuousTransportClassifier.load(tmp_path / "state")
        assert again.get_params(deep=False)["map"] == KernelMap(0.4)
        assert again.estimator.C == 3.0
        assert str(again.history_) == str(model.history_)
        B = batches[2][0]
        np.testing.assert_array_equal(again.partial_fit(B).predict_proba(B), model.partial_fit(B).predict_proba(B))
        np.testing.assert_array_equal(again.predict(B), model.predict(B))

    def test_notes_are_kept_with_the_state(self, tmp_path: Path) -> None:
        X, y, _ = moons(steps=0, n=40)
        model = ContinuousTransportClassifier().fit(X, y)
        model.save(tmp_path / "state", notes={"done": ["a.csv"], "classes": 2})
        assert persistence.read_notes(tmp_path / "state") == {"done": ["a.csv"], "classes": 2}
        model.save(tmp_path / "state")
        assert persistence.read_notes(tmp_path / "state") == {}

    def test_a_write_that_fails_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y, batches = moons(steps=1)
        model = ContinuousTransportClassifier().fit(X, y)
        model.save(tmp_path / "state")
        before = (tmp_path / "state").read_bytes()
        model.partial_fit(batches[0][0])

        def fail(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            model.save(tmp_path / "state")
        assert (tmp_path / "state").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["state"]

    def test_damage_and_foreign_files_are_named(self, tmp_path: Path) -> None:
        X, y, _ = moons(steps=1)
        path = tmp_path / "state"
        ContinuousTransportClassifier().fit(X, y).save(path)
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", b"text", whole[:2000] + b"\0" * 64 + whole[2064:]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="damaged"):
                ContinuousTransportClassifier.load(path)
        with path.open("wb") as file:
            np.savez(file, X=X)
        with pytest.raises(ValueError, match="not saved by driftway"):
            ContinuousTransportClassifier.load(path)
        persistence.write(path, {"version": 99}, {})
        with pytest.raises(ValueError, match="upgrade"):
            ContinuousTransportClassifier.load(path)
        with pytest.raises(FileNotFoundError, match="no saved state"):
            ContinuousTransportClassifier.load(tmp_path / "nothing")
        ContinuousTransportRegressor().fit(X, X[:, 0]).save(path)
        with pytest.raises(ValueError, match="ContinuousTransportRegressor"):
            ContinuousTransportClassifier.load(path)

    def test_objects_of_the_user_are_given_again(self, tmp_path: Path) -> None:
        class Mine:
            def images(self, points: Array, barycentric: Array, weights: Array, size: int) -> Array:
                return barycentric

        X, y, batches = moons(steps=1)
        model = ContinuousTransportClassifier(map=Mine(), motion=None).fit(X, y).partial_fit(batches[0][0])
        model.save(tmp_path / "state")
        with pytest.raises(ValueError, match="pass map=… to load"):
            ContinuousTransportClassifier.load(tmp_path / "state")
        again = ContinuousTransportClassifier.load(tmp_path / "state", map=Mine())
        np.testing.assert_array_equal(again.images_, model.images_)


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
