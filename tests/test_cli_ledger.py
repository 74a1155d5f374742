"""The ledger of a run: lines that are added, and how many of them count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from files import contents, write_stream

from driftway.adaptation.history import COLUMNS
from driftway.cli import main

pytest.importorskip("typer")
pytest.importorskip("plotly")

from driftway.cli.failures import UserError
from driftway.cli.ledger import Ledger


def entry(name: str) -> dict[str, Any]:
    return {"name": name, "sha256": f"of {name}", "score": None, "record": dict.fromkeys(COLUMNS, 1)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.batches.jsonl"


def filled(path: Path, *names: str) -> Ledger:
    ledger = Ledger(path)
    for name in names:
        ledger.append(entry(name))
    return ledger


class TestLedger:
    def test_lines_that_were_written_are_never_written_again(self, path: Path) -> None:
        ledger = filled(path, "a", "b")
        before = path.read_bytes()
        ledger.append(entry("c"))
        assert path.read_bytes() == before + json.dumps(entry("c")).encode() + b"\n"
        assert (len(ledger), list(ledger.names()), "b" in ledger, "d" in ledger) == (3, ["a", "b", "c"], True, False)
        assert (ledger.digest("c"), ledger.digest("d")) == ("of c", None)

    def test_the_line_of_an_unfinished_step_is_written_over(self, path: Path) -> None:
        filled(path, "a", "b", "unfinished")
        again = Ledger(path)
        again.read(2)
        assert "unfinished" not in again
        again.append(entry("c"))
        assert [found["name"] for found in again.entries()] == ["a", "b", "c"]
        assert path.read_bytes() == filled(path.with_name("whole"), "a", "b", "c").path.read_bytes()

    def test_half_a_line_is_written_over(self, path: Path) -> None:
        filled(path, "a")
        with path.open("ab") as file:
            file.write(b'{"name": "b", "sha')
        again = Ledger(path)
        again.read(1)
        again.append(entry("c"))
        assert [found["name"] for found in again.entries()] == ["a", "c"]

    def test_a_step_is_undone(self, path: Path) -> None:
        ledger = filled(path, "a")
        before = ledger.mark
        ledger.append(entry("b"))
        ledger.undo(before)
        assert (len(ledger), "b" in ledger) == (1, False)
        ledger.undo(before)
        assert list(ledger.names()) == ["a"]

    @pytest.mark.parametrize(
        "line",
        [
            *["", "no JSON", "[]", "{}", json.dumps(entry("../../etc/passwd")), json.dumps(entry("..")), "[" * 100_000],
            json.dumps({**entry("b"), "record": {"step": 1}}),
            json.dumps({**entry("b"), "record": {**entry("b")["record"], "energy": [1]}}),
        ],
        ids=["too few", "no JSON", "a list", "nothing", "a path", "a folder", "a nest", "no record", "no number"],
    )
    def test_what_is_damaged_is_refused_in_one_line(self, line: str, path: Path) -> None:
        filled(path, "a")
        with path.open("a") as file:
            file.write(line + "\n" if line else "")
        with pytest.raises(UserError, match=r"state\.batches\.jsonl: damaged") as raised:
            Ledger(path).read(2)
        assert "\n" not in str(raised.value)

    def test_a_missing_one_is_missed(self, path: Path) -> None:
        with pytest.raises(UserError, match="missing"):
            Ledger(path).read(1)


def test_a_run_without_its_ledger_is_not_resumed_and_not_harmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, batches = write_stream(tmp_path / "in", 3)
    out = tmp_path / "out"
    command = ["adapt", str(source), "--label", "kind", "--id", "name", "--out", str(out), "--no-report"]
    assert main([*command, *map(str, batches[:2])]) == 0
    ledger = out / "state.batches.jsonl"
    kept = ledger.read_bytes()
    ledger.unlink()
    before = contents(out)
    assert main([*command, *map(str, batches), "--resume"]) != 0
    assert "state.batches.jsonl: missing" in capsys.readouterr().err
    assert contents(out) == before
    ledger.write_bytes(kept)
    assert main([*command, *map(str, batches), "--resume"]) == 0
    assert ledger.read_bytes().startswith(kept)
    assert len((out / "history.csv").read_text().splitlines()) == 4
