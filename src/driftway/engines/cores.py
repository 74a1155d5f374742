"""The cores of this machine: how many there are, and how many of them BLAS may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, get_ident
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
        with _single_openmp():
            yield
    finally:
        with _lock:
            _depth = max(_depth - 1, 0)  # a fork inside the block has started anew
            if not _depth:
                _restore()


@contextmanager
def free_blas() -> Iterator[None]:
    """Gives BLAS its threads back inside a `with` block, for large products that nobody else shares."""
    with _lock:
        if _survivor is None:
            _restore()
    try:
        yield
    finally:
        with _lock:
            if _depth:
                _limit()


@contextmanager
def _single_openmp() -> Iterator[None]:
    """Keeps OpenMP to one thread in the thread that came through a fork.

    OpenMP counts threads for each thread that asks for some, and so does it keep them. Only the thread that came
    through the fork waits for threads that are gone; those that the child starts have their own.
    """
    global _in_openmp
    if get_ident() != _survivor or _in_openmp:
        yield
        return
    _in_openmp, libraries = True, _loaded("openmp")
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(1)
    try:
        yield
    finally:
        _in_openmp = False
        for library, threads in zip(libraries, before, strict=True):
            library.set_num_threads(threads)


def _limit() -> None:
    global _before
    if _before is None:  # else it is so already; asking BLAS again would cost more than a small product
        _before = [library.get_num_threads() for library in _loaded("blas")]
        for library in _loaded("blas"):
            library.set_num_threads(1)


def _restore() -> None:
    global _before
    before, _before = _before, None
    if before is not None:
        for library, threads in zip(_loaded("blas"), before, strict=True):
            library.set_num_threads(threads)


def _in_child() -> None:
    """Start anew after a fork: the lock and the blocks may be those of threads that the child does not have."""
    global _survivor, _lock, _depth, _in_openmp
    if _before is not None:
        _restore()
    _loaded.cache_clear()  # libraries may have been loaded since
    _survivor, _lock, _depth, _in_openmp = get_ident(), Lock(), 0, False


# The threads that every library of BLAS had before it was limited, and in how many blocks, of whatever threads, it is.
_before: list[int] | None = None
_depth, _lock = 0, Lock()
# The thread that came through a fork, if the process was forked, and whether it is in a block that limits OpenMP.
_survivor: int | None = None
_in_openmp = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@cache
def _loaded(kind: str) -> list[Any]:
    """The libraries of this kind, "blas" or "openmp", that were loaded when they were first asked for."""
    return list(ThreadpoolController().select(user_api=kind).lib_controllers)
