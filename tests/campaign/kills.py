"""Trials of runs that are killed: `driftway adapt` in a process that is gone at some moment, and resumed.

Processes are forks of one that has loaded everything, so that a trial costs what its steps cost.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from driftway import ContinuousTransportClassifier
from driftway.cli import main

from .file_data import table_columns
from .outcome import Outcome

Spec = dict[str, Any]
STEPS = 4
# What ends a process before the file system is asked for one of these.
EVENTS = ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock")
PROBES = np.random.default_rng(2).normal(size=(8, 2)) + 2.0
DEADLINE = 120.0  # seconds of processor time, beyond which a process that has to end by itself hangs


def draw(rng: np.random.Generator) -> Spec:
    """A run, and when its processes are killed: before so many requests to the system, or after a share of its time."""
    times = []
    for _ in range(int(rng.integers(1, 4))):
        by_time = bool(rng.random() < 0.4)
        times.append(round(float(rng.uniform(0, 1)), 4) if by_time else int(rng.integers(1, 80)))
    return {
        "watched": bool(rng.random() < 0.5),
        "ending": str(rng.choice(["csv", "npz"])),
        "hypotheses": str(rng.choice(["sensors", "auto"])),
        "report": bool(rng.random() < 0.1),
        "kills": times,
    }


def simpler(spec: Spec) -> Iterator[Spec]:
    """Fewer kills of a simpler run."""
    if len(spec["kills"]) > 1:
        yield from ({**spec, "kills": spec["kills"][:k] + spec["kills"][k + 1 :]} for k in range(len(spec["kills"])))
    for name, value in {"watched": False, "ending": "csv", "hypotheses": "sensors", "report": False}.items():
        if spec[name] != value:
            yield {**spec, name: value}


def close() -> None:
    """Nothing is held between trials."""


def run(spec: Spec) -> Outcome:
    """Kills a run some times, lets it end, and compares it with one that was not disturbed."""
    outcome = Outcome()
    wanted, seconds = undisturbed(spec["watched"], spec["ending"], spec["hypotheses"], spec["report"])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        arguments = prepared(folder, spec)
        for moment in spec["kills"]:
            status = _process(arguments, moment, seconds)
            outcome.count("kills" if os.WIFSIGNALED(status) else "kills that came too late")
            _judge_files(folder, f"killed at {moment}", outcome)
        status = _process(arguments, None, seconds)
        if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != 0:
            outcome.fail("not resumed", f"{spec['kills']}", f"status {status}: {(folder / 'told').read_text()[-800:]}")
        else:
            _compare(found_in(folder), wanted, outcome)
    outcome.count("runs")
    return outcome


def prepared(folder: Path, spec: Spec) -> list[str]:
    """Writes the files of a run, and returns its arguments."""
    from driftway.files import write_table

    (folder / "in").mkdir()
    paths = [folder / "source.csv", *(folder / "in" / f"batch{t}.{spec['ending']}" for t in range(1, STEPS + 1))]
    for number, path in enumerate(paths):
        write_table(path, table_columns(0.15 * number))
    batches = [str(path) for path in paths[1:]]
    if spec["watched"]:
        batches = ["--watch", str(folder / "in"), "--interval", "0.001", "--until-idle", "0"]
    given = ["adapt", str(paths[0]), *batches, "--label", "kind", "--id", "name", "--out", str(folder / "out")]
    given += ["--hypotheses", spec["hypotheses"], "--estimator", "linear", "--resume"]
    return given if spec["report"] else [*given, "--no-report"]


@cache
def undisturbed(watched: bool, ending: str, hypotheses: str, report: bool) -> tuple[dict[str, Any], float]:
    """What a run leaves that nobody disturbs, and how many seconds it takes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spec = {"watched": watched, "ending": ending, "hypotheses": hypotheses, "report": report}
        arguments, began = prepared(folder, spec), time.monotonic()
        if _process(arguments, None, 0.0) != 0:
            raise AssertionError((folder / "told").read_text())
        return found_in(folder), time.monotonic() - began


def _process(arguments: list[str], moment: float | None, seconds: float) -> int:
    """The status with which a process ended that ran the command, and was killed at a moment."""
    told = Path(arguments[arguments.index("--out") + 1]).parent / "told"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = _run(arguments, moment if isinstance(moment, int) else None, told)
        finally:
            os._exit(code)
    if isinstance(moment, float):
        time.sleep(moment * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _run(arguments: list[str], events: int | None, told: Path) -> int:
    """In the child: the command, which ends without a word before so many requests to the file system."""
    signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
    descriptor = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    left = [events]

    def hook(event: str, _: Any) -> None:
        if event in EVENTS and left[0] is not None:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if events is not None:
        sys.addaudithook(hook)
    code = main(arguments)
    sys.stderr.flush()
    return code


def found_in(folder: Path) -> dict[str, Any]:
    """What a run left, without the seconds that its steps took."""
    out = folder / "out"
    with (out / "history.csv").open(newline="", encoding="utf-8") as file:
        history = [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]
    steps = {}
    for path in sorted((out / "steps").iterdir()):
        kept = json.loads(path.read_text())
        kept["snapshot"].get("record", {}).pop("seconds", None)
        steps[path.name] = kept
    model = ContinuousTransportClassifier.load(out / "state.npz")
    return {
        "predictions": {path.name: path.read_bytes() for path in (out / "predictions").iterdir()},
        "history": history,
        "steps": steps,
        "ledger": [json.loads(line)["name"] for line in (out / "state.batches.jsonl").read_text().splitlines()],
        "state": (model.n_steps_, model.predict_proba(PROBES).tobytes()),
        "files": sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()),
    }


def _judge_files(folder: Path, where: str, outcome: Outcome) -> None:
    """After a kill every file is whole: state, predictions and snapshots are there as they should be, or not at all."""
    out = folder / "out"
    try:
        steps = ContinuousTransportClassifier.load(out / "state.npz").n_steps_ if (out / "state.npz").exists() else 0
        for path in (out / "predictions").glob("*"):
            if not path.name.startswith(".") and path.suffix == ".csv":
                rows = list(csv.reader(path.open(newline="", encoding="utf-8")))
                if len(rows) != len(table_columns()["name"]) + 1 or len({len(row) for row in rows}) != 1:
                    raise ValueError(f"{path.name} has {len(rows)} rows")
        for path in (out / "steps").glob("[0-9]*.json"):
            json.loads(path.read_text())
        ledger = out / "state.batches.jsonl"
        lines = ledger.read_bytes().splitlines() if ledger.exists() else []
        if len(lines) < steps:
            raise ValueError(f"{steps} steps, and a ledger of {len(lines)} lines")
    except Exception as error:
        outcome.fail("half-written", where, f"{type(error).__name__}: {error}")


def _compare(found: dict[str, Any], wanted: dict[str, Any], outcome: Outcome) -> None:
    for name, value in wanted.items():
        if found[name] != value:
            told = f"{found[name]!r:.500} instead of {value!r:.500}"
            outcome.fail("another result", name, told)
