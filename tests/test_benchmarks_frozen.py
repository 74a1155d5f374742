"""The frozen set: it is whole, it repeats itself, and its comparison sees what differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.frozen.__main__ import write
from benchmarks.frozen.cases import CASES
from benchmarks.frozen.comparing import compare
from benchmarks.frozen.streams import STREAMS
from driftway import solvers


def test_it_has_forty_problems_of_every_solver_and_ten_streams() -> None:
    assert len({case.name for case in CASES}) == 40
    assert len(STREAMS) == 10
    kinds = {type(case.solver).__name__ for case in CASES}
    assert kinds >= {name for name in solvers.__all__ if name not in ("Solver", "Start", "State")}


def test_it_repeats_itself_bit_for_bit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("before.npz", "after.npz"):
        write(tmp_path / name, "dual_ascent/time_smoothness/small/")
    assert compare(tmp_path / "before.npz", tmp_path / "after.npz", 0.0) == 0
    assert capsys.readouterr().out.endswith("1 of 1 identical bit for bit\n")


@pytest.mark.parametrize(
    ("change", "tol", "code"),
    [
        ({}, 0.0, 0),
        ({"a|value": np.array(1.0 + 1e-12)}, 0.0, 1),
        ({"a|value": np.array(1.0 + 1e-12)}, 1e-10, 0),
        ({"a|value": np.array(1.0 + 1e-9)}, 1e-10, 1),
        ({"a|value": np.array(np.nan)}, 1e-10, 1),
        ({"a|value": np.array(1.0, np.float32)}, 1e-10, 1),
        ({"a|message": np.array("gap 2e-7: converged")}, 0.0, 1),
        ({"a|message": np.array("gap 2e-7: converged")}, 1e-10, 0),
        ({"a|message": np.array("gap 1e-7: stopped")}, 1e-10, 1),
        ({"a|n_iter": np.array(4)}, 1e-10, 1),
        ({"b|value": np.array(1.0)}, 1e-10, 1),
        ({"a|value": None}, 1e-10, 1),
    ],
)
def test_the_comparison_sees_what_differs(change: dict[str, object], tol: float, code: int, tmp_path: Path) -> None:
    before = {"machine": np.array("here"), "a|value": np.array(1.0), "a|n_iter": np.array(3)}
    before["a|message"] = np.array("gap 1e-7: converged")
    after = {name: value for name, value in (before | change).items() if value is not None}
    np.savez(tmp_path / "before.npz", **before)
    np.savez(tmp_path / "after.npz", **after)
    assert compare(tmp_path / "before.npz", tmp_path / "after.npz", tol) == code
