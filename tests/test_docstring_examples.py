"""Public names are shown in use: by an example of their own, or by that of their class."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

# Every room and door that exports names, with what it needs besides the library itself.
MODULES = {
    "driftway": None,
    "driftway.adaptation": None,
    "driftway.cli": None,
    "driftway.engines": "torch",
    "driftway.experiments": "matplotlib",
    "driftway.files": None,
    "driftway.geometry": None,
    "driftway.jax": "jax",
    "driftway.plan": None,
    "driftway.pot": None,
    "driftway.problem": None,
    "driftway.regularizers": None,
    "driftway.report": None,
    "driftway.report.figures": "matplotlib",
    "driftway.river": "river",
    "driftway.skada": "skada",
    "driftway.solvers": None,
    "driftway.torch": "torch",
}


def code(documented: Any) -> str:
    """The code of the examples in a docstring."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(inspect.getdoc(documented) or ""))


def is_shown(cls: type, member: str) -> bool:
    """Whether a member is shown where a class or one that it derives from has it: there, or in that class's example."""
    return any(
        code(vars(base).get(member)) or re.search(rf'[."]{member}\b', code(base))
        for base in cls.__mro__
        if base.__module__.startswith("driftway.")
    )


def members(cls: type) -> Iterator[tuple[str, type, Any]]:
    """The public methods and properties that a class has from us, with the classes that define them."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        member = inspect.getattr_static(cls, name)
        ours = owner.__module__.startswith("driftway.") and not name.startswith("_")
        if ours and (callable(getattr(member, "__func__", member)) or isinstance(member, property | cached_property)):
            yield name, owner, member


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_shown_in_use(name: str) -> None:
    """By its own example or that of its class; what is inherited by that of a sister class, too."""
    if (needed := MODULES[name]) is not None:
        pytest.importorskip(needed)
    module = import_module(name)
    exported = {each: getattr(module, each) for each in module.__all__}
    # Protocols are shown by the classes that have their methods.
    public = {
        each: kind for each, kind in exported.items() if callable(kind) and not getattr(kind, "_is_protocol", False)
    }
    assert [each for each, kind in public.items() if not code(kind)] == []
    classes = {each: kind for each, kind in public.items() if inspect.isclass(kind)}
    unseen = [
        f"{each}.{member}"
        for each, kind in classes.items()
        for member, owner, documented in members(kind)
        if not code(documented)
        and not is_shown(kind, member)
        and not any(re.search(rf'[."]{member}\b', code(kin)) for kin in classes.values() if issubclass(kin, owner))
    ]
    assert unseen == []
