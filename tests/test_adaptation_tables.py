"""Tables with categories and gaps: encoded as the source says, never silently."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor, adapt_stream
from driftway.adaptation.source.columns import MOST_CATEGORIES, TableColumns, columns_in

Array = np.ndarray


def drawn(seed: int, n: int = 120, shift: float = 0.0) -> tuple[Array, Array]:
    """Rows (weight, colour, height) with gaps, as objects; colours hang together with the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 2] = rng.normal(size=n) + 2.0 * y + shift, rng.normal(size=n) - y
    X[:, 1] = np.where(rng.random(n) < 0.8, np.where(y == 1, "red", "blue"), "green")
    X[rng.random(n) < 0.1, 0] = None
    X[rng.random(n) < 0.05, 1] = None
    return X, y


def model() -> ContinuousTransportClassifier:
    return ContinuousTransportClassifier(LogisticRegression(), hypotheses="sensors")


NAMES = ["weight", "colour", "height"]


class TestEncoding:
    def test_categories_are_columns_of_0_and_1_where_their_column_was(self) -> None:
        X, y = drawn(0)
        fitted = model().fit(X, y)
        assert fitted.columns_.categories == {"feature 1": ("blue", "green", "red", None)}
        assert fitted.get_feature_names_out().tolist() == [
            "feature 0",
            *(f"feature 1={each}" for each in ("blue", "green", "red", "(missing)")),
            "feature 2",
        ]
        encoded = fitted.encode(X)
        for column, name in enumerate(["blue", "green", "red", None], start=1):
            np.testing.assert_array_equal(encoded[:, column], [cell == name for cell in X[:, 1]])
        gaps = np.array([cell is None for cell in X[:, 0]])
        median = np.median(X[~gaps, 0].astype(float))
        np.testing.assert_allclose(encoded[:, 0], [median if cell is None else cell for cell in X[:, 0]])
        assert fitted.columns_.missing["feature 0"] == gaps.sum()
        assert fitted.n_features_in_ == 3
        assert fitted.images_.shape == (120, 6)

    def test_they_answer_as_encoded_numbers_do(self) -> None:
        X, y = drawn(0)
        one = model().fit(X, y)
        two = model().fit(one.encode(X), y)
        for seed in (1, 2):
            batch = drawn(seed, 60, 0.5 * seed)[0]
            gaps = np.array([cell is None for cell in batch[:, 0]])
            numbers = one.encode(batch)
            numbers[gaps, 0] = np.median(numbers[~gaps, 0])
            one.partial_fit(batch)
            two.partial_fit(numbers)
            np.testing.assert_array_equal(one.images_, two.images_)
            np.testing.assert_array_equal(one.batch_proba_, two.batch_proba_)

    def test_no_gain_or_offset_moves_a_category(self) -> None:
        X, y = drawn(0)
        fitted = ContinuousTransportClassifier(LogisticRegression(), hypotheses="sensors", stay=False).fit(X, y)
        for step in (1, 2, 3):
            fitted.partial_fit(drawn(step, 100, 0.7 * step)[0])
        np.testing.assert_allclose(fitted.images_[:, 1:5], fitted.encode(X)[:, 1:5], atol=1e-12)
        assert "feature 0 rose" in fitted.explain()

    def test_what_is_rare_shares_a_column(self) -> None:
        rng = np.random.default_rng(0)
        texts = [f"{number:02d}x" for number in range(MOST_CATEGORIES + 5)]
        common = np.repeat(texts[5:], 4)
        cells = np.concatenate([common, texts[:5]]).astype(object)[:, None]
        X = np.hstack([cells, rng.normal(size=(len(cells), 1))])
        y = np.arange(len(X)) % 2
        fitted = model().fit(X, y)
        assert fitted.columns_.rarer == {"feature 0": tuple(texts[:5])}
        encoded = fitted.encode(X)
        assert encoded.shape[1] == MOST_CATEGORIES + 2
        np.testing.assert_array_equal(encoded[:, :-1].sum(axis=1), 1.0)
        np.testing.assert_array_equal(encoded[-5:, MOST_CATEGORIES], 1.0)

    def test_texts_that_are_numbers_are_numbers(self) -> None:
        X, y = drawn(0)
        numbers = np.array([[str(cell) for cell in row] for row in X[:, [2, 2]]], dtype=object)
        fitted = model().fit(numbers, y)
        assert fitted.columns_.categories == {}
        np.testing.assert_array_equal(fitted.encode(numbers), X[:, [2, 2]].astype(float))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: X[:, 2].__setitem__(3, "high"), r"column 'feature 2' holds numbers and other texts, .*'high'"),
            (lambda X: X[:, 1].__setitem__(3, 7.0), r"column 'feature 1' holds numbers and other texts, such as 7.0"),
            (lambda X: X[:, 1].__setitem__(slice(None), [f"r{k}" for k in range(120)]), "120 different texts in 120"),
            (lambda X: X[:, 0].__setitem__(slice(None), None), "'feature 0' has none on the source"),
            (lambda X: X[:, 0].__setitem__(3, np.inf), "must be finite"),
        ],
    )
    def test_what_is_neither_is_refused(self, change: Any, message: str) -> None:
        X, y = drawn(0)
        change(X)
        with pytest.raises(ValueError, match=message):
            model().fit(X, y)

    def test_a_single_category_tells_nothing(self) -> None:
        X, y = drawn(0)
        X[:, 1] = "red"
        fitted = model().fit(X, y)
        assert fitted.get_feature_names_out().tolist() == ["feature 0", "feature 2"]
        with pytest.raises(ValueError, match="a column of numbers, or of at least two categories"):
            model().fit(X[:, [1]], y)


class TestBatches:
    def test_new_categories_count_as_none_and_are_said(self) -> None:
        X, y = drawn(0)
        fitted, batch = model().fit(X, y), drawn(1, 60)[0]
        batch[:4, 1] = ["violet", "violet", "cyan", "violet"]
        with pytest.warns(AdaptationWarning, match="feature 1 has categories .* count as none: 'cyan', 'violet'"):
            fitted.partial_fit(batch)
        record = fitted.history_[-1]
        assert (record.unseen, record.missing) == (4, sum(cell is None for cell in batch.flat))
        assert "4 had a category that the source does not have" in fitted.explain()
        np.testing.assert_array_equal(fitted.encode(batch)[:4, 1:5], 0.0)

    def test_a_missing_category_is_one_if_the_source_has_some(self) -> None:
        X, y = drawn(0)
        whole = X.copy()
        whole[[cell is None for cell in X[:, 1]], 1] = "red"
        row = np.array([[0.0, None, 0.0]], dtype=object)
        np.testing.assert_array_equal(model().fit(X, y).encode(row)[0, 1:5], [0, 0, 0, 1])
        np.testing.assert_array_equal(model().fit(whole, y).encode(row)[0, 1:4], 0)

    def test_a_text_among_numbers_is_named(self) -> None:
        X, y = drawn(0)
        fitted, batch = model().fit(X, y), drawn(1, 60)[0]
        batch[5, 2] = "high"
        for call in (fitted.partial_fit, fitted.predict):
            with pytest.raises(ValueError, match="column 'feature 2' must hold numbers as the source does, got 'high'"):
                call(batch)
        plain = model().fit(X[:, [2, 2]].astype(float), y)
        with pytest.raises(ValueError, match="column 'feature 1' must hold numbers as the source does, got 'high'"):
            plain.predict(np.array([[0.0, "high"]], dtype=object))

    def test_a_stream_and_a_regression(self) -> None:
        X, y = drawn(0)
        fitted = ContinuousTransportRegressor(estimator=None, hypotheses="sensors").fit(X, y + 0.5)
        batches = [drawn(seed, 60, 0.2 * seed)[0] for seed in (1, 2)]
        for adapted in adapt_stream(fitted, batches):
            assert np.isfinite(adapted.predicted).all()
            assert adapted.record is not None
            assert adapted.record.missing > 0


class TestSaving:
    def test_a_saved_state_answers_the_same(self, tmp_path: Path) -> None:
        X, y = drawn(0)
        fitted = model().fit(X, y).partial_fit(drawn(1, 60, 0.5)[0])
        fitted.save(tmp_path / "state.npz")
        again, batch = ContinuousTransportClassifier.load(tmp_path / "state.npz"), drawn(2, 60, 0.7)[0]
        assert again.columns_.described() == fitted.columns_.described()
        assert again.n_features_in_ == 3
        for each in (again, fitted):
            each.partial_fit(batch)
        np.testing.assert_array_equal(again.predict_proba(batch), fitted.predict_proba(batch))

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("names", ["a", "a"]),
            ("names", ["a", 3]),
            ("names", "ab"),
            ("categories", {"c": ["x"]}),
            ("categories", {"b": [1.0, 2.0]}),
            ("categories", {"b": ["x", "x"]}),
            ("categories", {"b": ["x", "y", "z"]}),
            ("categories", {"b": [str(number) for number in range(100)]}),
            ("rarer", {}),
            ("rarer", {"b": ["x"]}),
            ("rarer", {"b": 3}),
            ("missing", {"a": -1}),
            ("missing", {"z": 1}),
            ("missing", [1]),
        ],
    )
    def test_a_description_that_cannot_be_is_refused(self, key: str, value: object) -> None:
        good = TableColumns(("a", "b"), {"b": ("x", "y")}, {"b": ()}, {"a": 2}).described()
        assert columns_in(json.loads(json.dumps(good)), 3).described() == good
        with pytest.raises(ValueError, match=r"its (table|column)"):
            columns_in({**good, key: value}, 3)
        with pytest.raises(ValueError, match="are not described"):
            columns_in([], 3)


class TestFrames:
    @pytest.fixture(params=["pandas", "polars"])
    def library(self, request: pytest.FixtureRequest) -> Any:
        return pytest.importorskip(request.param)

    def test_frames_are_as_arrays_of_objects(self, library: Any) -> None:
        X, y = drawn(0)
        one, two, batch = model().fit(X, y), model(), drawn(1, 60, 0.5)[0]

        def frame(cells: Array) -> Any:
            return library.DataFrame({name: cells[:, j].tolist() for j, name in enumerate(NAMES)})

        two.fit(frame(X), y)
        np.testing.assert_array_equal(two.feature_names_in_, NAMES)
        one.partial_fit(batch)
        two.partial_fit(frame(batch))
        np.testing.assert_array_equal(one.predict_proba(batch), two.predict_proba(frame(batch)))
        named = two.set_output(transform="pandas" if library.__name__ == "pandas" else "polars").transform(frame(batch))
        assert list(named.columns) == list(two.columns_.encoded_names)

    def test_types_say_what_are_categories(self, library: Any) -> None:
        X, y = drawn(0)
        sizes = ["38" if label else "XL" for label in y]
        if library.__name__ == "pandas":
            column: Any = library.Categorical([38 if label else 40 for label in y])
            expected: tuple[str, ...] = ("38", "40")
        else:
            column, expected = library.Series(sizes, dtype=library.Categorical), ("38", "XL")
        fitted = model().fit(library.DataFrame({"size": column, "height": X[:, 2].astype(float)}), y)
        assert fitted.columns_.categories == {"size": expected}

    def test_nullable_numbers_are_numbers(self) -> None:
        pandas = pytest.importorskip("pandas")
        X, y = drawn(0)
        whole = pandas.array([None if k % 10 == 0 else k for k in range(120)], dtype="Int64")
        fitted = model().fit(pandas.DataFrame({"count": whole, "height": X[:, 2].astype(float)}), y)
        assert fitted.columns_.categories == {}
        assert fitted.columns_.missing == {"count": 12}

    def test_other_columns_are_named(self, library: Any) -> None:
        X, y = drawn(0)
        frame = library.DataFrame({name: X[:, j].tolist() for j, name in enumerate(NAMES)})
        fitted = model().fit(frame, y)
        with pytest.raises(ValueError, match=r"(?s)same order as they were in fit.*weight, colour, height"):
            fitted.predict(frame[["colour", "weight", "height"]])
        with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- height"):
            fitted.predict(frame[["weight", "colour"]])


def test_it_is_not_worse_than_the_same_classifier_on_encoded_data() -> None:
    """Without drift as good, and with a shift of the numbers better, up to a point in a hundred."""
    fitted = model().fit(*drawn(0, 400))
    unadapted = copy.deepcopy(fitted)
    for shift in (0.0, 4.0):
        scores = np.zeros((4, 2))
        adapting = copy.deepcopy(fitted)
        for step in range(4):
            batch, truth = drawn(10 + step, 150, shift * (step + 1) / 4)
            adapting.partial_fit(batch)
            scores[step] = adapting.score(batch, truth), unadapted.score(batch, truth)
        adapted, static = scores.mean(axis=0)
        assert adapted > static - 0.01
        assert shift == 0.0 or adapted > static + 0.05
