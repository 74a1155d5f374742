"""Names that a package loads when they are first asked for (PEP 562), so that importing it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazily(
    package: str, names: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    `names` are by the modules below the package that have them; `modules` are attributes themselves.
    """
    where = {name: f"{package}.{module}" for module, found in names.items() for name in found}

    def get(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, value)  # the next time it is simply there
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where, *modules})

    return get, listed
