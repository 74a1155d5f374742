"""The Python blocks of the how-to pages run; those in the manner of a session are doctests and run as such.

A block that needs a package says so behind its language: python needs=pandas.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
BLOCK = re.compile(r"^```python(?: needs=(\w+))?\n(.*?)^```$", re.M | re.S)
SECTIONS = [
    ("bridges.md", "scikit-learn"),
    ("bridges.md", "skada"),
    ("bridges.md", "river"),
    ("streaming.md", None),
    ("own-regularizer.md", None),
]


def blocks(page: str, section: str | None) -> list[tuple[str, str]]:
    """What the blocks of a page, or of one of its sections, need, and their code."""
    text = (PAGES / page).read_text()
    if section is not None:
        text = re.search(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return BLOCK.findall(text)


def as_code(block: str) -> str:
    """The code of a session without what it prints."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block)) or block


@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_the_blocks_of_a_page_run_one_after_another(
    page: str, section: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blocks(page, section)
    assert found
    for needed in {needed for needed, _ in found if needed}:
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for _, block in found:
        exec(compile(as_code(block), f"{page} {section or ''}", "exec"), names)


def test_the_reference_is_written_without_a_warning(tmp_path: Path) -> None:
    for needed in ("pdoc", "torch", "jax", "skada", "river"):
        pytest.importorskip(needed)
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(PAGES / "reference.py"), str(tmp_path)]
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    page = (tmp_path / "driftway.html").read_text()
    assert 'id="solve"' in page
    assert 'id="ContinuousTransportClassifier.partial_fit"' in page
    assert 'id="ContinuousTransportClassifier.learn_many"' in (tmp_path / "driftway" / "river.html").read_text()
