"""Files that are damaged or hostile are refused in one line, and stop nothing else."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import contents, moons, write_stream

from driftway.files import Columns, TableError, read_content, read_table, reading, write_table
from driftway.files.limits import ALWAYS_ALLOWED

pytest.importorskip("typer")
from driftway.cli import main

FEATURES = Columns(("east", "north"), None, "name")


def npz(columns: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.asarray(column), allow_pickle=False)
    return out.getvalue()


def npz_of_header(text: str) -> bytes:
    """A file whose array has a header of this text, and no entries."""
    header = text.encode() + b"\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("east.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    return out.getvalue()


def with_byte(content: bytes, at: int, value: int) -> bytes:
    changed = bytearray(content)
    changed[at] = value
    return bytes(changed)


def flipped(content: bytes) -> bytes:
    """One byte of the compressed data of the first array is another: zlib finds no code for it."""
    return content[:60] + bytes([content[60] ^ 0xFF]) + content[61:]


def in_directory(content: bytes, offset: int, value: int) -> bytes:
    """The first entry of the directory at the end of an archive with another byte."""
    return with_byte(content, content.index(b"PK\x01\x02") + offset, value)


@cache
def hostile_archives() -> dict[str, bytes]:
    batch: dict[str, Any] = dict(moons(1)[1][0])
    whole, packed = npz(batch), npz(batch, zipfile.ZIP_DEFLATED)
    shape = "{{'descr': '{}', 'fortran_order': False, 'shape': {}}}"
    bomb = npz({**batch, "more": np.zeros(ALWAYS_ALLOWED // 8 + 1)}, zipfile.ZIP_DEFLATED)
    first, second = (offset.to_bytes(4, "little") for offset in (0, whole.index(b"PK\x03\x04", 4)))
    return {
        "one array in the place of another": whole.replace(second, first),
        "a number of 5,000 digits": npz_of_header(shape.format("<f8", f"({'9' * 5000},)")),
        "65 dimensions": npz_of_header(shape.format("<f8", f"({'1,' * 65})")),
        "a shape of texts": npz_of_header(shape.format("<f8", "('5',)")),
        "a type that is no text": npz_of_header(shape.format("\\ud800", "(1,)")),
        "records": npz_of_header(shape.format("<f8,<i4", "(1,)")),
        "a header of 60,000 signs": npz_of_header("-" * 60_000 + "1"),
        "a flipped byte": flipped(packed),
        "a petabyte": npz_of_header(shape.format("<f8", "(10**15,)").replace("10**15", str(10**15))),
        "no entries in a long shape": npz_of_header(shape.format("<f8", f"(0, {10**15})")),
        "entries without size": npz_of_header(shape.format("<V0", f"({10**15},)")),
        "a negative shape": npz_of_header(shape.format("<f8", "(-1,)")),
        "a header that nests": npz_of_header("(" * 9000),
        "objects": npz_of_header(shape.format("|O", "(1,)")),
        "encrypted": in_directory(whole, 8, 1),
        "another compression": in_directory(whole, 10, 14),
        "a bomb": bomb,
        "a directory that lies": in_directory(whole, 27, 0x7F),
        "no text": npz({**batch, "name": np.frombuffer(np.full(30, 0xD800, "<u4").tobytes(), "<U1")}),
        "beyond Unicode": npz({**batch, "name": np.frombuffer(np.full(30, 0x7FFFFFFF, "<u4").tobytes(), "<U1")}),
    }


@pytest.mark.parametrize("kind", hostile_archives())
def test_an_archive_is_refused_before_it_is_unpacked(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "batch.npz"
    path.write_bytes(hostile_archives()[kind])
    with pytest.raises(TableError, match=r"batch\.npz: ") as refused:
        read_table(path, FEATURES)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 1000


def test_a_parquet_file_that_declares_more_than_it_may(tmp_path: Path) -> None:
    """A column of one value takes no room, whatever its number of rows."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = ALWAYS_ALLOWED // 8 + 1
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, dtype=np.int8)), pyarrow.array([1.0]))
    parquet.write_table(pyarrow.table({"east": column, "north": column}), tmp_path / "batch.parquet")
    assert (tmp_path / "batch.parquet").stat().st_size < 100_000
    with pytest.raises(TableError, match=r"batch\.parquet: .*more than the \d+ bytes that are allowed"):
        read_table(tmp_path / "batch.parquet", Columns(("east", "north")))


def test_texts_that_are_repeated_are_held_once_and_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    batch = {**moons(1)[1][0], "name": ["x" * 2000] * 30}
    write_table(tmp_path / "batch.parquet", batch)
    ids = read_table(tmp_path / "batch.parquet", FEATURES).ids
    assert ids == batch["name"]
    assert len(set(map(id, ids or []))) == 1
    monkeypatch.setattr(reading, "unpacked_limit", lambda size: 50_000)
    with pytest.raises(TableError, match="column 'name': 60000 characters of text are more than the 50000"):
        read_table(tmp_path / "batch.parquet", FEATURES)


def test_a_parquet_file_that_lies_about_its_footer(tmp_path: Path) -> None:
    """Its length is negative, longer than the file, or that of an encrypted one."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "batch.parquet"
    write_table(path, moons(1)[1][0])
    whole = path.read_bytes()
    footers = [(-5).to_bytes(4, "little", signed=True) + b"PAR1", b"\xff\xff\xff\x7fPAR1", whole[-8:-4] + b"PARE"]
    for content in (*(whole[:-8] + footer for footer in footers), whole[:-20], b"PAR1PAR1"):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"batch\.parquet: not a valid Parquet file") as refused:
            read_table(path, FEATURES)
        assert len(str(refused.value).splitlines()) == 1


# Reads a Parquet file with each byte of its footer changed, and says so at the end, if the process lives to see it.
FLIPS = """
import sys
from pathlib import Path
from driftway.files import Columns, TableError, read_table

path = Path(sys.argv[1])
whole, taken = path.read_bytes(), 0
for at in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole)):
    for bits in (0x01, 0x20):
        content = whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1:]
        try:
            read_table(path, Columns(("east", "north"), None, "name"), content=content)
            taken += 1
        except TableError as error:
            assert len(str(error).splitlines()) == 1
print("read", taken > 0)
"""


def test_no_byte_of_a_parquet_footer_ends_the_process(tmp_path: Path) -> None:
    """PyArrow ended it where sizes of chunks were asked for, so that a watched folder stopped at the file for good."""
    pytest.importorskip("pyarrow")
    write_table(tmp_path / "batch.parquet", moons(1)[1][0])
    command = [sys.executable, "-c", FLIPS, str(tmp_path / "batch.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "read True\n"), done.stderr


def test_a_matrix_of_more_columns_than_its_file_may_have(tmp_path: Path) -> None:
    """Ten million columns of zeros are packed into 20 kB, and took gigabytes as arrays with names."""
    (tmp_path / "batch.npz").write_bytes(npz({"X": np.zeros((2, 10**7), np.uint8)}, zipfile.ZIP_DEFLATED))
    with pytest.raises(
        TableError, match=r"10000000 columns are more than the \d+ that are allowed for a file of \d+ bytes"
    ):
        read_table(tmp_path / "batch.npz", Columns(("X0",)))
    (tmp_path / "batch.npz").write_bytes(npz({"X": np.arange(80_000.0).reshape(2, -1)}))
    assert read_table(tmp_path / "batch.npz", Columns()).X.shape == (2, 40_000)


def test_columns_of_lists_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """A row of them may have any number of values, which no declared number of rows limits."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lists, records = [[0.0] * 3] * 2, [{"a": 1.0}] * 2
    for column in (lists, records, [lists] * 2):
        parquet.write_table(pyarrow.table({"east": column, "north": [1.0, 2.0]}), tmp_path / "batch.parquet")
        for columns in (Columns(("east", "north")), Columns(("north",), None, "east")):
            with pytest.raises(TableError, match=r"column .east.: its entries must be plain values, got (list|struct)"):
                read_table(tmp_path / "batch.parquet", columns)


def test_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "batch.csv").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(TableError, match=r"batch\.csv: the file is too large: \d+ bytes, at most \d+ fit into memory"):
        read_table(tmp_path / "batch.csv", FEATURES)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Also where a regular file was when the folder was listed."""
    os.mkfifo(tmp_path / "batch.csv")
    for path in (tmp_path / "batch.csv", Path(os.devnull)):
        with pytest.raises(TableError, match="it is no regular file; pipes and devices are not read"):
            read_content(path)


@pytest.mark.parametrize("grown", [-1, 1, 10**6])
def test_no_more_is_read_than_there_was(grown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes its size between the look at it and the end of reading is refused."""
    path, honest, sizes = tmp_path / "batch.csv", os.fstat, list[int]()
    path.write_bytes(b"x" * 1000)

    def fstat(file: int) -> os.stat_result:
        found = honest(file)
        if honest(file).st_ino == path.stat().st_ino:
            if not sizes:
                os.truncate(path, 1000 + grown)
            sizes.append(found.st_size)
        return found

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(TableError, match=r"batch\.csv: it changed while it was read"):
        read_content(path)
    assert sizes[0] == 1000


def test_a_file_that_changes_while_it_is_refused_is_offered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was wrong with half of it is not told, and one that is gone is no refused one."""
    from driftway.cli import inputs

    source, batches = write_stream(tmp_path / "in", 2)
    folder, out, honest = tmp_path / "watched", tmp_path / "out", inputs.read_content
    folder.mkdir()
    whole = [(folder / path.name, path.read_bytes()) for path in batches]
    for path, content in whole:
        path.write_bytes(content[: len(content) // 2] + b"\n")

    def read(path: Path) -> bytes:
        content, done = honest(path), whole[0][1]
        if path.name == batches[0].name and content != done:
            path.write_bytes(done)
        elif path.name == batches[1].name:
            path.unlink()
        return content

    monkeypatch.setattr(inputs, "read_content", read)
    given = ["adapt", str(source), "--label", "kind", "--id", "name", "--watch", str(folder), "--out", str(out)]
    given += ["--interval", "0.001", "--until-idle", "0", "--no-report", "--hypotheses", "sensors"]
    assert main([*given, "--estimator", "linear"]) == 0
    assert "fields" not in capsys.readouterr().err
    assert [path.name for path in (out / "predictions").iterdir()] == [batches[0].name]


def test_a_watched_folder_goes_on_whatever_its_files_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Damaged files, names that are no text or too long: one line each, and nothing half-done."""
    pytest.importorskip("pyarrow")
    source, batches = write_stream(tmp_path / "in", 2)
    folder, out = tmp_path / "watched", tmp_path / "out"
    folder.mkdir()
    good = [path.rename(folder / path.name).name for path in batches]
    whole = (folder / good[1]).read_bytes()
    bad = {
        **{f"a{number:02d}.npz": content for number, content in enumerate(hostile_archives().values())},
        os.fsdecode(b"caf\xe9.csv"): whole,
        "line\nfeed.csv": b"name,east\n",
        f"{'long' * 62}abc.csv": whole,
    }
    for name, content in bad.items():
        (folder / name).write_bytes(content)
    given = ["adapt", str(source), "--label", "kind", "--id", "name", "--watch", str(folder), "--out", str(out)]
    given += ["--interval", "0.001", "--until-idle", "0", "--no-report", "--hypotheses", "sensors", "--resume"]
    for attempt in range(2):
        assert main([*given, "--estimator", "linear", "--format", "parquet"]) == 2
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("driftway: ")]
        others = ("has labels", "adapted to", "driftway: warning: ")
        refused = [line for line in lines if not any(other in line for other in others)]
        assert len(refused) == len(bad), (attempt, refused)
        assert sum("is not UTF-8; rename it" in line for line in refused) == 1
        assert sum("more than 255 bytes; rename it" in line for line in refused) == 1
    assert sorted(path.stem for path in (out / "predictions").iterdir()) == [name[:-4] for name in good]
    assert len(list((out / "steps").iterdir())) == 2


def test_a_step_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a batch leads to, the run is as it was before it."""
    from driftway.cli import run

    source, (batch,) = write_stream(tmp_path / "in", 1)
    out, honest = tmp_path / "out", write_table

    def failing(path: Path, *given: Any, **named: Any) -> None:
        if path.parent.name == "predictions":
            raise MemoryError("too large")
        honest(path, *given, **named)

    monkeypatch.setattr(run, "write_table", failing)
    given = ["adapt", str(source), str(batch), "--label", "kind", "--id", "name", "--out", str(out), "--resume"]
    given += ["--hypotheses", "sensors", "--estimator", "linear", "--no-report"]
    assert main(given) == 1
    assert "MemoryError: too large" in capsys.readouterr().err
    assert sorted(contents(out)) == [".state.npz.lock", "state.npz"]
    monkeypatch.undo()
    assert main(given) == 0
    assert "predictions/batch01.csv" in contents(out)


class Counted(str):
    """A text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_columns_are_found_in_linear_time() -> None:
    """Comparisons of names grow as the number of columns does, not as its square; half of them hold texts."""
    counts = []
    for size in (200, 800):
        names = [f"column{j}" for j in range(size)]
        rows = [",".join(names), *(",".join([str(k), "a"] * (size // 2)) for k in range(2))]
        Counted.compared = 0
        wanted = Columns(tuple(map(Counted, reversed(names))))
        table = read_table(Path("wide.csv"), wanted, separator=",", content="\n".join(rows).encode())
        assert (table.X.shape, len(table.categories)) == ((2, size), size // 2)
        counts.append(Counted.compared)
    assert counts[1] <= 8 * counts[0] + 100
    assert counts[1] < 20 * 800


FORMULAS = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx", "-", '=HYPERLINK("http://x")']
FORMULAS += ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"]  # full-width
HARMLESS = ["-1.5", "+2e3", "-.5", "a=1", "", "x-y", "1"]


def test_texts_that_a_spreadsheet_would_execute_are_written_behind_an_apostrophe(tmp_path: Path) -> None:
    texts = FORMULAS + HARMLESS
    columns = {"=id": texts, "number": -np.arange(1.0, len(texts) + 1)}
    for name, escape in (("escaped.csv", True), ("plain.csv", False), ("escaped.npz", True)):
        write_table(tmp_path / name, columns, escape=escape)

    def rows(name: str) -> list[list[str]]:
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            return list(csv.reader(file))

    first, *rest = rows("escaped.csv")
    assert first == ["'=id", "number"]
    assert [row[0] for row in rest] == [f"'{text}" for text in FORMULAS] + HARMLESS
    assert [float(row[1]) for row in rest] == columns["number"].tolist()  # type: ignore[union-attr]
    assert [row[0] for row in rows("plain.csv")] == ["=id", *texts]
    assert read_table(tmp_path / "escaped.npz", Columns(None, None, "=id")).ids == texts


@pytest.mark.parametrize("separator", [",", ";", "|", "\t", "\r", "\n", "\r\n"])
@pytest.mark.parametrize("start", ["", " ", '"', ' "'])
def test_what_another_program_takes_for_a_cell_is_no_formula_either(separator: str, start: str, tmp_path: Path) -> None:
    """A text may hold what separates cells in another country, where quotations inside of cells are none."""
    text, harmless = f"x{separator}{start}=1+1", f"x{separator}{start}y=1"
    for ending in ("csv", "tsv"):
        path = tmp_path / f"escaped.{ending}"
        write_table(path, {"n": [1, 2], f"p_{text}": [text, harmless]}, escape=True)
        content = path.read_bytes().decode()
        cells = re.split(r"[,;|\t\r\n]", content)
        assert not [cell for cell in cells if re.match(r'[ "]*=', cell)], content
        assert read_table(path, Columns(("n",), None, f"p_x{separator}'{start}=1+1")).ids == [
            f"x{separator}'{start}=1+1",
            harmless,
        ]


def test_predictions_are_safe_to_open_in_a_spreadsheet_unless_it_is_switched_off(tmp_path: Path) -> None:
    source, batches = write_stream(tmp_path / "in", 1)
    for path in (source, *batches):
        path.write_text(path.read_text().replace("upper", "=1+1").replace("001-000", "@x"))
    given = ["adapt", str(source), str(batches[0]), "--label", "kind", "--id", "name", "--no-report"]
    given += ["--hypotheses", "sensors", "--estimator", "linear"]
    for more, wanted in (([], {"'=1+1", "lower"}), (["--no-escape-formulas"], {"=1+1", "lower"})):
        out = tmp_path / f"out{len(more)}"
        assert main([*given, *more, "--out", str(out)]) == 0
        with (out / "predictions" / "batch01.csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert {line["predicted"] for line in lines} <= wanted
        assert {line["predicted"] for line in lines} & {"'=1+1", "=1+1"}
        assert lines[0]["name"] == ("@x" if more else "'@x")


def test_control_characters_of_names_do_not_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from driftway.cli.terminal import print_message

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", stream)
    print_message("driftway: a\nb\x1b[2J\udce9é.csv")
    stream.seek(0)
    assert stream.read() == "driftway: a\\nb\\x1b[2J\\udce9\\xe9.csv\n"
