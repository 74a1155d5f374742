"""Whole files of every kind that the library reads, and ways to damage them."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.files import write_table

ROWS = 24
CLASSIFIERS = ("state_sensors", "state_both", "state_transport")
# Files of a run that goes on: their names here, and where they are.
RUN_FILES = {
    "run_state.npz": "out/state.npz",
    "run_ledger.jsonl": "out/state.batches.jsonl",
    "run_step.json": "out/steps/000002.json",
    "run_history.csv": "out/history.csv",
    "run_batch.csv": "batch3.csv",
}


def table_columns(shift: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    X = rng.normal(size=(ROWS, 2)) + 4.0 * y[:, None] + shift
    kinds = np.where(y, "upper", "lower")
    return {"name": np.array([f"n{k}" for k in range(ROWS)]), "east": X[:, 0], "north": X[:, 1], "kind": kinds}


def run_arguments(folder: Path) -> list[str]:
    """The command of a run; the last of its batches is the one that it goes on with."""
    for number in range(4):
        path = folder / ("source.csv" if number == 0 else f"batch{number}.csv")
        if not path.exists():
            write_table(path, table_columns(0.1 * number))
    given = ["adapt", str(folder / "source.csv"), "--label", "kind", "--id", "name", "--out", str(folder / "out")]
    given += ["--hypotheses", "sensors", "--estimator", "linear", "--no-report"]
    return [*given, *(str(folder / f"batch{number}.csv") for number in (1, 2, 3))]


@cache
def originals() -> dict[str, bytes]:
    """Whole files by name."""
    from driftway.cli import main

    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for ending in ("csv", "tsv", "npz", *(["parquet"] if find_spec("pyarrow") else [])):
            write_table(folder / f"table.{ending}", table_columns())
        (folder / "packed.npz").write_bytes(_npz(table_columns(), zipfile.ZIP_DEFLATED))
        y, X = np.arange(ROWS) % 2, np.column_stack([table_columns()[name] for name in ("east", "north")])
        models: dict[str, Any] = {
            "state_sensors": ContinuousTransportClassifier(KNeighborsClassifier(3), hypotheses="sensors"),
            "state_both": ContinuousTransportClassifier(LogisticRegression()),
            "state_transport": ContinuousTransportClassifier(map="barycentric", motion=None, hypotheses="transport"),
            "state_values": ContinuousTransportRegressor(Ridge()),
        }
        for name, model in models.items():
            model.fit(X, np.where(y, "b", "a") if name in CLASSIFIERS else X[:, 0])
            model.partial_fit(X + 0.1).partial_fit(X + 0.2).save(folder / f"{name}.npz")
        tables = {path.name: path.read_bytes() for path in folder.iterdir()}
        found |= tables
        run = folder / "run"
        run.mkdir()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if main(run_arguments(run)[:-1]):
                raise AssertionError("the run itself failed")
        found |= {name: (run / place).read_bytes() for name, place in RUN_FILES.items()}
    return dict(sorted(found.items()))


def _npz(arrays: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def damaged(name: str, content: bytes, rng: np.random.Generator) -> bytes:
    """The content, damaged in one of the ways that its format knows."""
    ways: list[Callable[[bytes, np.random.Generator], bytes]] = [flipped, cut, spliced, filled]
    if name.endswith((".csv", ".tsv")):
        ways += [cells] * 4
    if name.endswith(".npz"):
        ways += [members] * 4
        ways += [header] * 3 if "state" in name else []
    if name.endswith(".json"):
        ways += [lambda content, rng: values(content, rng)] * 4
    if name.endswith(".jsonl"):
        ways += [lines] * 4
    return ways[rng.integers(len(ways))](content, rng)


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes are others, half of the time at one of the ends, where sizes and methods are declared."""
    changed = bytearray(content)
    reach = min(len(content), 400)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content))) if rng.random() < 0.5 else int(rng.integers(-reach, reach))
        changed[at % len(content)] = int(rng.choice([0, 0xFF, 0x80, 0x7F, rng.integers(256)]))
    return bytes(changed)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, at either end."""
    at = int(rng.integers(len(content)))
    return content[:at] if rng.random() < 0.7 else content[at:]


def spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """A part is there twice, or in another place, or one of another file is in its place."""
    first, last = np.sort(rng.integers(len(content), size=2))
    others = list(originals().values())
    part = content[first:last] if rng.random() < 0.5 else others[rng.integers(len(others))][:200]
    at = int(rng.integers(len(content)))
    return content[:at] + part + content[at if rng.random() < 0.5 else at + len(part) :]


def filled(content: bytes, rng: np.random.Generator) -> bytes:
    """A part is one byte again and again: what a file system leaves where nothing was written."""
    first, last = np.sort(rng.integers(len(content) + 1, size=2))
    return content[:first] + bytes([int(rng.choice([0, 32, 255]))]) * int(last - first) + content[last:]


CELLS = ["", "nan", "inf", "-inf", "1e400", "-1e-400", "0x10", "1_0", "=1+1", "\0", '"', '""', "\ud7ff", "é", "1,5"]
CELLS += ["9" * 400, "x" * 70_000, "\r", "\n", ",", "\ufeff", "٣", " 1 ", "1e308", "None", "\u2028", "'", "%s", "{}"]


def cells(content: bytes, rng: np.random.Generator) -> bytes:
    """Some cells of a table are others, also in its header."""
    rows = [line.split(b",") for line in content.splitlines()]
    for _ in range(int(rng.integers(1, 4))):
        row = rows[0] if rng.random() < 0.25 else rows[rng.integers(len(rows))]
        what = rng.random()
        if what < 0.7:
            row[rng.integers(len(row))] = CELLS[rng.integers(len(CELLS))].encode()
        elif what < 0.8:
            row.append(b"1")
        elif what < 0.9 and len(row) > 1:
            row.pop()
        else:
            row[rng.integers(len(row))] = row[rng.integers(len(row))]
    return b"\n".join(b",".join(row) for row in rows) + b"\n"


def members(content: bytes, rng: np.random.Generator) -> bytes:
    """An array of an archive is gone, there under another name, or of another shape, type or content."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    names = [name for name in arrays if name != "header"]
    name, what = names[rng.integers(len(names))], rng.random()
    if what < 0.15:
        arrays.pop(name)
    elif what < 0.25:
        arrays[name + "x"] = arrays.pop(name)
    elif what < 0.35:
        arrays[name] = arrays[names[rng.integers(len(names))]]
    else:
        arrays[name] = other(arrays[name], rng)
    return _npz(arrays, zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED)


def other(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of another shape, type or content."""
    numbers = array.dtype.kind in "fiu"

    def with_one(value: Any) -> np.ndarray:
        changed = array.copy()
        if changed.size:
            changed.flat[rng.integers(changed.size)] = value
        return changed

    ways: list[Callable[[], np.ndarray]] = [
        lambda: array[None],
        lambda: array.ravel()[:-1] if array.size else np.zeros(3),
        lambda: array.astype(np.float32) if numbers else array.astype("U9"),
        lambda: array.astype("U30"),
        lambda: array.astype("S3"),
        lambda: array.astype(">f8") if numbers else array,
        lambda: np.zeros((0,) * array.ndim),
        lambda: np.zeros((0, 10**15)),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full(array.shape, np.inf),
        lambda: np.full_like(array, -1 if array.dtype.kind in "fi" else 0),
        lambda: np.full_like(array, 10**6 if numbers else 0),
        lambda: array * 1e200 if array.dtype.kind == "f" else np.ones(array.shape, dtype=np.complex128),
        lambda: np.zeros_like(array),
        lambda: np.repeat(array, 2, axis=-1) if array.ndim else np.zeros(2),
        lambda: array.T[..., ::-1] if array.ndim else np.ones(1),
        lambda: with_one(np.nan) if array.dtype.kind == "f" else with_one(array.dtype.type(1)),
        lambda: with_one(1e308) if array.dtype.kind == "f" else with_one(array.dtype.type(0)),
        lambda: np.full(array.shape, "2020-01-01", dtype="M8[D]"),
        lambda: np.zeros(array.shape, dtype=bool),
    ]
    return ways[rng.integers(len(ways))]()


FOREIGN = [None, True, -1, 0, 10**30, -0.5, float("nan"), "", "=x", [], [1], {}, {"given": "f"}, [[[]]], "auto"]
FOREIGN += ["../../x", "a\nb", "\x1b[2J", "\ud800", "x" * 5000, 1e308, [None] * 3, float("inf")]
FOREIGN += [{"estimator": name, "module": "sklearn.x", "parameters": {}} for name in ("Pipeline", "system", "Ridge")]


def header(content: bytes, rng: np.random.Generator) -> bytes:
    """Some value of the header of a state is another."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["header"] = np.frombuffer(values(arrays["header"].tobytes(), rng), dtype=np.uint8)
    return _npz(arrays)


def values(content: bytes, rng: np.random.Generator) -> bytes:
    """Some value of a JSON text, at some depth, is another one, or gone."""
    whole = place = json.loads(content)
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        below = place[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.8:
            place = below
            continue
        if rng.random() < 0.2:
            place.pop(key)
        else:
            place[key] = FOREIGN[rng.integers(len(FOREIGN))]
        return json.dumps(whole).encode()


def lines(content: bytes, rng: np.random.Generator) -> bytes:
    """Some line of JSON lines is another, there twice, or gone."""
    found = content.splitlines()
    at, what = int(rng.integers(len(found))), rng.random()
    if what < 0.6:
        found[at] = values(found[at], rng)
    elif what < 0.8:
        found.insert(at, found[rng.integers(len(found))])
    else:
        found.pop(at)
    return b"".join(line + b"\n" for line in found)
