"""How functions are compiled: kernels, which Python calls, and functions that are written into kernels.

The first answer of an installation waits for this, and most of it is spent on what surrounds the loops. So a kernel is
compiled as a whole: Numba writes what it calls into it, where a function that LLVM inlines is compiled for itself first
and once more for every caller. What is compiled is then nobody else's, and bits do not depend on what this process, or
another, compiled or loaded before.

Branches under `if argument is not None` are left out before a kernel is compiled for arguments that are `None`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

FAST = {"contract", "reassoc", "nsz"}  # sums in any order

F = TypeVar("F", bound=Callable[..., Any])
KERNELS: list[Any] = []  # all that were imported

inlined = njit(inline="always")
_jit: Callable[..., Any] = partial(njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


def inlined_by_llvm(fastmath: set[str]) -> Callable[[F], F]:
    """For functions with rules of arithmetic that are not those of the kernels that call them."""
    inlining: Callable[[F], F] = _jit(fastmath=fastmath, forceinline=True)
    return inlining


def kernel(function: Callable[..., Any], *, fastmath: set[str] = FAST) -> Any:
    """The function compiled for every set of types that it is called with, and kept on disk where that is possible."""
    # Numba looks for changes in the function's own file only, and not in what is written into it from others.
    function.__qualname__ += f"-{_digest(Path(function.__code__.co_filename).parent)}"
    try:
        KERNELS.append(_jit(fastmath=fastmath, cache=True)(function))
    except RuntimeError:  # there is no folder for it that may be written to
        KERNELS.append(_jit(fastmath=fastmath)(function))
    return KERNELS[-1]


@cache
def _digest(folder: Path) -> str:
    """Of the source of all files here and in a folder of kernels."""
    found = hashlib.sha256()
    for path in sorted({*Path(__file__).parent.glob("*.py"), *folder.glob("*.py")}):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
