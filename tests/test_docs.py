"""The Python blocks of the how-to pages run; those in the manner of a session are doctests and run as such.

A block that needs a package says so behind its language: python needs=pandas.
"""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest
from sklearn.datasets import make_moons

from driftway import AdaptationWarning

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
BLOCK = re.compile(r"^```python(?: needs=(\w+))?\n(.*?)^```$", re.M | re.S)
SECTIONS = [
    ("bridges.md", "scikit-learn"),
    ("bridges.md", "skada"),
    ("bridges.md", "river"),
    ("bridges.md", "skops and ONNX"),
    ("bridges.md", "AnnData: cells in, plans out"),
    ("bridges.md", "Arrays of other libraries"),
    ("streaming.md", None),
    ("own-regularizer.md", None),
    ("get-started.md", None),
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        for _, block in found:
            exec(compile(as_code(block), f"{page} {section or ''}", "exec"), names)


def test_the_first_steps_give_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of get-started.md, on the files that its first block writes."""
    pytest.importorskip("typer")
    from driftway.cli import main

    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("get-started.md", "2. Have the files ready")[0][1], "get-started.md", "exec"), {})
    (command,) = re.findall(r"^driftway (adapt .*)$", (PAGES / "get-started.md").read_text(), re.M)
    assert main(command.split()) == 0
    written = {path.relative_to(tmp_path / "adapted").as_posix() for path in (tmp_path / "adapted").rglob("*.*")}
    assert {"predictions/monday.csv", "predictions/wednesday.csv", "report.html", "history.csv"} <= written


def test_the_code_of_the_landing_page_runs() -> None:
    moons = [make_moons(60, noise=0.05, random_state=step) for step in range(3)]
    names = {"X": moons[0][0], "y": moons[0][1], "batches": [X for X, _ in moons[1:]], "Y": moons[1][0]}
    for _, block in blocks("site/index.md", None):
        exec(compile(block, "index.md", "exec"), names)
    assert names["solution"].converged
    assert len(names["answers"]) == 60
