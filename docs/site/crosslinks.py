"""Links from names in code style, and from the types in signatures, to the pages of the API reference."""

from __future__ import annotations

import re
from typing import Any

import numpy.typing as npt
from docutils import nodes
from reference import homes
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode
from sphinx.util.typing import stringify_annotation

COLON = "\ue000"
ATTRIBUTES = re.compile(r"^(Attributes\n-+\n)(.*?)(?=\n\n|\Z)", re.M | re.S)
ATTRIBUTE = re.compile(r"^(\w[\w, ]*) : (.*(?:\n .*)*)$", re.M)
ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[~?tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\]"
)
PAGE = re.compile(r"(?<![`/\w])docs/([\w-]+)\.md")


def short_names(homes: dict[str, str]) -> dict[str, str]:
    """The pages of names without their modules: those of `driftway` itself, and classes elsewhere.

    Functions of other modules have names that are also methods, such as `save`.
    """
    pages = sorted(set(homes.values()), key=lambda path: (-path.count("."), path))  # `driftway` comes last and wins
    names = {path.rpartition(".")[2]: path for path in pages}
    return {name: path for name, path in names.items() if path == f"driftway.{name}" or name[0].isupper()}


class NamesAreLinks(SphinxPostTransform):
    """The first `name` in code style of a section leads to the page of that name."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Wraps the literals of a document that are public names."""
        by_name = short_names(self.config.homes)
        seen: set[tuple[int, str]] = set()
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext().removesuffix("()")
            home = self.config.homes.get(text) or by_name.get(text)
            around = self.around(literal)
            if home is None or around is None or (around, home) in seen or self.env.docname == f"api/{home}":
                continue
            seen.add((around, home))
            link = make_refnode(self.app.builder, self.env.docname, f"api/{home}", home, literal.deepcopy(), home)
            literal.replace_self(link)

    @staticmethod
    def around(node: nodes.Node) -> int | None:
        """The section of a node; nothing if it is part of a heading, a link or a signature."""
        while node.parent is not None:
            node = node.parent
            if isinstance(node, nodes.title | nodes.reference | desc_signature | pending_xref):
                return None
            if isinstance(node, nodes.section):
                return id(node)
        return None


def find_home(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """A class is looked for where it is documented, whatever module defines it."""
    home = app.config.homes.get(node["reftarget"])
    if home is None or app.builder is None:
        return None
    return make_refnode(app.builder, node["refdoc"], f"api/{home}", home, content, home)


def as_displayed(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Makes of our docstrings what napoleon expects, before it reads them."""
    text = ATTRIBUTES.sub(described, "\n".join(lines))
    if what == "property":
        text = text.replace(":", COLON)  # what is before a colon is no type
    shown: list[str] = []
    inside = False
    for line in text.split("\n"):
        indented = line.startswith("    ")
        inside = inside and (indented or not line.strip())
        if indented and not inside and begins_display(shown):
            shown += ["::", ""]  # an equation or code
            inside = True
        code = inside or line.lstrip().startswith((">>>", "..."))
        # A bar is an absolute value, not a substitution, and the pages are in the site.
        shown.append(line if code else PAGE.sub(r":doc:`docs/\1.md </\1>`", line.replace("|", r"\|")))
    lines[:] = shown


def with_colons(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Puts the colons back."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def with_short_types(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """The types of NumPy by the names that they have in the code."""
    for mode in ("smart", "fully-qualified-except-typing"):
        long = stringify_annotation(npt.ArrayLike, mode)
        arguments, result = (text and text.replace(long, "ArrayLike") for text in (arguments, result))
    short = (text and ARRAY.sub(r"NDArray[\1]", text) for text in (arguments, result))
    return next(short), next(short)


def described(section: re.Match[str]) -> str:
    """Attributes whose description stands where a type might; each of several has its own."""
    return section[1] + ATTRIBUTE.sub(
        lambda match: "\n".join(f"{name}\n    {match[2]}" for name in re.split(r",\s*", match[1])), section[2]
    )


def begins_display(lines: list[str]) -> bool:
    """Whether an indented line after these is a block of its own, and belongs to no list, directive or `::`."""
    if not lines or lines[-1].strip():
        return False
    last = next((line for line in reversed(lines) if line.strip()), "")
    return not last.startswith((" ", "*", "-", ":", "..")) and not last.endswith("::")


def setup(app: Sphinx) -> dict[str, bool]:
    """For Sphinx."""
    app.add_config_value("homes", homes(), "env")
    app.add_post_transform(NamesAreLinks)
    app.connect("missing-reference", find_home)
    app.connect("autodoc-process-docstring", as_displayed, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", with_colons, priority=600)
    app.connect("autodoc-process-signature", with_short_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
