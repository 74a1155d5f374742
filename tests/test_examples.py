"""Every example is short, runs and draws. What it needs is in its docstring, in a line `Needs: driftway[extra]`."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATHS = sorted((ROOT / "examples").glob("*/*.py"))
EXAMPLES = [pytest.param(path, id=path.stem) for path in PATHS]
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


def test_the_gallery_shows_every_example() -> None:
    assert len(PATHS) >= 20
    for header in (ROOT / "examples").glob("*/GALLERY_HEADER.rst"):
        listed = re.findall(r"^\.\. (\w+)$", header.read_text(encoding="utf-8"), re.M)
        assert sorted(listed) == [path.stem for path in PATHS if path.parent == header.parent]


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run_and_draw(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    absent = [name for extra in extras_of(docstring) for name in missing(extra.strip())]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path.name])
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums() or (tmp_path / "report.html").exists()
    plt.close("all")
    assert capsys.readouterr().out or "print(" not in path.read_text(encoding="utf-8")
