"""The evaluation: everybody runs, numbers are stored, the page says what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import choosing, storage, streams
from benchmarks.drift import entrants, page, summary
from benchmarks.drift.entrants import CLASSIFIERS, entrants_of
from benchmarks.drift.families import Task
from benchmarks.drift.run import main, merged, run


def made(stream: str, family: str = "moons", seed: int = 0, warned: int = 0, **means: float) -> dict[str, Any]:
    """A run of ten steps with these means; `ours` is driftway's."""
    found = {name.replace("ours", "driftway"): {"mean": mean, "warned": 0} for name, mean in means.items()}
    found["driftway"] = {**found.get("driftway", {}), "warned": warned, "below": 2}
    return {"family": family, "stream": stream, "seed": seed, "seen": False, "steps": 10, "found": found}


# Running


def test_a_small_run_is_stored_and_tabulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--split", "development", "--only", "moons, 20 per batch", "--jobs", "1", "--output", str(tmp_path)]
    main([*only, "--entrant", "driftway"])
    printed = capsys.readouterr().out
    assert "| moons, 20 per batch † | 1 |" in printed
    stored = storage.load(tmp_path, "drift-development")
    assert stored is not None
    found = stored["runs"][0]["found"]
    assert list(found) == ["driftway", "static", "standardised"]  # the last two are always there to compare with
    assert found["driftway"]["mean"] > found["static"]["mean"] + 0.2
    assert found["driftway"]["below"] == 0
    main([*only, "--entrant", "driftway", "--entrant", "SCARGC", "--missing"])
    again = storage.load(tmp_path, "drift-development")
    assert again is not None
    (one,) = again["runs"]
    assert one["found"]["driftway"] == found["driftway"]  # not run again
    assert list(one["found"]) == ["driftway", "static", "standardised", "SCARGC"]


def test_a_failure_is_told_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(stream: streams.Stream) -> tuple[list[float], int]:
        raise RuntimeError("no")

    monkeypatch.setitem(CLASSIFIERS, "SCARGC", fails)
    task = Task("moons", "m", 0, lambda: streams.rotating_moons(0, steps=2))
    found = run(task, ["SCARGC"])
    assert found["found"]["SCARGC"] == {"error": "RuntimeError: no"}
    assert found["found"]["static"]["mean"] > 0.5
    assert "| m | 1 |" in page.table({"m": [found]}, "stream")
    assert "failed" in page.table({"m": [found]}, "stream")


def test_what_takes_long_does_not_run_on_long_streams() -> None:
    assert "POT step by step" in entrants_of("tables", 16)
    assert "POT step by step" not in entrants_of("literature", 100)
    assert "the paper's" in entrants_of("moons", 20)
    assert "the paper's" not in entrants_of("tables", 16)
    assert entrants_of("regression", 16) is entrants.REGRESSORS


def test_numbers_are_updated_in_their_place() -> None:
    stored = [made("s", ours=0.1, static=0.2), made("s", seed=1, ours=0.3, static=0.4)]
    fresh = [made("s", seed=1, ours=0.9), made("t", "tables", ours=0.5)]
    found = merged(stored, fresh)
    assert [(one["stream"], one["seed"]) for one in found] == [("t", 0), ("s", 0), ("s", 1)]  # tables come first
    assert [one["found"]["driftway"]["mean"] for one in found] == [0.5, 0.1, 0.9]
    assert found[2]["found"]["static"]["mean"] == 0.4


def test_many_runs_are_stored_one_per_line(tmp_path: Path) -> None:
    path = storage.save_lines({"part": "p", "runs": [made("a", ours=1.0 / 3.0), made("b")]}, tmp_path, "p")
    assert len(path.read_text().splitlines()) == 4
    loaded = storage.load(tmp_path, "p")
    assert loaded is not None
    assert loaded["part"] == "p"
    assert loaded["runs"][0]["found"]["driftway"]["mean"] == 0.3333


# Summaries


def test_margins_are_over_the_better_baseline_of_the_stream() -> None:
    runs = [
        made("a", ours=0.9, static=0.7, standardised=0.8),
        made("b", seed=0, ours=0.5, static=0.9, standardised=0.1),
        made("b", seed=1, ours=0.5, static=0.3, standardised=0.1),
        made("c", ours=0.5),
    ]
    assert summary.margins(runs) == pytest.approx({"a": 10.0, "b": -10.0})
    assert summary.share_below([10.0, -10.0, -3.0, -2.0], 2.0) == 0.5
    assert summary.mean(runs[:3], "static") == pytest.approx((0.7 + 0.6) / 2)
    assert summary.mean(runs, "static") is None


def test_errors_of_a_regression_are_relative_and_less_is_better() -> None:
    runs = [made("regression: a, still", "regression", ours=3.0, static=4.0, standardised=2.0)]
    assert summary.mean(runs, "driftway") == pytest.approx(0.75)
    assert summary.margins(runs)["regression: a, still"] == pytest.approx(-25.0)


def test_steps_below_the_better_baseline_of_the_step() -> None:
    assert summary.steps_below([0.9, 0.5, 0.5], [[0.9, 0.9, 0.4], [0.2, 0.2, 0.54]], "tables") == 1
    assert summary.steps_below([1.0, 1.04, 1.2], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], "regression") == 1


def test_the_worst_streams_come_first_with_their_warnings() -> None:
    runs = [
        made(name, warned=w, ours=own, static=0.9, standardised=0.5) for name, w, own in (("a", 1, 0.8), ("b", 5, 0.2))
    ]
    (first, margin, warned, below), second = summary.worst(runs)
    assert (first, second[0]) == ("b", "a")
    assert (margin, warned, below) == (pytest.approx(-70.0), 0.5, 0.2)
    assert [name for name, *_ in summary.worst(runs, 1)] == ["b"]


# The page


def everybody(stream: str, family: str, ours: float = 0.9, **more: Any) -> dict[str, Any]:
    return made(stream, family, **more, **{**dict.fromkeys(CLASSIFIERS, 0.8), "driftway": ours})


def test_the_page_has_a_line_per_family_and_names_the_worst_stream() -> None:
    runs = [
        everybody("wdbc, mix", "tables", warned=4, ours=0.3),
        everybody("wdbc, still", "tables"),
        everybody("gas", "real"),
    ]
    runs[-1]["seen"] = True
    short, _, missing = page.short_table(runs).partition("\n\n")
    assert missing.startswith("Not evaluated yet in this version: ")
    assert "| real tables under drift of our making | 2 | 60.0 | 80.0 |" in short
    assert "| wdbc, mix: -50.0, 40 % |" in short
    assert short.count("\n") == 3
    text = page.page(runs)
    assert "| gas † | 1 | 90.0 |" in text
    assert "| mix | 1 | 30.0 |" in text
    assert "| wdbc | 2 | 60.0 |" in text
    assert "| **all** | 3 | -50.0 |" in text
    assert "| 33 % | 33 % |" in text
    assert "titanic (three columns" in text
    assert "| wdbc, mix | -50.0 | 40 % | 20 % |" in text


def test_what_did_not_run_is_a_dash() -> None:
    assert "| s | 1 | 50.0 | – | – | 0 % |" in page.table(
        {"s": [made("s", ours=0.5)], "t": [made("t", static=0.5)]}, ""
    )


def test_the_table_stands_between_its_marks() -> None:
    first, last = page.MARKS
    text = page.between_marks(f"a\n{first}\nold\n{last}\nb\n", "new")
    assert text == f"a\n{first}\nnew\n{last}\nb\n"
    assert page.between_marks(text, "new") == text
    readme = page.README.read_text(encoding="utf-8")
    assert page.between_marks(readme, "x").count(first) == readme.count(first) == 1


# Choosing


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
