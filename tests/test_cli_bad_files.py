"""Bad files and bad places: one line that names them, exit code 2, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from files import moons, write_stream

from driftway.cli import main
from driftway.files import write_table

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

Spoil = Callable[[Path, Path], None]


def source_without(column: str) -> Spoil:
    return lambda source, _: write_table(source, {name: v for name, v in moons(0)[0].items() if name != column})


def source_with(**columns: object) -> Spoil:
    return lambda source, _: write_table(source, {**moons(0)[0], **columns})  # type: ignore[dict-item]


def batch_without(column: str) -> Spoil:
    return lambda _, batch: write_table(batch, {name: v for name, v in moons(1)[1][0].items() if name != column})


def line_of_batch(number: int, text: str) -> Spoil:
    def spoil(_: Path, batch: Path) -> None:
        lines = batch.read_text().splitlines()
        lines[number - 1] = text
        batch.write_text("\n".join(lines) + "\n")

    return spoil


def batch_bytes(content: bytes) -> Spoil:
    return lambda _, batch: batch.write_bytes(content) and None


BAD: dict[str, tuple[Spoil, str]] = {
    "missing column": (batch_without("north"), "batch02.csv: there is no column 'north'"),
    "missing id": (batch_without("name"), "batch02.csv: there is no column 'name'"),
    "text": (line_of_batch(5, "p,high,1.0"), "batch02.csv: line 5, column 'east': 'high' is not a number"),
    "question mark": (line_of_batch(5, "p,?,1.0"), "batch02.csv: line 5, column 'east': '?' is not a number"),
    "infinite": (line_of_batch(5, "p,1.0,-inf"), "batch02.csv: line 5, column 'north': -inf is not a finite"),
    "short row": (line_of_batch(7, "p,1.0"), "batch02.csv: line 7: 2 fields, but the header has"),
    "long row": (line_of_batch(7, "p,1,2,3,4,5"), "batch02.csv: line 7: 6 fields, but the header has"),
    "open quotation": (line_of_batch(7, '"p,1,2'), "batch02.csv: line "),
    "empty": (batch_bytes(b""), "batch02.csv: the file is empty"),
    "only a header": (batch_bytes(b"name,east,north\n"), "batch02.csv: there are no rows"),
    "one row": (
        batch_bytes(b"name,east,north\np,1,2\n"),
        "batch02.csv: at least two different rows are needed, but there is one",
    ),
    "encoding": (line_of_batch(3, "p,1,2"), ""),
    "utf-16": (batch_bytes("name,east,north\np,1,2\n".encode("utf-16")), "batch02.csv: line 1: not UTF-8"),
    "twice": (
        batch_bytes(b"name,east,east,north\np,1,2,3\n"),
        "batch02.csv: column 'east': several columns have this name",
    ),
    "nothing there": (lambda _, batch: batch.unlink(), "batch02.csv: there is no such file"),
    "a folder": (
        lambda _, batch: batch.unlink() or batch.mkdir(),
        "batch02.csv: is a folder; name its files, or use --watch",
    ),
    "no source": (lambda source, _: source.unlink(), "source.csv: there is no such file"),
    "no label": (source_without("kind"), "source.csv: there is no column 'kind'"),
    "label missing": (
        source_with(kind=["a", "", *["b"] * 58]),
        "source.csv: line 3, column 'kind': the label is missing; fill it in or remove the row",
    ),
    "one class": (
        source_with(kind=["a"] * 60),
        "source.csv: column 'kind': at least two classes are needed, all labels are 'a'",
    ),
    "quantities": (
        source_with(kind=np.arange(60) / 7),
        "source.csv: line 3, column 'kind': 0.14285714285714285 is not a class",
    ),
    "text among numbers": (
        source_with(more=[1.0, "red"] * 30),
        "source.csv: line 3, column 'more': 'red' is not a number",
    ),
    "number among texts": (
        source_with(more=["red", 1.0] * 30),
        "source.csv: line 2, column 'more': 'red' is not a number, but '1.0' is; a column holds numbers or categories",
    ),
    "names of rows": (
        source_with(more=[f"row {number}" for number in range(60)]),
        "source.csv: column 'more' has 60 different texts in 60 rows: these are names of rows, no categories",
    ),
    "nothing in a column": (
        source_with(more=[None] * 60),
        "source.csv: X must have a value in every column, but 'more' has none on the source",
    ),
}
BAD["encoding"] = (
    lambda _, batch: batch.write_bytes(batch.read_bytes().replace(b"001-002", b"\xe9")) and None,
    "batch02.csv: line 4: not UTF-8 (byte 0xe9)",
)


@pytest.mark.parametrize("kind", BAD)
def test_malformed_files(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, complaint = BAD[kind]
    source, batches = write_stream(tmp_path, 2)
    write_table(batches[1], moons(1)[1][0])
    spoil(source, batches[1])
    before = sorted(tmp_path.rglob("*"))
    given = ["--label", "kind", "--id", "name", "--out", str(tmp_path / "out")]
    assert main(["adapt", str(source), *map(str, batches), *given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--label", "kind", "--out", "{}/source.csv"], "source.csv: cannot create this folder"),
        (["--label", "kind", "--out", "{}/source.csv/out"], "cannot create this folder"),
        (["--label", "name", "--id", "name"], "--label and --id must be different"),
        (["--label", "kind", "--features", "east,kind"], "--features must name columns other than label and id"),
        (["--label", "kind", "--features", "east,east"], "--features must name each column once"),
        (["--label", "kind", "--features", "east,west"], "there is no column 'west'; the most similar one is 'east'"),
        (["--label", "kind", "--separator", "::"], "--separator must be one character"),
        (["--label", "kind", "--epsilon", "-1"], "driftway: --epsilon must be in (0, inf), got -1"),
        (["--label", "kind", "--metric", "taxi"], "driftway: --metric must be"),
        (["--label", "kind", "--neighbours", "0"], "--neighbours must be at least 1"),
        (["--label", "kind", "--neighbours", "100"], "--neighbours 100 is more than the 60 rows"),
        (["--label", "kind", "--neighbours", "3", "--estimator", "forest"], "--neighbours goes with"),
        (["--label", "kind", "--until-idle", "3"], "--until-idle needs --watch"),
        (["--label", "kind", "--watch", "{}"], "give either batches or --watch"),
        (["--label", "kind", "--regression"], "source.csv: line 2, column 'kind': "),
        (["--label", "kind", "{}/batch01.csv"], "this batch is named twice"),
        (["--label", "kind", "{}/more/batch01.csv"], "its predictions would overwrite those of"),
        (["--label", "kind", "--map", "affine"], "--map and --motion must both be auto, or neither; got --map affine"),
        (["--label", "kind", "--tol", "0"], "driftway: --tol must be in"),
        (["--label", "kind", "--solver-iterations", "0"], "driftway: --solver-iterations must be"),
        (["--label", "kind", "{}/table.xlsx"], "table.xlsx: unknown extension '.xlsx'"),
    ],
)
def test_options_that_cannot_be(
    more: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source, batches = write_stream(tmp_path, 1)
    write_stream(tmp_path / "more", 1)
    given = [text.format(tmp_path) for text in ["--features", "east,north", *more]]
    assert main(["adapt", str(source), *map(str, batches), *given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch01.csv", "more", "source.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, batches = write_stream(tmp_path / "in", 1)
    (tmp_path / "out").mkdir(mode=0o500)
    given = ["--label", "kind", "--id", "name", "--out", str(tmp_path / "out")]
    assert main(["adapt", str(source), *map(str, batches), *given]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_half_a_file_of_another_format(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, batches = write_stream(tmp_path, 1, ending)
    batches[0].write_bytes(batches[0].read_bytes()[:-40])
    given = ["--label", "kind", "--id", "name", "--out", str(tmp_path / "out")]
    assert main(["adapt", str(source), *map(str, batches), *given]) == 2
    err = capsys.readouterr().err
    assert f"batch01.{ending}: not a valid" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
