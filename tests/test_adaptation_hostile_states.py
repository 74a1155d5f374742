"""Saved states that are damaged or hostile: every failure is a ValueError that names the file, and comes at load."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_states import outcomes, states
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import AdaBoostClassifier

from driftway import ContinuousTransportClassifier
from driftway.adaptation.permitted import ESTIMATORS, permitted
from driftway.adaptation.persistence import StateError, restore


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return next(iter(states(tmp_path_factory.mktemp("states"), short=True)))


def changed(state: Path, target: Path, entries: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """A copy of a state with other arrays, and other entries of its header."""
    with np.load(state) as file:
        found = {name: file[name] for name in file.files}
    described = json.loads(found["header"].tobytes()) | (entries or {})
    found["header"] = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
    found |= {name.replace("__", "."): array for name, array in arrays.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in found.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
    target.write_bytes(out.getvalue())
    return target


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "no version": ({"version": None}, "its version is None"),
    "a version that is text": ({"version": "2"}, "its version is '2'"),
    "no parameters": ({"parameters": []}, "its parameters is a list, a dict is wanted"),
    "unknown parameters": ({"parameters": {"magic": 1}}, r"has no parameters \['magic'\]"),
    "no history": ({"history": {}}, "the column step of its history"),
    "fewer batches than steps": ({"seen": 0}, "0 batches were seen, and 1 steps made"),
    "another kind": ({"kind": "Pipeline"}, "holds a Pipeline, not a ContinuousTransportClassifier"),
    "a foreign estimator": (
        {"parameters": {"estimator": {"estimator": "TfidfVectorizer", "module": "sklearn.x", "parameters": {}}}},
        "TfidfVectorizer, which is not among those that a file may name",
    ),
    "a foreign module": (
        {"parameters": {"estimator": {"estimator": "system", "module": "sklearn.utils._os", "parameters": {}}}},
        "system, which is not among those",
    ),
    "parameters of an estimator that are none": (
        {"parameters": {"estimator": {"estimator": "SVC", "module": "sklearn.svm", "parameters": {"magic": 1}}}},
        "unexpected keyword argument",
    ),
    "an estimator in a parameter": (
        {"parameters": {"estimator": {"estimator": "SVC", "module": "sklearn.svm", "parameters": {"C": {}}}}},
        "are not plain values",
    ),
    "a bad parameter": ({"parameters": {"epsilon": "much"}}, "epsilon must be"),
    "a bad metric": ({"parameters": {"metric": "taxi", "map": "barycentric", "motion": None}}, "metric must be"),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_that_lie(kind: str, state: Path, tmp_path: Path) -> None:
    header, complaint = HEADERS[kind]
    path = changed(state, tmp_path / "state.npz", header)
    with pytest.raises(StateError, match=complaint) as refused:
        ContinuousTransportClassifier.load(path)
    assert str(path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "array", "complaint"),
    [
        ("carried.now", np.zeros((1, 24, 3)), r"'carried.now' has shape \(1, 24, 3\), \(1, 24, 2\) is wanted"),
        ("carried.weights", np.zeros(24), "'carried.weights' holds masses of sum 0"),
        ("carried.groups", np.full(24, 7), "'carried.groups' holds numbers from 7 to 7, from 0 to 1 is wanted"),
        ("carried.source", np.full((24, 2), np.nan), "'carried.source' holds numbers that are not finite"),
        ("carried.chosen", np.array(5), "'carried.chosen' holds numbers from 5 to 5"),
        ("carried.targets", np.full(24, "a"), "'carried.targets' holds <U1, int64 is wanted"),
        ("classes_", np.array(["b", "a"]), "'classes_' holds no labels in order"),
        ("sample.points", np.zeros((3, 2)), "'sample.targets' has shape"),
        ("unit", np.zeros(2), "'unit' holds numbers from 0 to 0"),
        ("source", np.zeros(4), r"'source' has shape \(4,\)"),
        ("voices", np.array([[3, 0]]), "is damaged"),
        ("weights", np.array([5.0]), r"'weights' holds masses of sum 5.*, one is wanted"),
        ("_received", np.zeros(3), "'_received' has shape"),
        ("header", np.frombuffer(b"[" * 100_000, np.uint8), "damaged or was not saved by driftway"),
    ],
)
def test_arrays_that_do_not_fit_are_noticed_at_load(
    name: str, array: np.ndarray, complaint: str, state: Path, tmp_path: Path
) -> None:
    path = changed(state, tmp_path / "state.npz", **{name.replace(".", "__"): array})
    with pytest.raises(StateError, match=complaint) as refused:
        ContinuousTransportClassifier.load(path)
    assert str(path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_state_without_its_header_is_refused(state: Path, tmp_path: Path) -> None:
    with np.load(state) as file:
        np.savez(tmp_path / "state.npz", **{name: file[name] for name in file.files if name != "header"})
    with pytest.raises(StateError, match="damaged or was not saved by driftway"):
        ContinuousTransportClassifier.load(tmp_path / "state.npz")


@pytest.mark.parametrize("kind", ["steps", "evidence"])
def test_more_batches_than_can_be_counted_are_noticed_at_load(kind: str, tmp_path: Path) -> None:
    """Such a number was taken, and saving the state again failed."""
    state = list(states(tmp_path, short=True))[1]
    with np.load(state) as file:
        name = next(name for name in file.files if name.startswith("state.") and name.endswith(kind))
        counted = np.full_like(file[name], 1e149)
    path = changed(state, tmp_path / "state.npz", **{name.replace(".", "__"): counted})
    with pytest.raises(StateError, match=r"count .* batches"):
        ContinuousTransportClassifier.load(path)


def test_a_state_that_is_refused_changes_nothing(state: Path, tmp_path: Path) -> None:
    model = ContinuousTransportClassifier.load(state)
    before = dict(vars(model))
    with pytest.raises(StateError):
        model.restore(changed(state, tmp_path / "state.npz", unit=np.zeros(2)))
    assert vars(model) == before


def test_a_file_may_name_what_the_user_trusts() -> None:
    described = {"estimator": "AdaBoostClassifier", "module": "sklearn.ensemble", "parameters": {"n_estimators": 3}}
    with pytest.raises(ValueError, match=r"pass estimator=… to load, or trusted=\[AdaBoostClassifier\]"):
        restore("estimator", described, {})
    found = restore("estimator", described, {}, (AdaBoostClassifier,))
    assert isinstance(found, AdaBoostClassifier)
    assert found.n_estimators == 3
    given = EllipticEnvelope()
    assert restore("estimator", described, {"estimator": given}) is given


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_permitted_exists(name: str) -> None:
    assert permitted(name, ()).__name__ == name


def test_states_damaged_at_random_are_refused_or_go_on(tmp_path: Path) -> None:
    """The short form of `python -m tests.hostile_states ROUNDS SEED`."""
    found = outcomes(tmp_path, 200, 0, short=True)
    assert set(found) <= {"refused", "went on"}, found
    assert found["refused"] > 100
