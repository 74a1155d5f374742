"""Adaptation where something is unusual: weights of zero, tiny batches, absurd values, errors in the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from files import write_stream
from sklearn.datasets import make_moons
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor, adapt_stream
from driftway.adaptation import DomainTransportClassifier
from driftway.adaptation.scaling import fit_scaling


def turned(m: int, degrees: float, seed: int) -> np.ndarray:
    angle = np.deg2rad(degrees)
    X = make_moons(m, noise=0.05, random_state=seed)[0]
    return X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@pytest.fixture
def moons() -> tuple[np.ndarray, np.ndarray]:
    return make_moons(120, noise=0.05, random_state=0)


def test_a_stream_without_a_state_passes_over_nothing(moons: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    batches = [turned(60, 10.0 * t, t) for t in (1, 2, 3, 4)]
    model = ContinuousTransportClassifier().fit(*moons).partial_fit(batches[0])
    assert [step.key for step in adapt_stream(model, batches[1:3])] == [0, 1]
    assert model.n_steps_ == 3
    assert [step.key for step in adapt_stream(model, batches[3:], state=tmp_path / "state.npz")] == [0]
    assert model.n_steps_ == 4


@pytest.mark.parametrize("labels", ["plan", "classifier"])
@pytest.mark.parametrize("source", ["kept", "renewed"])
def test_points_without_weight_are_as_if_they_were_not_there(
    moons: tuple[np.ndarray, np.ndarray], labels: str, source: str
) -> None:
    weights = np.arange(80) % 2.0
    with_them, without = (ContinuousTransportClassifier(labels=labels, source=source).fit(*moons) for _ in range(2))
    for t in (1, 2, 3):
        B = turned(80, 10.0 * t, t)
        with_them.partial_fit(B, sample_weight=weights)
        without.partial_fit(B[1::2])
        np.testing.assert_array_equal(with_them.predict(B), without.predict(B))
        np.testing.assert_array_equal(with_them.batch_proba_[1::2], without.batch_proba_)
        np.testing.assert_array_equal(with_them.batch_proba_[::2], 0.5)
    assert with_them.history_[-1].size == 80
    assert np.isfinite(with_them._carried.still)


def test_a_regression_has_no_value_for_points_without_weight() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model, without = (
        ContinuousTransportRegressor(LinearRegression(), labels="plan").fit(X, X[:, 0] + 5.0) for _ in range(2)
    )
    model.partial_fit(X[:40] + 0.1, sample_weight=np.arange(40) % 2.0)
    without.partial_fit(X[1:40:2] + 0.1)
    assert np.isnan(model.batch_values_[::2]).all()
    np.testing.assert_array_equal(model.batch_values_[1::2], without.batch_values_)
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


def test_a_batch_smaller_than_the_classifier_asks_for(moons: tuple[np.ndarray, np.ndarray]) -> None:
    model = ContinuousTransportClassifier(KNeighborsClassifier(15), labels="plan").fit(*moons)
    B = turned(10, 5.0, 1)
    assert model.partial_fit(B).predict(B).shape == (10,)


def test_a_plan_that_is_not_believed_renews_nothing() -> None:
    rng = np.random.default_rng(5)
    centres, y = 8.0 * np.stack([np.arange(6) % 3, np.arange(6) // 3], axis=1), np.arange(300) % 6
    X, B = centres[y] + rng.normal(size=(300, 2)), centres[0] + rng.normal(size=(200, 2))
    model = ContinuousTransportClassifier(clusters=False, source="renewed").fit(X, y)
    with pytest.warns(AdaptationWarning, match="changed class"):
        model.partial_fit(B)
    assert model.history_[-1].answer == "source"
    assert len(model.images_) == 300
    np.testing.assert_array_equal(model.image_targets_, y)


@pytest.mark.parametrize("absurd", [1e200, np.finfo(float).max])
def test_absurd_numbers_are_a_bad_batch(moons: tuple[np.ndarray, np.ndarray], absurd: float) -> None:
    B = turned(30, 5.0, 1)
    B[3, 1] = absurd
    with pytest.raises(ValueError, match="X must be"):
        ContinuousTransportClassifier().fit(*moons).partial_fit(B)
    model = ContinuousTransportClassifier(on_bad_batch="skip").fit(*moons)
    with pytest.warns(AdaptationWarning, match="skipped"):
        model.partial_fit(B)
    assert (model.n_steps_, model.n_seen_) == (0, 1)


def test_units_do_not_depend_on_the_order_of_the_source() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1500)
    X = np.column_stack([y + 0.1 * rng.normal(size=3000), 100.0 * rng.normal(size=3000)])
    shuffled = rng.permutation(3000)
    units = [fit_scaling("auto", X[rows], y[rows], np.ones(3000)).unit for rows in (slice(None), shuffled)]
    np.testing.assert_allclose(*units)
    assert units[0][0] < 1.0 < units[0][1]  # one for each feature


class TestAnErrorInTheMiddle:
    def test_of_a_refit(self, moons: tuple[np.ndarray, np.ndarray]) -> None:
        X, y = moons
        model = ContinuousTransportClassifier(LogisticRegression()).fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match="class"):
            model.fit(X[:, :1], np.zeros(len(X)))
        assert model.n_features_in_ == 2
        np.testing.assert_array_equal(model.predict(X), before)

    def test_of_the_first_fit(self, moons: tuple[np.ndarray, np.ndarray]) -> None:
        model = ContinuousTransportClassifier(LogisticRegression())
        with pytest.raises(ValueError, match="class"):
            model.fit(moons[0], np.zeros(120))
        assert not hasattr(model, "classes_")
        assert not model.__sklearn_is_fitted__()

    def test_of_a_domain(self, moons: tuple[np.ndarray, np.ndarray]) -> None:
        X, y = moons
        model = DomainTransportClassifier().fit(X, y)
        bad = np.vstack([X, np.ones((5, 2))])
        domains = np.repeat([0, -1], [120, 5])
        with pytest.raises(ValueError, match="two different points"):
            model.fit(bad, np.concatenate([1 - y, np.zeros(5)]), sample_domain=domains)
        np.testing.assert_array_equal(model.predict(X), y)
        with pytest.raises(ValueError, match="two different points"):
            (first := DomainTransportClassifier()).fit(bad, np.zeros(125), sample_domain=domains)
        assert not hasattr(first, "source_")


def test_weights_of_target_domains_count(moons: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = moons
    B = turned(80, 20.0, 1)
    together, targets = np.vstack([X, B]), np.concatenate([y, np.full(80, -1)])
    domains, weights = np.repeat([0, -1], [120, 80]), np.concatenate([np.ones(120), np.arange(80) % 2.0])
    weighted = DomainTransportClassifier().fit(together, targets, sample_domain=domains, sample_weight=weights)
    without = DomainTransportClassifier().fit(
        together[weights > 0], targets[weights > 0], sample_domain=domains[weights > 0]
    )
    np.testing.assert_array_equal(weighted.transport_.images_, without.transport_.images_)
    source_only = DomainTransportClassifier().fit(
        together, targets, sample_domain=domains, sample_weight=np.where(domains < 0, 0.0, 1.0)
    )
    assert source_only.domains_ == [-1]


def test_a_state_without_names_takes_them_away(moons: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = moons
    ContinuousTransportClassifier().fit(X, y).save(tmp_path / "state.npz")
    named = ContinuousTransportClassifier().fit(pandas.DataFrame(X, columns=["east", "north"]), y)
    named.restore(tmp_path / "state.npz")
    assert not hasattr(named, "feature_names_in_")


class TestFiles:
    @pytest.mark.parametrize(("classes", "foreign"), [((0, 1), "?"), (("a", "b"), "7")])
    def test_labels_of_another_kind_are_wrong_and_no_more(
        self, classes: tuple[object, object], foreign: str, tmp_path: Path
    ) -> None:
        pytest.importorskip("typer")
        pytest.importorskip("plotly")
        from driftway.cli import main

        points = np.random.default_rng(0).normal(size=(40, 2)) + 4.0 * (np.arange(40) % 2)[:, None]
        for name, labels in (("source", [classes[k % 2] for k in range(40)]), ("batch", [foreign] * 40)):
            lines = [f"{x:.6f},{y:.6f},{label}" for (x, y), label in zip(points, labels, strict=True)]
            (tmp_path / f"{name}.csv").write_text("\n".join(["x,y,kind", *lines]) + "\n")
        files = [str(tmp_path / f"{name}.csv") for name in ("source", "batch")]
        assert main(["adapt", *files, "--label", "kind", "--out", str(tmp_path / "out")]) == 0
        history = (tmp_path / "out" / "history.csv").read_text().splitlines()
        assert float(history[1].split(",")[history[0].split(",").index("accuracy")]) == 0.0

    def test_any_column_name_is_written_to_npz(self, tmp_path: Path) -> None:
        pytest.importorskip("typer")
        pytest.importorskip("plotly")
        from driftway.cli import main
        from driftway.files import Columns, read_table, write_table

        source, (batch,) = write_stream(tmp_path / "in", 1)
        for path in (source, batch):
            path.write_text(path.read_text().replace("name,", "file,", 1))
        out = tmp_path / "out"
        command = ["adapt", str(source), str(batch), "--label", "kind", "--id", "file", "--format", "npz"]
        assert main([*command, "--out", str(out)]) == 0
        assert len(read_table(out / "predictions" / "batch01.npz", Columns(None, "predicted", "file")).ids or []) == 30
        write_table(tmp_path / "other.npz", {"allow_pickle": [1.0, 2.0], "file": [3.0, 4.0]})
        assert read_table(tmp_path / "other.npz", Columns(None, None, None)).X.tolist() == [[1.0, 3.0], [2.0, 4.0]]

    def test_columns_of_the_predictions_are_no_ids(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("typer")
        from driftway.cli import main

        source, batches = write_stream(tmp_path / "in", 1)
        assert main(["adapt", str(source), str(batches[0]), "--label", "kind", "--id", "probability_upper"]) == 2
        assert "--id must not be 'probability_upper'" in capsys.readouterr().err

    def test_a_single_array_is_no_npz_file(self, tmp_path: Path) -> None:
        from driftway.files import Columns, read_table
        from driftway.files.errors import TableError

        with (tmp_path / "array.npz").open("wb") as file:
            np.save(file, np.zeros(3))
        with pytest.raises(TableError, match="not a valid NPZ file"):
            read_table(tmp_path / "array.npz", Columns(None, None, None))
        with pytest.raises(ValueError, match="damaged or was not saved by driftway"):
            ContinuousTransportClassifier.load(tmp_path / "array.npz")


def test_a_small_batch_does_not_take_the_place_of_the_source(moons: tuple[np.ndarray, np.ndarray]) -> None:
    """Fifteen neighbours need fifteen points: what cannot be learnt from later is not carried on."""
    model = ContinuousTransportClassifier(KNeighborsClassifier(15), source="renewed").fit(*moons)
    for t, size in ((1, 60), (2, 10), (3, 60), (4, 60)):
        model.partial_fit(turned(size, 5.0 * t, t))
        assert len(model._carried.source) >= 15
    assert model.n_steps_ == 4


def test_what_is_carried_belongs_to_its_map_and_motion(moons: tuple[np.ndarray, np.ndarray]) -> None:
    model = ContinuousTransportClassifier(clusters=False).fit(*moons).partial_fit(turned(60, 5.0, 1))
    model.set_params(map="barycentric", motion=None)
    with pytest.raises(ValueError, match="map and motion cannot change after fit"):
        model.partial_fit(turned(60, 10.0, 2))


def test_absurd_values_in_the_source_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[3, 0] = np.finfo(float).max
    with pytest.raises(ValueError, match="X must be small enough"):
        ContinuousTransportRegressor().fit(X, np.arange(20.0))


def test_unknown_parameters_of_a_saved_state_are_named(moons: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    ContinuousTransportClassifier().fit(*moons).save(tmp_path / "state.npz")
    with pytest.raises(TypeError, match=r"has no parameters \['epsilom'\]"):
        ContinuousTransportClassifier.load(tmp_path / "state.npz", epsilom=0.1)


def test_no_rows_at_all_are_refused_as_everywhere(moons: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = moons
    domain = np.r_[np.ones(60), np.full(60, -2)].astype(int)
    model = DomainTransportClassifier().fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(np.empty((0, 2)), sample_domain=np.empty(0, dtype=int))
