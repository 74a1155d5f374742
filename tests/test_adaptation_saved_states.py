"""Files that earlier versions saved: an update must not cost anybody a stream."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftway import AdaptationWarning, ContinuousTransportClassifier

STATES = Path(__file__).parent / "states"


def stream() -> tuple[ContinuousTransportClassifier, np.ndarray]:
    """A model after three batches, and a fourth: how the files of the present version were made."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2

    def draw(t: int) -> np.ndarray:
        return (rng.normal(size=(40, 2)) + 3.0 * y[:, None]) * (1 + 0.1 * t) + 0.2 * t

    model = ContinuousTransportClassifier(LogisticRegression()).fit(draw(0), y)
    for t in (1, 2, 3):
        model.partial_fit(draw(t))
    return model, draw(4)


def write() -> None:
    """Makes the files anew, which only a change of the method or of the version is a reason for."""
    model, batch = stream()
    model.save(STATES / "version_3.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        model.partial_fit(batch)
    found = {name: getattr(model, name)(batch) for name in ("predict", "predict_proba")}
    np.savez(STATES / "version_3.expected.npz", batch=batch, images_=model.images_, **found)


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_of_an_earlier_version_is_refused_in_one_line(version: int) -> None:
    with pytest.raises(ValueError, match=f"has version {version}, and this driftway reads version 3") as refused:
        ContinuousTransportClassifier.load(STATES / f"version_{version}.npz")
    assert len(str(refused.value).splitlines()) == 1


def test_a_state_of_version_3_goes_on_as_it_would_have() -> None:
    model = ContinuousTransportClassifier.load(STATES / "version_3.npz")
    with np.load(STATES / "version_3.expected.npz") as expected:
        with pytest.warns(AdaptationWarning, match="without class"):  # forty points tell little of a mix
            model.partial_fit(expected["batch"])
        np.testing.assert_array_equal(model.predict(expected["batch"]), expected["predict"])
        for found, name in ((model.images_, "images_"), (model.predict_proba(expected["batch"]), "predict_proba")):
            np.testing.assert_allclose(found, expected[name], rtol=1e-6)  # other machines round otherwise
    assert model.n_steps_ == 4


def test_what_a_history_holds_is_of_the_same_kind_before_and_after_it_was_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = ContinuousTransportClassifier().fit(X, X[:, 0] > 0).partial_fit(X + 0.1)
    model.save(tmp_path / "state.npz")
    again = ContinuousTransportClassifier.load(tmp_path / "state.npz")
    assert repr(again.history_.to_dict()) == repr(model.history_.to_dict())


if __name__ == "__main__":
    write()
