"""Links from names in code style, and from the types in signatures, to the pages of the API reference."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from reference import homes
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

ATTRIBUTES = re.compile(r"^(Attributes\n-+\n)(.*?)(?=\n\n|\Z)", re.M | re.S)
ATTRIBUTE = re.compile(r"^(\w[\w, ]*) : (.*)$", re.M)


class NamesAreLinks(SphinxPostTransform):
    """The first `name` in code style of a section leads to the page of that name."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Wraps the literals of a document that are public names."""
        by_name = {path.rpartition(".")[2]: home for path, home in self.config.homes.items() if path == home}
        # A name that several modules have is that of `driftway`, whose paths are shortest.
        for path in sorted(self.config.homes, key=lambda path: (-path.count("."), path)):
            if self.config.homes[path] == path:
                by_name[path.rpartition(".")[2]] = path
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
    shown: list[str] = []
    inside = False
    for line in text.split("\n"):
        indented = line.startswith("    ")
        inside = inside and (indented or not line.strip())
        if indented and not inside and begins_display(shown):
            shown += ["::", ""]  # an equation or code
            inside = True
        code = inside or line.lstrip().startswith((">>>", "..."))
        shown.append(line if code else line.replace("|", r"\|"))  # an absolute value, not a substitution
    lines[:] = shown


def described(section: re.Match[str]) -> str:
    """Attributes whose description stands where a type might."""
    return section[1] + ATTRIBUTE.sub(r"\1\n    \2", section[2])


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
    app.connect("autodoc-process-docstring", as_displayed, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
