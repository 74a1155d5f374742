"""Whether Numba is installed, and the compiled sweep, imported when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module, util
from types import ModuleType


@cache
def numba_installed() -> bool:
    """Whether compiled code can be had."""
    return util.find_spec("numba") is not None


@cache
def compiled_code() -> ModuleType:
    """The compiled code, imported when it is first needed."""
    return import_module("driftway.engines.compiled.sweep")
