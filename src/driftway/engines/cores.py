"""The cores of this machine: how many there are, and how many of them BLAS may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


def available_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def single_blas() -> Iterator[None]:
    """Keeps BLAS to one thread inside a `with` block: our own threads share the work, or it is too small to share.

    Its threads wait for work by spinning, so that they slow ours down, and on a busy machine even a short product
    takes as long as the slower of two threads.
    """
    global _depth
    with _lock:
        _depth += 1
        _limit()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                _restore()


@contextmanager
def free_blas() -> Iterator[None]:
    """Gives BLAS its threads back inside a `with` block, for large products that nobody else shares."""
    with _lock:
        _restore()
    try:
        yield
    finally:
        with _lock:
            if _depth:
                _limit()


def _limit() -> None:
    global _before
    if _before is None:  # else it is so already; asking BLAS again would cost more than a small product
        _before = [library.get_num_threads() for library in _blas()]
        for library in _blas():
            library.set_num_threads(1)


def _restore() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        for library, threads in zip(_blas(), before, strict=True):
            library.set_num_threads(threads)


# The threads that every BLAS had before it was limited, and in how many blocks, of whatever threads, it is.
_before: list[int] | None = None
_depth, _lock = 0, Lock()


@cache
def _blas() -> list[Any]:
    """The libraries that are loaded."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
