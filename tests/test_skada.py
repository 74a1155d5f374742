"""The skada adapter: a drift over many domains is followed, by skada's conventions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation import DomainTransportClassifier

pytest.importorskip("skada")

from skada import EntropicOTMappingAdapter, make_da_pipeline
from skada.base import BaseTestTimeAdapter
from skada.datasets import DomainAwareDataset, make_shifted_blobs, make_shifted_datasets
from skada.metrics import CircularValidation, PredictionEntropyScorer, SoftNeighborhoodDensity
from skada.model_selection import SourceTargetShuffleSplit

from driftway.skada import ContinuousTransport, ContinuousTransportAdapter

Array = np.ndarray
CENTRE = np.array([0.5, 0.25])


def turned(X: Array, degrees: float) -> Array:
    t = np.deg2rad(degrees)
    return (X - CENTRE) @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) + CENTRE


def moons(steps: int = 8, degrees: float = 18.0, m: int = 60) -> DomainAwareDataset:
    """A source and targets that turn by so much from one to the next."""
    data = DomainAwareDataset()
    data.add_domain(*make_moons(200, noise=0.05, random_state=0), domain_name="start")
    for t in range(1, steps + 1):
        X, y = make_moons(m, noise=0.05, random_state=t)
        data.add_domain(turned(X, degrees * t), y, domain_name=f"step {t}")
    return data


def train(data: DomainAwareDataset, steps: int, labelled: bool = False) -> tuple[Array, Array, Array]:
    targets = [f"step {t}" for t in range(1, steps + 1)]
    return data.pack(as_sources=["start"], as_targets=targets, mask_target_labels=not labelled)


def test_many_domains_are_followed_where_a_single_target_is_not() -> None:
    data = moons()
    X, masked, domain = train(data, 8)
    assert domain.min() == -9
    target = domain < 0
    _, y, _ = train(data, 8, labelled=True)

    def accuracy(adapter: BaseTestTimeAdapter) -> float:
        pipeline = make_da_pipeline(StandardScaler(), adapter, SVC())
        pipeline.fit(X, masked, sample_domain=domain)
        return pipeline.score(X[target], y[target], sample_domain=domain[target])

    assert accuracy(ContinuousTransportAdapter()) > 0.97
    assert accuracy(EntropicOTMappingAdapter(reg_e=0.1)) < 0.8


def test_the_targets_come_back_to_the_source_and_the_source_stays() -> None:
    data = moons(steps=4)
    X, masked, domain = train(data, 4)
    adapter = ContinuousTransportAdapter()
    assert isinstance(adapter, BaseTestTimeAdapter)
    back = adapter.fit_transform(X, masked, sample_domain=domain)
    np.testing.assert_array_equal(back[domain >= 0], X[domain >= 0])
    for t in range(1, 5):
        rows = domain == -(t + 1)
        truth = turned(X[rows], -18.0 * t)
        assert np.abs(back[rows] - truth).mean() < 0.15
        assert t < 3 or np.abs(back[rows] - truth).mean() < np.abs(X[rows] - truth).mean() / 3
    assert list(adapter.transports_) == [-2, -3, -4, -5]
    assert adapter.transport_.n_steps_ == 4


def test_the_order_of_the_rows_does_not_matter_and_that_of_the_labels_does() -> None:
    data = moons(steps=6, degrees=30.0)
    X, masked, domain = train(data, 6)
    shuffled = np.random.default_rng(0).permutation(len(X))
    one, two = ContinuousTransportAdapter(), ContinuousTransportAdapter()
    back = one.fit_transform(X, masked, sample_domain=domain)
    again = two.fit_transform(X[shuffled], masked[shuffled], sample_domain=domain[shuffled])
    assert list(two.transports_) == list(one.transports_)
    assert np.abs(again - back[shuffled]).mean() < 0.02
    backwards = np.where(domain < 0, -9 - domain, domain)
    three = ContinuousTransportAdapter(ContinuousTransportClassifier(stay=False))
    other = three.fit_transform(X, masked, sample_domain=backwards)
    assert np.abs(other - back)[domain < 0].mean() > 0.3


def test_a_domain_that_has_not_moved_is_left_where_it_is() -> None:
    rng = np.random.default_rng(1)
    y = np.tile([0, 1], 900)
    X = rng.normal(size=(1800, 2)) + 2.5 * y[:, None]
    domain = np.repeat([1, -2, -3, -4, -5, -6], 300)
    adapter = ContinuousTransportAdapter(ContinuousTransportClassifier(clusters=False))
    back = adapter.fit_transform(X, np.where(domain < 0, -1, y), sample_domain=domain)
    still = [label for label, transport in adapter.transports_.items() if transport.history_[-1].answer == "source"]
    assert len(still) >= 3
    for label in still:
        np.testing.assert_array_equal(back[domain == label], X[domain == label])


class TestNewDomains:
    """What skada's tests ask of its own test-time adapter."""

    def fitted(self, automatic: bool = False) -> tuple[DomainAwareDataset, ContinuousTransportAdapter]:
        data = moons(steps=6)
        pipeline = ContinuousTransport(auto_fit_new_domain=automatic)
        X, masked, domain = train(data, 3)
        return data, pipeline.fit(X, masked, sample_domain=domain)

    def test_they_raise_until_they_are_adapted_to(self) -> None:
        data, pipeline = self.fitted()
        adapter = pipeline.named_steps["continuoustransportadapter"].get_estimator()
        for t in (4, 5, 6):
            X, y, domain = data.pack(as_sources=[], as_targets=[f"step {t}"], mask_target_labels=False)
            with pytest.raises(ValueError, match=rf"\[-{t + 1}\].*fit_new_domain"):
                pipeline.predict(X, sample_domain=domain)
            assert adapter.fit_new_domain(X, sample_domain=domain) is adapter
            assert pipeline.score(X, y, sample_domain=domain) > 0.95
            assert np.mean(pipeline.predict(X) == y) > 0.95  # without labels of domains: the present
        assert adapter.transport_.n_steps_ == 6
        X, y, domain = train(data, 6, labelled=True)
        assert pipeline.score(X, y, sample_domain=domain, allow_source=True) > 0.95  # all times are remembered

    def test_or_are_adapted_to_at_once(self) -> None:
        data, pipeline = self.fitted(automatic=True)
        X, y, domain = data.pack(as_sources=[], as_targets=["step 4", "step 5"], mask_target_labels=False)
        assert pipeline.score(X, y, sample_domain=domain) > 0.95

    def test_a_bad_one_changes_nothing(self) -> None:
        pipeline = self.fitted()[1]
        adapter = pipeline.named_steps["continuoustransportadapter"].get_estimator()
        X = np.vstack([turned(make_moons(60, noise=0.05, random_state=9)[0], 72), np.ones((60, 2))])
        with pytest.raises(ValueError, match="two different points"):
            adapter.fit_new_domain(X, sample_domain=np.repeat([-7, -8], 60))
        assert adapter.transport_.n_steps_ == 3
        assert list(adapter.transports_) == [-2, -3, -4]

    def test_a_known_domain_that_is_adapted_to_again_is_the_present(self) -> None:
        pipeline = self.fitted()[1]
        adapter = pipeline.named_steps["continuoustransportadapter"].get_estimator()
        X = turned(make_moons(60, noise=0.05, random_state=9)[0], 60)
        adapter.fit_new_domain(X, sample_domain=np.full(60, -2))
        assert list(adapter.transports_) == [-3, -4, -2]
        np.testing.assert_array_equal(adapter.transform(X), adapter.transform(X, sample_domain=np.full(60, -2)))

    def test_source_rows_are_asked_for(self) -> None:
        data, pipeline = self.fitted()
        X, _, domain = train(data, 3)
        with pytest.raises(ValueError, match="allow_source"):
            pipeline.predict(X, sample_domain=domain)


class TestOneTarget:
    """What skada's tests ask of its mapping adapters, on its own data."""

    @pytest.mark.parametrize(
        "estimator",
        [
            make_da_pipeline(ContinuousTransportAdapter(), LogisticRegression()),
            ContinuousTransport(),
            make_da_pipeline(ContinuousTransportAdapter(ContinuousTransportClassifier(stay=False)), SVC()),
        ],
        ids=["pipeline", "function", "own"],
    )
    def test_classes(self, estimator: object) -> None:
        data = make_shifted_blobs(
            n_samples=100,
            centers=np.array([[0.0, 0.0], [1.0, 1.0]]),
            n_features=2,
            shift=0.13,
            random_state=0,
            cluster_std=0.05,
            return_dataset=True,
        )
        X, y, domain = data.pack(as_sources=["s"], as_targets=["t"], mask_target_labels=False)
        X = np.where((domain >= 0)[:, None], X * [2, 1], X * [1, 3])
        masked = np.where(domain < 0, -1, y)
        estimator.fit(X, masked, sample_domain=domain)
        target = domain < 0
        assert estimator.score(X[target], y[target], sample_domain=domain[target]) > 0.9
        assert len(estimator.predict(X, sample_domain=domain, allow_source=True)) == len(X)

    @pytest.mark.filterwarnings("ignore::driftway.AdaptationWarning")  # skada's shifts change the mix of classes
    @pytest.mark.parametrize("label", ["binary", "multiclass", "regression"])
    def test_new_points_go_where_their_likes_go(self, label: str) -> None:
        data = make_shifted_datasets(
            n_samples_source=5,
            n_samples_target=10,
            shift="covariate_shift",
            mean=0.5,
            noise=0.3,
            label=label,
            random_state=42,
            return_dataset=True,
        )
        X, y, domain = data.pack(as_sources=["s"], as_targets=["t"], mask_target_labels=True)
        adapter = ContinuousTransportAdapter()
        back = adapter.fit_transform(X, y, sample_domain=domain)
        kind = ContinuousTransportRegressor if label == "regression" else ContinuousTransportClassifier
        assert isinstance(adapter.transport_, kind)
        some = np.random.default_rng(42).choice(len(X), len(X) // 5, replace=False)
        again = adapter.transform(X[some] + 1e-8, sample_domain=domain[some], allow_source=True)
        np.testing.assert_allclose(again, back[some], atol=1e-6)

    def test_a_regression_is_carried_back(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(400, 2))
        y = X[:, 0] + 0.5 * X[:, 1]
        domain = np.repeat([1, -2, -3, -4], 100)
        X[:, 0] += np.where(domain < 0, -0.6 * (domain + 1), 0.0)
        masked = np.where(domain < 0, np.nan, y)
        for estimator in (Ridge(alpha=1e-3), KNeighborsRegressor(3)):
            pipeline = make_da_pipeline(ContinuousTransportAdapter(), estimator)
            pipeline.fit(X, masked, sample_domain=domain)
            target = domain < 0
            assert pipeline.score(X[target], y[target], sample_domain=domain[target]) > 0.85

    def test_masked_labels_say_what_is_target(self) -> None:
        data = moons(steps=1)
        X, masked, domain = train(data, 1)
        given = ContinuousTransportAdapter().fit_transform(X, masked, sample_domain=domain)
        np.testing.assert_array_equal(ContinuousTransportAdapter().fit_transform(X, masked), given)

    def test_labels_are_not_needed_by_the_adapter(self) -> None:
        X, _, domain = train(moons(steps=2), 2)
        back = ContinuousTransportAdapter().fit_transform(X, sample_domain=domain)
        rows = domain == -3
        truth = turned(X[rows], -36.0)
        assert np.abs(back[rows] - truth).mean() < np.abs(X[rows] - truth).mean() / 2


class TestAmongSkadasTools:
    def test_it_is_cloned_pickled_and_given_parameters(self) -> None:
        pipeline = ContinuousTransport(transport=ContinuousTransportClassifier(epsilon=0.2))
        again = clone(pipeline).set_params(continuoustransportadapter__transport__epsilon=0.3)
        assert again.get_params()["continuoustransportadapter__transport"].epsilon == 0.3
        assert pipeline.get_params()["continuoustransportadapter__transport"].epsilon == 0.2
        X, masked, domain = train(moons(steps=2), 2)
        again.fit(X, masked, sample_domain=domain)
        rows = domain < 0
        copy = pickle.loads(pickle.dumps(again))
        np.testing.assert_array_equal(
            copy.predict(X[rows], sample_domain=domain[rows]), again.predict(X[rows], sample_domain=domain[rows])
        )

    @pytest.mark.parametrize(
        "scorer", [PredictionEntropyScorer(), SoftNeighborhoodDensity(), CircularValidation()], ids=str
    )
    def test_its_scorers_and_splitters(self, scorer: object) -> None:
        X, masked, domain = train(moons(steps=2, m=100), 2)
        scores = cross_validate(
            ContinuousTransport(LogisticRegression()),
            X,
            masked,
            params={"sample_domain": domain},
            cv=SourceTargetShuffleSplit(n_splits=2, random_state=0),
            scoring=scorer,
            error_score="raise",
        )["test_score"]
        assert np.isfinite(scores).all()

    def test_a_search_over_the_transport(self) -> None:
        X, y, domain = train(moons(steps=3), 3, labelled=True)
        target = domain < 0
        search = GridSearchCV(
            ContinuousTransport(transport=ContinuousTransportClassifier()),
            {"continuoustransportadapter__transport__epsilon": [0.1, 1e3]},
            cv=SourceTargetShuffleSplit(n_splits=1, random_state=0),
            scoring=CircularValidation(),
            error_score="raise",
        ).fit(X, np.where(target, -1, y), sample_domain=domain)
        found = search.best_estimator_.predict(X[target], sample_domain=domain[target])
        assert search.best_params_ == {"continuoustransportadapter__transport__epsilon": 0.1}
        assert np.mean(found == y[target]) > 0.95

    def test_the_whole_method_is_the_last_step_of_a_pipeline(self) -> None:
        X, masked, domain = train(moons(), 8)
        _, y, _ = train(moons(), 8, labelled=True)
        pipeline = make_da_pipeline(StandardScaler(), DomainTransportClassifier())
        pipeline.fit(X, masked, sample_domain=domain)
        target = domain < 0
        assert pipeline.score(X[target], y[target], sample_domain=domain[target]) > 0.97
        proba = pipeline.predict_proba(X[target], sample_domain=domain[target])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert np.mean(pipeline.predict(X[domain == -9]) == y[domain == -9]) > 0.95

    def test_a_source_is_needed(self) -> None:
        with pytest.raises(ValueError, match="sample_domain must have a source"):
            ContinuousTransportAdapter().fit(np.eye(4), np.zeros(4), sample_domain=np.full(4, -1))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"transport": Ridge()}, "transport must be a driftway.ContinuousTransportClassifier or driftway.Cont"),
            ({"auto_fit_new_domain": "yes"}, "auto_fit_new_domain must be"),
        ],
    )
    def test_parameters_are_checked_before_anything_is_fitted(self, given: dict, message: str) -> None:
        adapter = ContinuousTransportAdapter(**given)
        with pytest.raises(TypeError, match=message):
            adapter.fit(np.eye(4), np.zeros(4), sample_domain=np.array([1, 1, -1, -1]))
        assert not hasattr(adapter, "transport_")
