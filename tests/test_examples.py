"""Every example runs, if what it says it needs is installed: a line `Needs: driftway[extra]` in its docstring."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SLOW = {"figure2_problem"}
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
    for path in sorted((ROOT / "examples").glob("*.py"))
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def extras_of(docstring: str) -> list[str]:
    """The extras that an example declares."""
    return [
        name for listed in re.findall(r"^Needs: driftway\[([\w, -]+)\]", docstring, re.M) for name in listed.split(",")
    ]


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    absent = []
    for requirement in EXTRAS[extra]:
        name = re.match(r"[\w.-]+", requirement)[0]
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            absent.append(name)
    return absent


def test_needs_are_read_and_missing_packages_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert extras_of("What it shows.\n\nNeeds: driftway[skada,river]\n\nRun: it") == ["skada", "river"]
    assert extras_of("Needs nothing.") == []
    monkeypatch.setitem(EXTRAS, "odd", ["numpy>=1", "no-such-package>=3"])
    assert missing("odd") == ["no-such-package"]


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    absent = [name for extra in extras_of(docstring) for name in missing(extra.strip())]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    run = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
