"""How the gallery is made: the order of its examples, what is put back between them, and the reports they write."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Any

import distributed  # noqa: F401 — it sets how it logs, which is changed below
import matplotlib as mpl
import sklearn
from cycler import cycler
from sphinx.application import Sphinx

STYLE = {
    # Told apart by colour-blind people.
    "axes.prop_cycle": cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#c4cad4",
    "axes.titlesize": 10,
    "axes.labelcolor": "#22262e",
    "xtick.color": "#5b6472",
    "ytick.color": "#5b6472",
    "xtick.labelcolor": "#5b6472",
    "font.size": 9.5,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 110,
}
for talkative in ("distributed", "jax"):
    logging.getLogger(talkative).setLevel(logging.WARNING)
FOLDERS = ("adaptation", "transport", "libraries", "paper")


def folder_place(folder: str) -> int:
    """The place of a folder of examples."""
    return FOLDERS.index(Path(folder).name)


class InOrder:
    """Sorts the examples of a folder as its header lists them; one that is not in it is an error."""

    def __init__(self, folder: str) -> None:
        self.header = Path(folder, "GALLERY_HEADER.rst")

    def __call__(self, name: str) -> int:
        """The place of an example."""
        listed = re.findall(r"^\.\. (\w+)$", self.header.read_text(encoding="utf-8"), re.M)
        return listed.index(Path(name).stem)


def put_back(configuration: dict[str, Any], name: str) -> None:
    """Gives every example the style of the pictures, and the routing of scikit-learn that importing skada sets."""
    mpl.rcParams.update(STYLE)
    sklearn.set_config(enable_metadata_routing="skada" in name)


def reports(block: Any, variables: dict[str, Any], configuration: dict[str, Any], **_: Any) -> str:
    """Shows the report that a block has written, and takes it to the pictures of the gallery."""
    folder, text = Path(variables["target_file"]).parent / "images", ""
    for report in sorted(Path.cwd().glob("*.html")):
        shutil.move(report, folder / report.name)
        text += (
            f'\n.. raw:: html\n\n    <iframe class="report" title="The report" src="images/{report.name}"></iframe>\n\n'
        )
    return text


def take_along(app: Sphinx, failure: Exception | None) -> None:
    """Copies the reports to where the pages look for them."""
    for report in Path(app.srcdir, "gallery").glob("*/images/*.html"):
        goal = Path(app.outdir, report.relative_to(app.srcdir))
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(report, goal)


def setup(app: Sphinx) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("build-finished", take_along)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
