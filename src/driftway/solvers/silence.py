"""Solves whose failure to converge somebody else speaks of, in this thread and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Keeps solves from warning; filters of warnings would do so too, but for all threads at once."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Whether a solve is to keep its warning for itself."""
    return _quiet.get()
