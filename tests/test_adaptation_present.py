"""The classifier of the present moment by itself: as the adapted one, in memory, in skops and in ONNX."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation import PresentClassifier

Array = np.ndarray
MODELS: dict[str, dict[str, Any]] = {
    "logistic": {"estimator": LogisticRegression(), "hypotheses": "sensors"},
    "automatic": {"hypotheses": "sensors"},
    "one neighbour": {"estimator": None, "hypotheses": "sensors"},
    "forest": {"estimator": RandomForestClassifier(20, random_state=0), "hypotheses": "sensors"},
    "discriminant": {"estimator": LinearDiscriminantAnalysis(), "hypotheses": "sensors"},
    "neighbours after transport": {"estimator": KNeighborsClassifier(5), "map": "affine", "motion": "affine"},
    "all hypotheses": {"estimator": LogisticRegression()},
}


def drawn(seed: int, n: int, shift: float) -> tuple[Array, Array]:
    """Two classes, with a skewed positive feature that has a view of its own; gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4)) + 1.5 * y[:, None] + shift
    X[:, 3] = np.exp(1.5 * rng.normal(size=n) + y) * (1 + shift)
    return X, y


@pytest.fixture(scope="module", params=MODELS)
def adapted(request: pytest.FixtureRequest) -> tuple[ContinuousTransportClassifier, Array]:
    """A model after two batches, and rows of the present with a gap."""
    X, y = drawn(0, 150, 0.0)
    model = ContinuousTransportClassifier(**MODELS[request.param]).fit(X, np.array(["low", "high"])[y])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in (1, 2):
            model.partial_fit(drawn(step, 80, 0.4 * step)[0])
    rows = drawn(3, 60, 0.8)[0]
    rows[3, 1] = np.nan
    return model, rows


def test_it_predicts_as_the_adapted_one(adapted: tuple[ContinuousTransportClassifier, Array]) -> None:
    model, rows = adapted
    frozen = PresentClassifier.of(model)
    np.testing.assert_allclose(frozen.predict_proba(rows), model.predict_proba(rows), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(frozen.predict(rows), model.predict(rows))
    with pytest.raises(TypeError, match="cannot be fitted; fit a ContinuousTransportClassifier"):
        frozen.fit(rows, rows[:, 0])


def test_skops_keeps_it(adapted: tuple[ContinuousTransportClassifier, Array]) -> None:
    io = pytest.importorskip("skops.io")
    model, rows = adapted
    frozen = PresentClassifier.of(model)
    content = io.dumps(frozen)
    unknown = io.get_untrusted_types(data=content)
    assert all(name.startswith(("driftway.adaptation.", "sklearn.")) for name in unknown), unknown
    again = io.loads(content, trusted=unknown)
    np.testing.assert_array_equal(again.predict_proba(rows), frozen.predict_proba(rows))


def test_onnx_answers_the_same(adapted: tuple[ContinuousTransportClassifier, Array]) -> None:
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, rows = adapted
    graph = PresentClassifier.of(model).to_onnx()
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    proba, index = session.run(["probabilities", "index"], {"X": rows})
    np.testing.assert_allclose(proba, model.predict_proba(rows), rtol=0, atol=1e-5)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    np.testing.assert_array_equal([classes[place] for place in index], model.predict(rows))


def test_before_the_first_batch_it_is_the_sources_own() -> None:
    X, y = drawn(0, 100, 0.0)
    for hypotheses in ("sensors", "transport"):
        model = ContinuousTransportClassifier(None, hypotheses=hypotheses).fit(X, y)
        np.testing.assert_allclose(PresentClassifier.of(model).predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_tables_are_encoded_before() -> None:
    X, y = drawn(0, 100, 0.0)
    table = np.hstack([X.astype(object), np.where(y == 1, "a", "b").astype(object)[:, None]])
    model = ContinuousTransportClassifier(LogisticRegression(), hypotheses="sensors").fit(table, y)
    frozen = PresentClassifier.of(model)
    np.testing.assert_allclose(frozen.predict_proba(model.encode(table)), model.predict_proba(table), atol=1e-12)


def test_what_cannot_be_exported_says_why() -> None:
    with pytest.raises(TypeError, match="must be a ContinuousTransportClassifier, got ContinuousTransportRegressor"):
        PresentClassifier.of(ContinuousTransportRegressor())  # type: ignore[arg-type]
    pytest.importorskip("skl2onnx")
    X, y = drawn(0, 100, 0.0)

    class Own(GaussianNB):
        """Nothing that skl2onnx knows."""

    for estimator, told in (
        (Perceptron(), "Perceptron has no probabilities to export"),
        (Own(), "cannot convert a Own"),
        (
            KNeighborsClassifier(5, weights="distance", metric="manhattan"),
            "a KNeighborsClassifier answers otherwise",
        ),
    ):
        model = ContinuousTransportClassifier(estimator, hypotheses="sensors").fit(X, y)
        with pytest.raises(ValueError, match=told):
            PresentClassifier.of(model).to_onnx()


@pytest.mark.filterwarnings("ignore::driftway.AdaptationWarning")  # the classes overlap
def test_three_classes_as_well() -> None:
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 3)) + 2.0 * y[:, None] * [1.0, -1.0, 0.0]
    for estimator in (LogisticRegression(), LinearDiscriminantAnalysis(), KNeighborsClassifier(7, weights="distance")):
        model = ContinuousTransportClassifier(estimator, hypotheses="sensors").fit(X, y).partial_fit(X[:90] + 0.5)
        graph = PresentClassifier.of(model).to_onnx()
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(session.run(None, {"X": X})[0], model.predict_proba(X), rtol=0, atol=1e-5)
