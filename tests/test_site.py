"""Links of the pages lead somewhere, in the repository and in the site; every public name has a page of its own.

That the site builds without a warning is for `make docs` to show, which runs every example anyway.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import flowchart
import pytest
import stage

ROOT = Path(__file__).parent.parent
PAGES = [*stage.pages(), "README.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The headings of a page as links have them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_there_are(page: str) -> None:
    for link in LINK.findall(text_of(page)):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        goal = (ROOT / page).parent / path if path else ROOT / page
        assert goal.exists(), link
        assert not heading or heading in anchors(goal), link


@pytest.mark.parametrize("page", stage.pages())
def test_links_of_the_site_lead_to_its_pages_and_files(page: str) -> None:
    text, copied = stage.staged(page)
    there = {*stage.pages().values(), *map(stage.place, copied), "gallery/index.rst", "api/index.rst"}
    there |= {f"gallery/{path.parent.name}/{path.stem}.rst" for path in (ROOT / "examples").glob("*/*.py")}
    here = Path(stage.pages()[page]).parent
    for link in LINK.findall(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)):
        goal = link.partition("#")[0]
        if goal and "://" not in goal:
            assert (here / goal).as_posix() in there, link


def test_a_page_keeps_its_code_and_moves_its_links(tmp_path: Path) -> None:
    text, copied = stage.staged("docs/reliability.md")
    assert "(src/driftway/adaptation/permitted.py)" in text
    assert copied == ["src/driftway/adaptation/permitted.py"]
    assert "(benchmarks-adaptation.md)" in stage.staged("docs/adaptation.md")[0]
    stage.write(tmp_path / "page.md", "one")
    before = (tmp_path / "page.md").stat().st_mtime_ns
    stage.write(tmp_path / "page.md", "one")
    assert (tmp_path / "page.md").stat().st_mtime_ns == before


def test_arrows_of_a_flowchart_lead_downwards() -> None:
    chart = "flowchart TD\n    a --> b --> d\n    a --> c --> d\n    a --> d\n"
    edges = flowchart.edges_of(chart)
    assert edges == [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("a", "d")]
    assert flowchart.rows_of(edges) == [["a"], ["b", "c"], ["d"]]
    assert flowchart.drawn(chart).count("<rect") == 4


def test_every_public_name_has_one_page_that_its_modules_link_to() -> None:
    for needed in ("torch", "jax", "skada", "river"):
        pytest.importorskip(needed)
    import reference

    rooms = {path.stem for path in (ROOT / "src" / "driftway").glob("[a-z]*") if path.suffix in ("", ".py")}
    exporting = {name for name in rooms if hasattr(import_module(f"driftway.{name}"), "__all__")}
    assert {f"driftway.{name}" for name in exporting} <= reference.MODULES.keys()
    texts = reference.reference_pages()
    for module in reference.modules():
        for name in module.__all__:
            home = reference.homes()[f"{module.__name__}.{name}"]
            assert f"`{name} <{home}>`" in texts[f"api/{module.__name__}.rst"]
            assert home in texts[f"api/{home}.rst"]
    assert re.search(r":members: .*\bexplain\b", texts["api/driftway.ContinuousTransportClassifier.rst"])
