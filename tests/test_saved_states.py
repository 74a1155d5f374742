"""Files that earlier versions saved: an update must not cost anybody a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from driftway import ContinuousTransportClassifier

STATES = Path(__file__).parent / "states"


def test_a_state_of_version_1_goes_on_as_it_would_have() -> None:
    model = ContinuousTransportClassifier.load(STATES / "version_1.npz")
    with np.load(STATES / "version_1.expected.npz") as expected:
        model.partial_fit(expected["batch"])
        np.testing.assert_array_equal(model.predict(expected["batch"]), expected["predict"])
        np.testing.assert_allclose(model.images_, expected["images_"], rtol=1e-6)  # other machines round otherwise
    assert model.n_steps_ == 4


def test_what_a_history_holds_is_of_the_same_kind_before_and_after_it_was_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = ContinuousTransportClassifier().fit(X, X[:, 0] > 0).partial_fit(X + 0.1)
    model.save(tmp_path / "state.npz")
    again = ContinuousTransportClassifier.load(tmp_path / "state.npz")
    assert repr(again.history_.to_dict()) == repr(model.history_.to_dict())
