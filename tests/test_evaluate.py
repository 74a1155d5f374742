"""The evaluation: everybody runs, numbers are stored, the table says what they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import choosing, evaluate, storage


def test_a_small_run_is_stored_and_tabulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seeds", "1", "--jobs", "1", "--only", "moons, 20 per batch", "--output", str(tmp_path)]
    evaluate.main([*arguments, "--entrant", "static", "--entrant", "driftway"])
    printed = capsys.readouterr().out
    assert "| moons, 20 per batch | 1 |" in printed
    stored = storage.load(tmp_path, "adaptation")
    assert stored is not None
    found = stored["runs"][0]["found"]
    assert found["driftway"]["mean"] > found["static"]["mean"] + 0.2


def test_numbers_are_updated_in_their_place() -> None:
    stored = [
        {"stream": "s", "steps": 1, "found": {"driftway": {"mean": value}, "peer": {"mean": 0.1}}} for value in (0, 1)
    ]
    fresh = [{"stream": "s", "steps": 1, "found": {"driftway": {"mean": value}}} for value in (0.5, 0.6)]
    merged = evaluate.updated({"runs": stored}, [*fresh, {"stream": "t", "steps": 1, "found": {}}])
    assert [run["found"].get("driftway", {}).get("mean") for run in merged] == [0.5, 0.6, None]
    assert [run["found"].get("peer", {}).get("mean") for run in merged] == [0.1, 0.1, None]


def test_failures_are_shown() -> None:
    run = {"stream": "s", "steps": 2, "found": {"driftway": {"mean": 0.5, "warned": 1}, "peer": {"mean": float("nan")}}}
    text = evaluate.table([run])
    assert "| s | 1 | 50.0 | failed | 50 % |" in text


def test_the_choice_without_labels_is_told_beside_the_best_one(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [{"stream": "a", "scores": [0.2, 0.9, 0.5], "accuracies": [0.5, 0.8, 0.9]}]
    monkeypatch.setattr(choosing, "DEFAULT", 2)
    assert "| a | 80.0 | 90.0 | 90.0 | 73.3 | 0.50 |" in choosing.table(runs)


def test_choosing_runs_on_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "GRID", choosing.GRID[:1])
    monkeypatch.setattr(choosing, "DEFAULT", 0)
    choosing.main(["--only", "moons, 18", "--jobs", "1", "--output", str(tmp_path)])
    stored = storage.load(tmp_path, "choosing")
    assert stored is not None
    assert len(stored["runs"][0]["scores"]) == 1
    assert stored["runs"][0]["accuracies"][0] > 0.9


def test_the_summary_stands_between_its_marks_and_covers_kinds_of_streams() -> None:
    found = {entrant: {"mean": 0.5} for entrant in evaluate.ENTRANTS}
    runs = [
        {"stream": "moons, 20 steps", "steps": 1, "found": found},
        {"stream": "moons, 36°", "steps": 1, "found": {**found, "driftway": {"mean": 1.0}}},
    ]
    text = evaluate.summary(runs)
    assert "| rotating moons (5 settings) | 75.0 | 50.0 |" in text
    assert "digits" not in text
    first, last = evaluate.MARKS
    page = evaluate.between_marks(f"a\n{first}\nold\n{last}\nb\n", "new")
    assert page == f"a\n{first}\nnew\n{last}\nb\n"
    assert evaluate.between_marks(page, "new") == page
    readme = evaluate.README.read_text(encoding="utf-8")
    assert evaluate.between_marks(readme, "x").count(first) == readme.count(first) == 1
