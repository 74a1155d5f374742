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
    takes as long as the slower of two threads. In a process that was forked, OpenMP is kept to one thread as well:
    its threads are left behind by a fork, and the child would wait for them for ever.
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
        if not _forked:
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
        _before = [library.get_num_threads() for library in _limited(_forked)]
        for library in _limited(_forked):
            library.set_num_threads(1)


def _restore() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        for library, threads in zip(_limited(_forked), before, strict=True):
            library.set_num_threads(threads)


def _in_child() -> None:
    """Start anew after a fork: the lock and the blocks may be those of threads that the child does not have."""
    global _forked, _lock, _depth
    if _before is not None:
        _restore()
    _forked, _lock, _depth = True, Lock(), 0


# The threads that every library had before it was limited, and in how many blocks, of whatever threads, it is.
_before: list[int] | None = None
_depth, _lock, _forked = 0, Lock(), False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@cache
def _limited(forked: bool) -> list[Any]:
    """The libraries that are loaded: those of BLAS, and after a fork those of OpenMP."""
    every = ThreadpoolController()
    return list((every if forked else every.select(user_api="blas")).lib_controllers)
