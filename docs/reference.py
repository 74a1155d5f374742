"""Writes the API reference of the public modules into a folder, from their docstrings; `make docs` runs it.

Run:  python docs/reference.py build/docs
"""

from __future__ import annotations

import inspect
import sys
import warnings
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pdoc
import pdoc.render

# Those of them that there are have a page.
MODULES = (
    *("driftway", "driftway.solvers", "driftway.engines", "driftway.regularizers", "driftway.adaptation"),
    *("driftway.pot", "driftway.torch", "driftway.jax", "driftway.skada", "driftway.river"),
)


def take_in(module: ModuleType) -> None:
    """Shows the members that public classes have from bases of ours that have no page of their own."""
    for exported in module.__all__:
        kind = getattr(module, exported)
        setattr(module, exported, kind)  # pdoc sees only what has been loaded
        if not inspect.isclass(kind):
            continue
        if issubclass(kind, tuple):  # pdoc looks for the types of a named tuple's fields in the wrong module
            kind.__new__.__annotations__ = get_type_hints(kind)
        for base in kind.__mro__[1:]:
            if base.__module__.startswith("driftway.") and base.__name__ not in module.__all__:
                for name, member in vars(base).items():
                    public = not name.startswith("_") or name == "__init__"
                    if public and name not in vars(kind) and callable(getattr(kind, name)):
                        setattr(kind, name, member)


def main(folder: Path) -> None:
    """Writes the pages; a docstring or a type that cannot be read is an error."""
    names = [name for name in MODULES if util.find_spec(name) is not None]
    for name in names:
        take_in(import_module(name))
    sys.modules["driftway"].__all__ += [name.removeprefix("driftway.") for name in names[1:]]  # have pages, too
    pdoc.render.configure(docformat="numpy", show_source=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("driftway", output_directory=folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
