"""Trials of damaged files: tables, saved states, and what a run keeps."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .file_data import RUN_FILES, damaged, originals
from .outcome import Outcome
from .sandbox import Sandbox

Spec = dict[str, Any]
SLOW, LARGE, LONGEST = 5.0, 2**30, 2000  # seconds and bytes that one small file may take; characters of a message
# What stands for nothing in a cell, as docs/command-line.md says.
GAPS = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"}
SANDBOX = Sandbox()
# What goes wrong with the file itself and has nothing to do with its content.
CRASHES = re.compile(r"Traceback|MemoryError|out of memory|RecursionError|AssertionError")


def draw(rng: np.random.Generator) -> Spec:
    """A kind of file, and how often and by which random numbers it is damaged."""
    names = [name for name in originals() for _ in range(1 if name in RUN_FILES else 3)]
    name = names[rng.integers(len(names))]
    return {"name": name, "times": int(rng.choice([1, 1, 1, 2, 3])), "seed": int(rng.integers(2**31))}


def simpler(spec: Spec) -> Iterator[Spec]:
    """The same file, damaged less often."""
    yield from ({**spec, "times": times} for times in range(1, spec["times"]))


def close() -> None:
    """Ends the process that reads."""
    SANDBOX.close()


def content_of(spec: Spec) -> bytes:
    """The damaged file."""
    rng, content = np.random.default_rng(spec["seed"]), originals()[spec["name"]]
    for _ in range(spec["times"]):
        try:
            content = damaged(spec["name"], content, rng)
        except Exception:  # it is too damaged already for damage of this kind
            break
    return content


def run(spec: Spec) -> Outcome:
    """Has the damaged file read in the sandbox, and judges what came of it."""
    outcome, name, content = Outcome(), spec["name"], content_of(spec)
    if not content:
        content = b"\n"
    found = SANDBOX.ask({"name": name, "content": base64.b64encode(content).decode()})
    if "died" in found:
        outcome.fail("hang" if found["died"] == -26 else "crash", name, f"the process ended with {found['died']}")
        return outcome
    if found["seconds"] > SLOW or found["grown"] > LARGE:
        outcome.fail("too much", name, f"{found['seconds']:.1f} s, {found['grown'] / 2**20:.0f} MiB")
    if found["warnings"]:
        outcome.fail("warning", name, found["warnings"][0])
    if "code" in found:
        _judge_run(name, found, outcome)
    elif "refused" in found:
        _judge_refusal(name, found, outcome)
    else:
        outcome.count("taken")
        if not found.get("whole", True) or not found.get("plain", True):
            outcome.fail("taken", name, f"what was read is not whole: {found}")
        if "after" in found:
            outcome.fail("after load", name, found["after"])
        if name.endswith((".csv", ".tsv")) and "sum" in found:
            _judge_table(name, content, found, outcome)
    return outcome


def _judge_refusal(name: str, found: dict[str, Any], outcome: Outcome) -> None:
    """One line, of the documented kind, that names the file."""
    outcome.count("refused")
    wanted = "StateError" if name.startswith("state") else "TableError"
    message = found["message"]
    if wanted not in found["refused"]:
        outcome.fail("exception", name, f"{found['refused'][0]}: {message}")
    elif name not in message or len(message.splitlines()) != 1 or len(message) > LONGEST:
        outcome.fail("message", name, f"does not name the file in one line: {message!r}")
    if CRASHES.search(message):
        outcome.fail("exception", name, message)


def _judge_run(name: str, found: dict[str, Any], outcome: Outcome) -> None:
    """The run goes on, or says in one line why not; nothing is half-written, and no predictions are lost."""
    lines = [line for line in found["lines"] if line.strip()]
    told = "\n".join(lines)
    outcome.count("runs that went on" if found["code"] == 0 else "runs refused")
    if found["code"] not in (0, 2) or CRASHES.search(told):
        outcome.fail("exception", name, f"exit code {found['code']}: {told[:600]}")
    if found["code"] == 2 and not any(line.startswith("driftway: ") for line in lines):
        outcome.fail("message", name, f"no reason is told: {told[:600]}")
    wanted = {"batch1.csv", "batch2.csv"} | ({"batch3.csv"} if found["code"] == 0 else set())
    if not wanted <= set(found["predictions"]) or found["parts"]:
        outcome.fail("lost", name, f"predictions {found['predictions']}, parts {found['parts']}")


def _judge_table(name: str, content: bytes, found: dict[str, Any], outcome: Outcome) -> None:
    """Plain tables, without quotes, have the numbers that Python reads in their cells, and as many texts and gaps."""
    text = content.decode("utf-8-sig")
    if any(char in text for char in '"\r\0\u2028\x0b\x0c\x1c\x1d\x1e\x85'):
        return
    usual = "\t" if name.endswith(".tsv") else ","
    first = next((line for line in text.split("\n") if line.strip()), "")
    separator = max(usual, ";", "\t", "|", ",", key=lambda char: (char == usual and char in first, first.count(char)))
    header, *rows = [[cell.lstrip(" ") for cell in line.split(separator)] for line in text.split("\n") if line != ""]
    keep = [j for j, column in enumerate(header) if column not in ("name", "kind")]
    cells = [row[j].strip() for row in rows for j in keep]
    numbers = [float(cell) for cell in cells if cell not in GAPS and _is_number(cell)]
    gaps = sum(cell in GAPS for cell in cells)
    told = len(rows), gaps, len(cells) - gaps - len(numbers)
    same = np.isclose(np.abs(numbers).sum(), float(found["sum"]), rtol=1e-12)
    if told != (found["rows"], found["gaps"], found["texts"]) or not same:
        outcome.fail("taken", name, f"{found}; there are {told[0]} rows, {told[1]} gaps, {told[2]} texts")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
