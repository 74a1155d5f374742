"""Gathers the pages of the site in one folder, with links that hold there; `make docs` runs it before Sphinx.

The Markdown pages are written to be read where the code is, so their links are relative to the repository. Here each
page gets its place in the site, and a link to another page, an example, a picture or a source file follows it.

Run:  python docs/site/stage.py build/site
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from flowchart import drawn

ROOT = Path(__file__).resolve().parents[2]

# Pages that stand elsewhere in the site than in the repository; those of docs/ stand at the top.
PLACES = {
    "docs/site/index.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/ADAPTATION.md": "benchmarks-adaptation.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "RELEASING.md": "releasing.md",
}
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def pages() -> dict[str, str]:
    """Where every page is in the repository, and where in the site."""
    own = {f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    return own | PLACES


def place(path: str) -> str:
    """Where a file or folder of the repository is found in the site."""
    if path in (known := pages()):
        return known[path]
    if path == "README.md":
        return "index.md"
    if path == "examples":
        return "gallery/index.rst"
    if path.startswith("examples/") and path.endswith(".py"):
        return f"gallery/{path.removeprefix('examples/').removesuffix('.py')}.rst"
    return path.removeprefix("docs/")


def staged(source: str) -> tuple[str, list[str]]:
    """The text of a page as the site has it, and the files of the repository that it shows or offers."""
    here, wanted = posixpath.dirname(pages()[source]), []

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        goal = place(target.rstrip("/"))
        if (ROOT / target).is_file() and not goal.endswith((".md", ".rst")):
            wanted.append(target)
        return match[1] + posixpath.relpath(goal, here or ".") + match[3]

    def blocks(text: str) -> Iterator[str]:
        for number, part in enumerate(CODE.split(text)):
            yield LINK.sub(moved, part) if number % 2 == 0 else MERMAID.sub(lambda match: drawn(match[1]), part)

    return "".join(blocks((ROOT / source).read_text(encoding="utf-8"))), wanted


def write(path: Path, text: str) -> None:
    """Leaves alone what has not changed, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(folder: Path) -> None:
    """Writes the pages and copies what they show."""
    from reference import reference_pages

    reference = reference_pages()
    there = {*pages().values(), *reference}
    for page in [*folder.glob("*.md"), *folder.glob("api/*.rst")]:
        if page.relative_to(folder).as_posix() not in there:
            page.unlink()
    for source, goal in pages().items():
        text, wanted = staged(source)
        write(folder / goal, text)
        for file in wanted:
            copy = folder / place(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.read_bytes() != (ROOT / file).read_bytes():
                shutil.copyfile(ROOT / file, copy)
    for goal, text in reference.items():
        write(folder / goal, text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
