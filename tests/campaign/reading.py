"""What is done with a damaged file inside of the sandbox: it is read by the library as users read it."""

from __future__ import annotations

import base64
import contextlib
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.cli import main
from driftway.files import Columns, read_table

from .file_data import CLASSIFIERS, RUN_FILES, originals, run_arguments

BATCH = np.random.default_rng(1).normal(size=(12, 2)) + 1.0


def warm() -> None:
    """Reads one file of each kind, so that nothing is loaded later."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in originals().items():
            read({"name": name, "content": base64.b64encode(content).decode()})


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Writes the file of a request and reads it; a refusal by its class and message, or what was found."""
    content, name = base64.b64decode(request["content"]), request["name"]
    path = Path.cwd() / name
    try:
        if name in RUN_FILES:
            return _run_with(name, content)
        path.write_bytes(content)
        if name.startswith("state"):
            return _state(path)
        return _table(path)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return {"refused": kinds, "message": str(error)}


def _table(path: Path) -> dict[str, Any]:
    table = read_table(path, Columns(None, "kind", "name", frozenset({"label"})))
    cells = [cell for cell in table.X.ravel().tolist() if cell is not None and cell == cell]
    numbers, texts = ([cell for cell in cells if isinstance(cell, kind)] for kind in (float, str))
    whole = table.X.ndim == 2 and np.isfinite(numbers).all() and len(numbers) + len(texts) == len(cells)
    sizes = [len(table.X), *(len(each) for each in (table.labels, table.ids) if each is not None)]
    return {
        "taken": True,
        "whole": bool(whole and len(set(sizes)) == 1 and len(table.names) == table.X.shape[1]),
        "rows": len(table.X),
        "sum": repr(float(np.abs(numbers).sum())),
        "texts": len(texts),
        "gaps": int(table.X.size) - len(cells),
        "plain": all(each is None or isinstance(each, bool | int | float | str) for each in table.labels or []),
    }


def _state(path: Path) -> dict[str, Any]:
    kind = ContinuousTransportClassifier if path.stem in CLASSIFIERS else ContinuousTransportRegressor
    model = kind.load(path)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers = model.predict(BATCH)
            model.partial_fit(BATCH)
    except Exception as error:
        return {"taken": True, "after": f"{type(error).__name__}: {error}"}
    return {"taken": True, "whole": len(answers) == len(BATCH)}


@cache
def _whole_run() -> dict[str, bytes]:
    """The files of a run after two batches of three, which goes on with `--resume`."""
    folder = Path(tempfile.mkdtemp())
    try:
        arguments = run_arguments(folder)
        if main(arguments[:-1]):
            raise AssertionError("the run itself failed")
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    finally:
        shutil.rmtree(folder)


def _run_with(name: str, content: bytes) -> dict[str, Any]:
    """A run of which one file is another is taken up."""
    for other, whole in _whole_run().items():
        Path(other).parent.mkdir(parents=True, exist_ok=True)
        Path(other).write_bytes(whole)
    target = RUN_FILES[name]
    (Path.cwd() / target).write_bytes(content)
    before = sys.stderr.tell()
    code = main([*run_arguments(Path.cwd()), "--resume"])
    sys.stderr.seek(before)
    lines = sys.stderr.read().splitlines()
    found = sorted(path.name for path in Path("out/predictions").glob("*"))
    return {"code": code, "lines": lines, "predictions": found, "parts": [str(p) for p in Path().rglob("*.part")]}
