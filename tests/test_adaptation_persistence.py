"""The state in a file: it goes on to the same bits, and what is damaged or foreign is named."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from turning_moons import Array, moons

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor, adapt_stream
from driftway.adaptation import persistence
from driftway.adaptation.maps import KernelMap
from driftway.adaptation.motion import AffineMotion


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
