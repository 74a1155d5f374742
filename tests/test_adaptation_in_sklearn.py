"""The estimators among scikit-learn's tools: pipelines, searches, output containers, metadata routing, its checks."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from driftway import CircularScore, ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation import DomainTransportClassifier, DomainTransportRegressor

Array = np.ndarray
CENTRE = np.array([0.5, 0.25])


def turned(X: Array, degrees: float) -> Array:
    t = np.deg2rad(degrees)
    return (X - CENTRE) @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) + CENTRE


def moons(steps: int = 6, m: int = 60) -> tuple[Array, Array, Array]:
    """A source of label 1 and targets −1, −2, … that turn by 18° each; labels of all."""
    parts = [make_moons(200 if t == 0 else m, noise=0.05, random_state=t) for t in range(steps + 1)]
    X = np.vstack([turned(B, 18.0 * t) for t, (B, _) in enumerate(parts)])
    domain = np.concatenate([np.full(len(z), -t if t else 1) for t, (_, z) in enumerate(parts)])
    return X, np.concatenate([z for _, z in parts]), domain


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class TestPipelines:
    def test_the_last_step_adapts_to_what_the_others_make_of_a_batch(self) -> None:
        X, y, domain = moons()
        wide = np.column_stack([X, np.zeros(len(X))])
        model = make_pipeline(PCA(2), ContinuousTransportClassifier()).fit(wide[domain > 0], y[domain > 0])
        for t in range(1, 7):
            rows = domain == -t
            model[-1].partial_fit(model[:-1].transform(wide[rows]))
            assert model.score(wide[rows], y[rows]) > 0.95
        assert model[-1].n_steps_ == 6

    def test_it_transforms_in_the_middle_of_one(self) -> None:
        X, y, domain = moons(steps=1)
        source = domain > 0
        model = make_pipeline(ContinuousTransportClassifier(), KNeighborsClassifier(1)).fit(X[source], y[source])
        assert model.score(X[source], y[source]) == 1.0

    def test_within_a_stack(self) -> None:
        X, y, domain = moons(steps=1)
        source = domain > 0
        stack = StackingClassifier([("drift", ContinuousTransportClassifier()), ("logit", LogisticRegression())])
        assert stack.fit(X[source], y[source]).score(X[source], y[source]) > 0.95


class TestSearches:
    @pytest.mark.parametrize("routed", [False, True])
    def test_circular_validation_chooses_in_a_grid(self, routed: bool) -> None:
        X, y, domain = moons()
        source, everything = domain > 0, np.arange(200)
        score = CircularScore([X[domain == -t] for t in range(1, 7)])
        with sklearn.config_context(enable_metadata_routing=routed):
            search = GridSearchCV(
                ContinuousTransportClassifier(map="affine", motion="affine"),
                {"epsilon": [0.1, 100.0]},
                scoring=score,
                cv=[(everything, everything)],
            ).fit(X[source], y[source])
        assert search.best_params_ == {"epsilon": 0.1}
        assert search.best_score_ > 0.95

    @pytest.mark.filterwarnings("ignore::driftway.AdaptationWarning")  # on one component the moons overlap
    def test_and_in_a_grid_over_a_pipeline(self) -> None:
        X, y, domain = moons(steps=4)
        source, everything = domain > 0, np.arange(200)
        wide = np.column_stack([10 * X, np.zeros(len(X))])
        pipeline = Pipeline([("reduce", PCA()), ("adapt", ContinuousTransportClassifier())])
        search = GridSearchCV(
            pipeline,
            {"reduce__n_components": [1, 2]},
            scoring=CircularScore([wide[domain == -t] for t in range(1, 5)]),
            cv=[(everything, everything)],
            error_score="raise",
        ).fit(wide[source], y[source])
        assert search.best_params_ == {"reduce__n_components": 2}
        assert search.best_score_ > 0.95
        assert len(search.best_estimator_.predict(wide)) == len(wide)

    def test_cross_validation_splits_the_source(self) -> None:
        X, y, domain = moons(steps=1)
        scores = cross_validate(ContinuousTransportClassifier(), X[domain > 0], y[domain > 0], cv=3)["test_score"]
        assert scores.min() > 0.95


class TestOutputContainers:
    @pytest.mark.parametrize("container", ["pandas", "polars"])
    def test_images_come_with_their_names(self, container: str) -> None:
        library = pytest.importorskip(container)
        X, y, domain = moons(steps=2)
        frame = library.DataFrame(dict(zip(["east", "north"], X[domain > 0].T, strict=True)))
        model = ContinuousTransportClassifier().fit(frame, y[domain > 0])
        for t in (1, 2):
            model.partial_fit(library.DataFrame(dict(zip(["east", "north"], X[domain == -t].T, strict=True))))
        plain = model.transform(frame)
        named = model.set_output(transform=container).transform(frame)
        assert isinstance(named, library.DataFrame)
        assert list(named.columns) == ["east", "north"] == list(model.get_feature_names_out())
        np.testing.assert_array_equal(named.to_numpy(), plain)
        np.testing.assert_allclose(plain, model.images_, atol=1e-12)

    def test_there_and_back_again(self) -> None:
        X, y, domain = moons(steps=3)
        source = X[domain > 0]
        model = ContinuousTransportClassifier().fit(source, y[domain > 0])
        for t in (1, 2, 3):
            model.partial_fit(X[domain == -t])
        np.testing.assert_allclose(model.inverse_transform(model.images_), source, atol=1e-9)
        back = model.inverse_transform(X[domain == -3])
        truth = turned(X[domain == -3], -54.0)
        assert np.abs(back - truth).mean() < np.abs(X[domain == -3] - truth).mean() / 3
        renewed = (
            ContinuousTransportClassifier(source="renewed").fit(source, y[domain > 0]).partial_fit(X[domain == -1])
        )
        with pytest.raises(ValueError, match=r"inverse_transform.*renewed"):
            renewed.inverse_transform(source)

    def test_the_targets_of_the_images(self) -> None:
        X, y, domain = moons(steps=1)
        names = np.array(["low", "high"])[y[domain > 0]]
        model = ContinuousTransportClassifier().fit(X[domain > 0], names)
        np.testing.assert_array_equal(model.partial_fit(X[domain < 0]).image_targets_, names)


class TestSourceAndBatchesInOneArray:
    def test_it_is_fit_and_partial_fit(self) -> None:
        X, y, domain = moons()
        model = DomainTransportClassifier().fit(X, np.where(domain < 0, -1, y), sample_domain=domain)
        reference = ContinuousTransportClassifier().fit(X[domain > 0], y[domain > 0])
        assert model.domains_ == [-1, -2, -3, -4, -5, -6]
        for t in range(1, 7):
            rows = domain == -t
            reference.partial_fit(X[rows])
            np.testing.assert_array_equal(
                model.predict_proba(X[rows], sample_domain=-t), reference.predict_proba(X[rows])
            )
        assert model.score(X, y, sample_domain=domain) > 0.97
        np.testing.assert_array_equal(model.predict(X), reference.predict(X))  # without domains: the present
        assert model.transport_.n_steps_ == 6
        np.testing.assert_array_equal(model.classes_, [0, 1])

    @pytest.mark.parametrize("mask", [-1, np.nan, None, "?"])
    def test_targets_of_batches_are_not_looked_at(self, mask: object) -> None:
        X, y, domain = moons(steps=2)
        masked = np.array([mask if d < 0 else z for z, d in zip(y.tolist(), domain, strict=True)], dtype=object)
        model = DomainTransportClassifier().fit(X, masked, sample_domain=domain)
        assert model.score(X, y, sample_domain=domain) > 0.97

    def test_a_regression(self) -> None:
        rng = np.random.default_rng(0)
        domain = np.repeat([0, -1, -2, -3], 100)
        X = rng.uniform(-1, 1, size=(400, 2))
        y = X[:, 0] + 0.5 * X[:, 1]
        X[:, 0] -= 0.5 * domain
        model = DomainTransportRegressor().fit(X, np.where(domain < 0, np.nan, y), sample_domain=domain)
        assert model.score(X, y, sample_domain=domain) > 0.85
        assert model.score(X[domain < 0], y[domain < 0], sample_domain=0) < 0.5  # by the source alone

    def test_frames_keep_their_names(self) -> None:
        pandas = pytest.importorskip("pandas")
        X, y, domain = moons(steps=2)
        frame = pandas.DataFrame(X, columns=["east", "north"], index=np.arange(len(X)) + 7)
        model = DomainTransportClassifier().fit(frame, pandas.Series(y, index=frame.index), sample_domain=domain)
        np.testing.assert_array_equal(model.feature_names_in_, ["east", "north"])
        plain = DomainTransportClassifier().fit(X, y, sample_domain=domain)
        np.testing.assert_array_equal(
            model.predict(frame, sample_domain=domain), plain.predict(X, sample_domain=domain)
        )

    @pytest.mark.parametrize(
        ("domain", "message"),
        [
            (np.full(10, -1), "must have a source"),
            (np.zeros(9), "one label for each of 10 rows"),
            (np.full(10, 0.5), "whole numbers"),
            (np.array(["a"] * 10), "whole numbers"),
        ],
    )
    def test_errors_name_sample_domain(self, domain: Array, message: str) -> None:
        X, y = make_moons(10)
        with pytest.raises(ValueError, match=f"sample_domain.*{message}"):
            DomainTransportClassifier().fit(X, y, sample_domain=domain)

    def test_other_errors(self) -> None:
        X, y, domain = moons(steps=1)
        with pytest.raises(TypeError, match=r"transport must be a driftway\.ContinuousTransportClassifier"):
            DomainTransportClassifier(ContinuousTransportRegressor()).fit(X, y)
        model = DomainTransportClassifier().fit(X, y, sample_domain=domain)
        with pytest.raises(ValueError, match=r"targets \[-5\] that were not in fit, which had \[-1\]"):
            model.predict(X, sample_domain=np.where(domain < 0, -5, 1))

    def test_clones_and_pickles(self) -> None:
        X, y, domain = moons(steps=2)
        model = DomainTransportClassifier(ContinuousTransportClassifier(LogisticRegression(), epsilon=0.2))
        assert clone(model).get_params()["transport__estimator__C"] == 1.0
        model.fit(X, y, sample_domain=domain)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X, sample_domain=domain), model.predict(X, sample_domain=domain))


@pytest.mark.usefixtures("routing")
class TestMetadataRouting:
    def test_pipelines_pass_the_domains_on(self) -> None:
        X, y, domain = moons()
        model = make_pipeline(PCA(2), DomainTransportClassifier())
        model.fit(X, np.where(domain < 0, -1, y), sample_domain=domain)
        assert model.score(X, y, sample_domain=domain) > 0.97
        assert np.mean(model.predict(X, sample_domain=domain) == y) > 0.97
        assert model.predict_proba(X, sample_domain=domain).shape == (len(X), 2)
        assert model[-1].transport_.n_steps_ == 6

    def test_searches_pass_the_domains_on(self) -> None:
        X, y, domain = moons(steps=4)
        everything = np.arange(len(X))
        search = GridSearchCV(
            make_pipeline(StandardScaler(with_std=False), DomainTransportClassifier(ContinuousTransportClassifier())),
            {"domaintransportclassifier__transport__epsilon": [0.1, 100.0]},
            cv=[(everything, everything)],
            error_score="raise",
        ).fit(X, y, sample_domain=domain)
        assert search.best_params_ == {"domaintransportclassifier__transport__epsilon": 0.1}
        assert search.score(X, y, sample_domain=domain) > 0.97

    def test_a_request_can_be_withdrawn(self) -> None:
        X, y, domain = moons(steps=1)
        model = make_pipeline(StandardScaler(), DomainTransportClassifier().set_fit_request(sample_domain=False))
        with pytest.raises(TypeError, match="sample_domain"):
            model.fit(X, y, sample_domain=domain)

    def test_weights_are_routed_where_they_are_asked_for(self) -> None:
        X, y, domain = moons(steps=1)
        source = domain > 0
        weights = np.where(y[source] == 1, 2.0, 1.0)
        model = make_pipeline(PCA(2), ContinuousTransportClassifier().set_fit_request(sample_weight=True))
        model.fit(X[source], y[source], sample_weight=weights)
        masses = model[-1]._carried.weights
        np.testing.assert_allclose(masses, weights / weights.sum())

    def test_what_is_requested(self) -> None:
        assert ContinuousTransportClassifier().get_metadata_routing().fit.requests == {"sample_weight": None}
        assert DomainTransportClassifier().get_metadata_routing().fit.requests["sample_domain"] is True
        assert DomainTransportClassifier().get_metadata_routing().predict.requests == {"sample_domain": True}


# Forests, and what is chosen and calibrated by cross-validation, are not the same for weights as for repetitions.
BY_FOLDS = {"check_sample_weight_equivalence_on_dense_data": "folds and forests"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(DomainTransportClassifier(), BY_FOLDS, marks=pytest.mark.slow),
        pytest.param(DomainTransportRegressor(), BY_FOLDS, marks=pytest.mark.slow),
        (DomainTransportClassifier(ContinuousTransportClassifier(LogisticRegression())), BY_FOLDS),
        (DomainTransportRegressor(ContinuousTransportRegressor(Ridge())), BY_FOLDS),
        (DomainTransportClassifier(ContinuousTransportClassifier(None, hypotheses="transport")), {}),
        (DomainTransportRegressor(ContinuousTransportRegressor(None, hypotheses="transport")), {}),
        (DomainTransportClassifier(ContinuousTransportClassifier(map="barycentric", motion=None)), {}),
    ],
    ids=str,
)
def test_scikit_learns_checks(model: object, expected: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert sum(r["status"] == "passed" for r in results) > 30
