"""A file that is either the old one or the new one, whenever the process ends."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Bytes of a name that file systems allow.
LONGEST_NAME = 255


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` to write to; it takes the place of `path` when all went well.

    The name is always the same, so that what a killed process left behind is overwritten by the next one.
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
    """`.name.part`, or where that would be too long a name made of its digest."""
    hidden = f".{name}.part"
    if len(os.fsencode(hidden)) <= LONGEST_NAME:
        return hidden
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}.part"
