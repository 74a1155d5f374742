"""The pages of the API reference: one per public module, and one per public name, where it is first exported."""

from __future__ import annotations

import inspect
from functools import cached_property
from importlib import import_module
from types import FunctionType, ModuleType

MODULES = {
    "driftway": "What most users need",
    "driftway.adaptation": "Continuous domain adaptation",
    "driftway.problem": "Problems and solutions",
    "driftway.plan": "Plans",
    "driftway.regularizers": "Regularisers",
    "driftway.solvers": "Solvers",
    "driftway.geometry": "Costs and matrices",
    "driftway.engines": "Engines",
    "driftway.report": "The report",
    "driftway.report.figures": "Figures for papers",
    "driftway.files": "Files",
    "driftway.experiments": "The paper's experiments",
    "driftway.cli": "The command line",
    "driftway.pot": "Drop-ins for POT",
    "driftway.torch": "PyTorch",
    "driftway.jax": "JAX",
    "driftway.skada": "skada",
    "driftway.river": "river",
}


def modules() -> list[ModuleType]:
    """The public modules; every extra must be installed."""
    return [import_module(name) for name in MODULES]


def exported(module: ModuleType) -> list[str]:
    """The public names of a module."""
    return sorted(module.__all__, key=str.lower)


def homes() -> dict[str, str]:
    """Where every public object is documented, by each of the names under which it is known.

    The names are those of the public modules, and where it is defined, since that is what signatures say.
    """
    first: dict[int, str] = {}
    known: dict[str, str] = {}
    for module in modules():
        for name in exported(module):
            thing, path = getattr(module, name), f"{module.__name__}.{name}"
            home = first.setdefault(id(thing), path)
            known[path] = home
            if hasattr(thing, "__qualname__"):
                known[f"{thing.__module__}.{thing.__qualname__}"] = home
    return known


def is_member(kind: type, name: str) -> bool:
    """Whether a class has a public method or property that one of our classes defines."""
    if name.startswith("_"):
        return False
    owner = next(base for base in kind.__mro__ if name in vars(base))
    member = vars(owner)[name]
    ours = owner.__module__.startswith("driftway.")
    return ours and isinstance(member, FunctionType | classmethod | staticmethod | property | cached_property)


def titled(title: str) -> str:
    """A heading."""
    return f"{title}\n{'=' * len(title)}\n\n"


def name_page(path: str, thing: object) -> str:
    """The page of one name."""
    text = titled(path.rpartition(".")[2])
    if inspect.isclass(thing):
        text += f".. autoclass:: {path}\n"
        if members := [name for name in dir(thing) if is_member(thing, name)]:
            text += f"   :members: {', '.join(members)}\n   :undoc-members:\n"
    elif callable(thing):
        text += f".. autofunction:: {path}\n"
    else:
        text += f".. py:data:: {path}\n   :value: {thing!r}\n"
    return text + f"\n.. minigallery:: {path}\n   :add-heading: In the gallery\n   :heading-level: -\n"


def summary(thing: object) -> str:
    """The first line of a docstring, or the value of a constant."""
    if not callable(thing):
        return f"``{thing!r}``"
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("|", r"\|").replace("*", r"\*")


def module_page(module: ModuleType, own: list[str], known: dict[str, str]) -> str:
    """The page of a module: what it is for, and its names."""
    title = MODULES[module.__name__]
    text = titled(title if module.__name__ == "driftway" else f"{title}: ``{module.__name__}``")
    text += f".. automodule:: {module.__name__}\n\n.. currentmodule:: {module.__name__}\n\n"
    text += ".. list-table::\n   :class: names\n   :widths: 30 70\n\n"
    for name in exported(module):
        text += f"   * - :py:obj:`{name} <{known[f'{module.__name__}.{name}']}>`\n"
        text += f"     - {summary(getattr(module, name))}\n"
    text += "\n.. toctree::\n   :hidden:\n\n"
    return text + "".join(f"   {path}\n" for path in own)


def reference_pages() -> dict[str, str]:
    """Every page and its text, by where it is in the site."""
    known, texts = homes(), {}
    for module in modules():
        own = [path for name in exported(module) if known[path := f"{module.__name__}.{name}"] == path]
        texts[f"api/{module.__name__}.rst"] = module_page(module, own, known)
        for path in own:
            texts[f"api/{path}.rst"] = name_page(path, getattr(module, path.rpartition(".")[2]))
    index = titled("API reference")
    index += "Every public name, by the module that exports it. What several modules export has one page.\n\n"
    index += ".. toctree::\n   :maxdepth: 2\n\n" + "".join(f"   {name}\n" for name in MODULES)
    return texts | {"api/index.rst": index}
