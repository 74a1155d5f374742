"""A file that is either the old one or the new one, whenever the process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` to write to; it takes the place of `path` when all went well.

    The name is always the same, so that what a killed process left behind is overwritten by the next one.
    """
    part = path.parent / f".{path.name}.part"
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
