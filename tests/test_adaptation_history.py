"""The history is bounded, so that neither steps nor states grow with the stream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from driftway import ContinuousTransportClassifier
from driftway.adaptation.history import KEPT, History


@pytest.mark.filterwarnings("ignore::driftway.AdaptationWarning")
def test_old_records_are_dropped_and_steps_counted_on(tmp_path: Path) -> None:
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 2)) + 5.0 * y[:, None]
    model = ContinuousTransportClassifier(estimator=None, hypotheses="sensors").fit(X, y).partial_fit(X)
    first = model.history_[-1]
    # As after many steps, which would take minutes.
    model.history_ = History([replace(first, step=number + 1) for number in range(KEPT + 200)])
    model.n_seen_ = KEPT + 200
    assert (len(model.history_), model.n_steps_, model.history_[0].step) == (KEPT, KEPT + 200, 201)
    model.save(tmp_path / "before.npz")
    model.partial_fit(X + 0.1)
    assert (len(model.history_), model.n_steps_, model.history_[0].step) == (KEPT, KEPT + 201, 202)
    again = ContinuousTransportClassifier.load(tmp_path / "before.npz").partial_fit(X + 0.1)
    assert again.n_steps_ == KEPT + 201
    np.testing.assert_array_equal(again.history_["step"], model.history_["step"])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
