"""Suppression of ConvergenceWarning in the current context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppresses ConvergenceWarning inside a `with` block.

    Only solves of this thread are concerned, unlike those that `warnings.catch_warnings` silences.
    """
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Whether ConvergenceWarning is suppressed in the current context."""
    return _quiet.get()
