"""Faults in small streams: the streams are what they say, losses are counted, and runs can be taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import storage
from benchmarks.drift import faults
from benchmarks.drift.scenes import AFTER, FAULTS, FRESH, scene


def test_a_stream_is_the_same_again_and_a_fault_changes_one_batch() -> None:
    one, two = scene(0), scene(0)
    assert one.name.startswith("plane, ")
    assert len(one.batches) == one.at + 1 + AFTER
    assert np.unique(one.y).size == np.unique(one.fresh[1]).size >= 2
    assert len(one.fresh[0]) == FRESH
    for mine, other in zip(one.batches, two.batches, strict=True):
        np.testing.assert_array_equal(mine, other)
    batch = one.batches[one.at]
    for name, fault in FAULTS.items():
        bad = fault(batch, one, np.random.default_rng(1))
        assert bad.shape == batch.shape, name
        assert not np.array_equal(bad, batch, equal_nan=True), name
    np.testing.assert_array_equal(batch, two.batches[two.at])
    away = (FAULTS["20 deviations away"](batch, one, np.random.default_rng(0)) - batch) / batch.std(axis=0)
    np.testing.assert_allclose(away, 20.0)


def made(seed: int, stream: str, lost: float) -> dict[str, Any]:
    return {"seed": seed, "stream": stream, "accuracy": 0.9, "lost": dict.fromkeys(FAULTS, lost)}


def test_what_is_lost_is_counted() -> None:
    runs = [made(0, "plane, still", 0.01), made(1, "pima, mix", 0.011), made(2, "plane, mix", -0.2)]
    told = faults.table(runs)
    assert "| noise | 2 of 2 | 0 of 1 | pima, mix: -1.1 |" in told
    assert f"| **all** | {2 * len(FAULTS)} of {2 * len(FAULTS)} | 0 of {len(FAULTS)} |" in told


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(seed: int) -> dict[str, Any]:
        asked.append(seed)
        return made(seed, "plane, still", 0.0)

    monkeypatch.setattr(faults, "run", run)
    faults.main(["--cases", str(len(FAULTS)), "--first", "0", "--output", str(tmp_path)])
    faults.main(["--cases", str(len(FAULTS) + 1), "--first", "0", "--output", str(tmp_path)])
    assert asked == [0, 1]
    stored = storage.load(tmp_path, faults.PART)
    assert stored is not None
    assert [one["seed"] for one in stored["runs"]] == [0, 1]
    assert any(f"{2 * len(FAULTS)} of {2 * len(FAULTS)}" in part for part in faults.section(tmp_path))
    assert faults.section(tmp_path / "none") == []


def test_a_stream_without_a_fault_loses_nothing() -> None:
    """A batch that is spoilt by nothing is no fault, so that what is compared is the same."""
    stage = scene(2)
    found = faults.run(2)
    assert found["stream"] == stage.name
    assert found["accuracy"] > 0.5
    assert set(found["lost"]) == set(FAULTS)
