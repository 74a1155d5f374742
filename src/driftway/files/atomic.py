"""Atomic replacement of files: a process that ends at any moment leaves the old file or the new one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The limit of common file systems, in bytes.
MAX_NAME_BYTES = 255


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Context manager: yields a temporary path to write to, which replaces `path` if the block raises nothing.

    The temporary file is hidden and stands in the same folder. Its name depends on `path` alone, so that the next
    process overwrites what a killed one left behind.
    """
    part = path.parent / _hidden(path.name)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _hidden(name: str) -> str:
    """`.name.part`, or a name made of its digest if that is too long."""
    hidden = f".{name}.part"
    if len(os.fsencode(hidden)) <= MAX_NAME_BYTES:
        return hidden
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}.part"
