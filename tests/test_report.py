"""The report: what a snapshot holds is what the estimator says, and a page is whole, safe and self-contained."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.report import Projection, Snapshot, page, take_snapshot, write_report
from driftway.report.text import cards

HOSTILE = "</script><img src=x onerror=alert(1)> & \"'"


def moons(count, seed, shift=0.0):
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    return points + shift, labels


@pytest.fixture(scope="module")
def adapted():
    """A classifier after one step, with the batch and its labels."""
    X, y = moons(60, 0)
    batch, truth = moons(40, 1, 0.2)
    return ContinuousTransportClassifier().fit(X, y).partial_fit(batch), batch, truth, X


@pytest.fixture(scope="module")
def shot(adapted):
    model, batch, truth, X = adapted
    return take_snapshot(model, "monday", batch, Projection.fit(X), truth)


def unpacked(file: Path, part: str) -> str:
    found = re.search(rf'<script type="text/plain" id="{part}">([^<]*)</script>', file.read_text())
    assert found
    return gzip.decompress(base64.b64decode(found[1])).decode()


class TestProjection:
    def test_two_features_are_shown_as_they_are(self):
        X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 1e5]
        np.testing.assert_allclose(np.transpose(Projection.fit(X)(X)), X, atol=1e-3 * np.ptp(X))
        assert Projection.fit(X).names == ("feature 0", "feature 1")

    def test_coordinates_are_rounded_to_a_thousandth_of_the_extent(self):
        X = np.random.default_rng(0).normal(size=(50, 2)) * [1e-6, 1e6]
        error = np.abs(np.transpose(Projection.fit(X)(X)) - X)
        assert (error <= 0.5e-3 * np.ptp(X, axis=0)).all()
        assert error.max() > 0

    def test_one_feature_has_one_coordinate(self):
        assert Projection.fit([[0.0], [1.0]])([[0.25], [0.5]]) == [[0.25, 0.5]]

    def test_more_features_are_seen_along_the_principal_axes_of_the_standardised_source(self):
        X = np.random.default_rng(0).normal(size=(200, 5)) @ np.random.default_rng(1).normal(size=(5, 5))
        X = X * [1.0, 10.0, 100.0, 1e-3, 1.0] + 7.0
        reference = PCA(2).fit_transform((X - X.mean(axis=0)) / X.std(axis=0))
        found = np.transpose(Projection.fit(X)(X))
        signs = np.sign((found * reference).sum(axis=0))
        np.testing.assert_allclose(found, reference * signs, atol=2e-3 * np.ptp(reference))

    def test_the_names_of_principal_axes_tell_their_share(self):
        X = np.random.default_rng(0).normal(size=(500, 3)) @ np.array(
            [[1.0, 1.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 1.0]]
        )
        assert Projection.fit(X).names[0] == "first principal axis (67 % of the source)"

    def test_a_constant_source_and_one_point_are_projected(self):
        assert Projection.fit(np.ones((4, 3)))(np.ones((1, 3))) == [[0.0], [0.0]]
        assert Projection.fit(np.ones((1, 3)))(np.ones((2, 3))) == [[0.0, 0.0], [0.0, 0.0]]

    @pytest.mark.parametrize("features", [1, 2, 4])
    def test_it_survives_json(self, features):
        X = np.random.default_rng(0).normal(size=(9, features))
        projection = Projection.fit(X)
        again = Projection.from_dict(json.loads(json.dumps(projection.to_dict())))
        assert again(X) == projection(X)
        assert again.names == projection.names

    def test_columns_name_the_axes(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"speed": [0.0, 1.0], "load": [1.0, 3.0]})
        assert Projection.fit(frame).names == ("speed", "load")

    def test_bad_input_is_named(self):
        with pytest.raises(ValueError, match=r"X_source must be a finite array of shape \(n, d\), got shape \(3,\)"):
            Projection.fit([1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match=r"X must have shape \(m, 2\) as the source had, got \(1, 3\)"):
            Projection.fit(np.eye(2))(np.ones((1, 3)))


class TestSnapshot:
    def test_it_says_what_the_estimator_says(self, adapted, shot):
        model, batch, truth, _ = adapted
        predicted, record = model.predict(batch), model.history_[-1]
        assert shot.key == "monday"
        assert shot.record["track"] == record.track
        assert shot.record["transport"] == pytest.approx(record.transport, rel=1e-5)
        assert shot.record["signal"] is None  # too early: not a number
        assert shot.score == pytest.approx(accuracy_score(truth, predicted), abs=1e-4)
        assert shot.shares == pytest.approx([np.mean(predicted == 0), np.mean(predicted == 1)], abs=1e-4)
        assert shot.usual == [0.5, 0.5]
        received = np.where(predicted == 1, model.batch_proba_[:, 1], model.batch_proba_[:, 0])
        assert shot.confidence == pytest.approx(received.mean(), abs=1e-4)
        np.testing.assert_allclose(shot.batch.confidence, received, atol=0.006)

    def test_its_points_are_the_batch_and_the_mapped_source(self, adapted, shot):
        model, batch, truth, _ = adapted
        np.testing.assert_allclose(np.transpose(shot.batch.coordinates), batch, atol=2e-3)
        assert shot.batch.targets == model.predict(batch).tolist()
        assert shot.batch.truth == truth.tolist()
        there = {tuple(point) for point in np.round(model.images_, 2)}
        assert {tuple(point) for point in np.round(np.transpose(shot.source.coordinates), 2)} <= {
            (round(x + dx, 2), round(y + dy, 2)) for x, y in there for dx in (-0.01, 0, 0.01) for dy in (-0.01, 0, 0.01)
        }
        assert sorted(shot.source.targets) == [0] * 30 + [1] * 30

    def test_it_survives_json(self, shot):
        assert Snapshot.from_dict(json.loads(json.dumps(shot.to_dict(), allow_nan=False))) == shot

    def test_large_clouds_are_thinned_and_every_class_keeps_its_share(self):
        X, y = moons(1500, 0)
        y[y == 1] = np.arange(750) % 10 == 0  # 5 % of the points are of the second class
        batch = moons(900, 1)[0]
        model = ContinuousTransportClassifier().fit(X, y).partial_fit(batch)
        shot = take_snapshot(model, 1, batch, Projection.fit(X))
        assert len(shot.source.targets) == len(shot.batch.targets) == 300
        assert sum(shot.source.targets) == 15
        assert (shot.source.size, shot.batch.size) == (1500, 900)
        np.testing.assert_allclose(np.transpose(shot.batch.coordinates), batch[::3], atol=2e-3)
        assert shot.shares == pytest.approx([np.mean(model.predict(batch) == k) for k in (0, 1)], abs=1e-4)

    def test_unknown_truth_is_left_out_and_new_classes_are_wrong(self, adapted):
        model, batch, truth, X = adapted
        partly = truth.astype(float)
        partly[:10], partly[10:12] = np.nan, 7.0
        shot = take_snapshot(model, 1, batch, Projection.fit(X), partly)
        right = (model.predict(batch) == partly)[10:]
        assert shot.score == pytest.approx(right.mean(), abs=1e-4)
        assert not right[:2].any()
        assert shot.batch.truth[:12] == [None] * 10 + [-1] * 2
        nothing = take_snapshot(model, 1, batch, Projection.fit(X), np.full(len(batch), np.nan))
        assert nothing.score is None

    def test_the_score_without_adaptation_stands_beside(self, adapted):
        model, batch, truth, X = adapted
        unadapted = LogisticRegression().fit(*moons(60, 0))
        shot = take_snapshot(model, 1, batch, Projection.fit(X), truth, baseline=unadapted)
        assert shot.baseline == pytest.approx(unadapted.score(batch, truth), abs=1e-4)

    def test_a_regression_has_values_and_no_classes(self):
        X = np.random.default_rng(0).normal(size=(80, 1))
        batch = np.random.default_rng(1).normal(size=(50, 1)) + 0.1
        model = ContinuousTransportRegressor().fit(X, np.sin(X[:, 0])).partial_fit(batch)
        truth = np.sin(batch[:, 0] - 0.1)
        shot = take_snapshot(model, 1, batch, Projection.fit(X), truth)
        assert shot.score == pytest.approx(r2_score(truth, model.predict(batch)), abs=1e-4)
        assert shot.confidence is None
        quantiles = np.quantile(model.predict(batch), [0.1, 0.5, 0.9], method="inverted_cdf")
        np.testing.assert_allclose(shot.shares, quantiles, rtol=1e-3)
        assert Snapshot.from_dict(json.loads(json.dumps(shot.to_dict(), allow_nan=False))) == shot

    def test_bad_input_is_named(self, adapted):
        model, batch, truth, X = adapted
        projection = Projection.fit(X)
        with pytest.raises(ValueError, match="batch must be that of the last partial_fit, got another one of 5 points"):
            take_snapshot(model, 1, batch[:5], projection)
        with pytest.raises(ValueError, match=r"truth must have one target per point, shape \(40,\), got \(3,\)"):
            take_snapshot(model, 1, batch, projection, truth[:3])
        with pytest.raises(ValueError, match="truth must be numbers like the targets of the source, got strings"):
            take_snapshot(model, 1, batch, projection, truth.astype(str))
        with pytest.raises(ValueError, match="truth must be numbers like the targets of the source, got strings"):
            take_snapshot(model, 1, batch, projection, np.array([None, *map(str, truth[1:])], dtype=object))
        with pytest.raises(TypeError, match="estimator must be one of driftway's continuous estimators, got PCA"):
            take_snapshot(PCA(), 1, batch, projection)


class TestPage:
    @pytest.fixture(autouse=True)
    def _plotly(self):
        pytest.importorskip("plotly")

    def test_the_same_run_gives_the_same_file(self, adapted, shot, tmp_path):
        for name in ("a", "b"):
            write_report(tmp_path / name, [shot], estimator=adapted[0])
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_it_holds_the_script_and_the_data_and_may_ask_for_nothing(self, adapted, shot, tmp_path):
        from plotly.offline import get_plotlyjs

        file = tmp_path / "report.html"
        write_report(file, [shot], estimator=adapted[0])
        assert unpacked(file, "library") == get_plotlyjs()
        assert json.loads(unpacked(file, "data"))["columns"]["key"] == ["monday"]
        assert "default-src 'none'" in file.read_text()
        assert not re.search(r'(src|href)=(?!"data:)|https?:|@import|url\(', file.read_text())

    def test_what_users_named_is_text(self, adapted, shot, tmp_path):
        X, y = moons(60, 0)
        batch = moons(40, 1)[0]
        model = ContinuousTransportClassifier(LogisticRegression(C=1e6)).fit(X, np.array([HOSTILE, "b"])[y])
        hostile = take_snapshot(model.partial_fit(batch), HOSTILE, batch, Projection.fit(X))
        hostile = replace(hostile, record={**hostile.record, "warning": HOSTILE})
        file = tmp_path / "report.html"
        write_report(file, [hostile], estimator=model, title=HOSTILE)
        assert "<img" not in file.read_text()
        assert "<title>&lt;/script&gt;&lt;img" in file.read_text()
        assert json.loads(unpacked(file, "data"))["classes"] == [HOSTILE, "b"]
        assert "LogisticRegression(C=1000000.0)" in file.read_text()

    def test_steps_without_a_plan_are_not_counted_among_the_plans(self, shot):
        def card(*records):
            return cards([replace(shot, record={**shot.record, **record}) for record in records])

        bare, good = {"gap": None, "converged": True}, {"gap": 1e-7, "converged": True}
        assert "plans certified" not in card(bare, bare)
        assert "1 of 1<small>largest gap 1.0e-07" in card(bare, good)
        assert "1 of 2<small>largest gap 1.0e-03" in card(good, {"gap": 1e-3, "converged": False})
        assert "0 of 1<small>a gap is unknown" in card(bare, {"gap": None, "converged": False})

    def test_of_many_steps_the_curves_keep_all_and_the_slider_an_even_part(self, adapted, shot, tmp_path):
        shots = [replace(shot, key=str(k), record={**shot.record, "step": k + 1}) for k in range(1201)]
        file = tmp_path / "report.html"
        write_report(file, shots, estimator=adapted[0])
        content = json.loads(unpacked(file, "data"))
        assert content["columns"]["step"] == list(range(1, 1202))
        places = [frame["at"] for frame in content["frames"]]
        assert len(places) == 200
        assert (places[0], places[-1]) == (0, 1200)
        assert set(np.diff(places)) == {6, 7}

    def test_hundreds_of_steps_stay_below_four_megabytes(self, adapted, shot, tmp_path):
        rng = np.random.default_rng(0)

        def noise(cloud):
            points = np.round(rng.normal(size=(2, 300)), 3).tolist()
            many = {"targets": rng.integers(2, size=300).tolist(), "truth": rng.integers(2, size=300).tolist()}
            return replace(cloud, coordinates=points, confidence=np.round(rng.random(300), 2).tolist(), **many)

        shots = [replace(shot, source=noise(shot.source), batch=noise(shot.batch)) for _ in range(300)]
        write_report(tmp_path / "report.html", shots, estimator=adapted[0])
        assert (tmp_path / "report.html").stat().st_size < 4e6

    def test_a_failed_write_leaves_the_old_page(self, adapted, shot, tmp_path, monkeypatch):
        file = tmp_path / "report.html"
        file.write_text("old")

        def full(*_):
            raise OSError("no space left")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="no space left"):
            write_report(file, [shot], estimator=adapted[0])
        assert file.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]

    def test_no_steps_are_no_report(self, adapted, tmp_path):
        with pytest.raises(ValueError, match="shots must hold at least one step, got none"):
            write_report(tmp_path / "report.html", [], estimator=adapted[0])


def test_without_plotly_the_extra_is_named(adapted, shot, tmp_path, monkeypatch):
    page._library.cache_clear()
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'driftway\[report\]'"):
        write_report(tmp_path / "report.html", [shot], estimator=adapted[0])
    assert list(tmp_path.iterdir()) == []


class TestExamples:
    """The demo and the picture of the README, as they are run."""

    ROOT = Path(__file__).parents[1]

    def test_the_demo_tracks_the_moons_and_writes_the_report(self, tmp_path, monkeypatch, capsys):
        pytest.importorskip("plotly")
        pytest.importorskip("tqdm")
        monkeypatch.setattr(sys, "argv", ["reading_a_report.py", str(tmp_path / "demo" / "report.html")])
        runpy.run_path(str(self.ROOT / "examples/adaptation/reading_a_report.py"), run_name="__main__")
        said = capsys.readouterr()
        lines = [line.split() for line in said.out.splitlines() if "°" in line and "%" in line]
        assert [int(line[0]) for line in lines] == list(range(1, 21))
        assert min(float(line[2].rstrip("%")) for line in lines) >= 95
        assert min(float(line[3].rstrip("%")) for line in lines) < 50  # without adaptation
        assert "20/20" in said.err
        assert f"The report is at {tmp_path / 'demo' / 'report.html'}" in said.out
        assert json.loads(unpacked(tmp_path / "demo" / "report.html", "data"))["columns"]["key"][-1] == "360°"

    def test_the_picture_shows_the_drift_being_tracked(self, tmp_path):
        pytest.importorskip("matplotlib")
        example = runpy.run_path(str(self.ROOT / "docs/figures/drift.py"))
        run = example["track"]()
        assert min(run.adapted) >= 95
        assert min(run.unadapted) < 50
        example["draw"](run).savefig(tmp_path / "drift.png", dpi=130)
        assert (tmp_path / "drift.png").stat().st_size < 150_000
