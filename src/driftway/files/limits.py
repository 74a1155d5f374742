"""Limits of memory for reading a file: they depend on its size, not on what its header declares."""

from __future__ import annotations

import os

# Every file may unpack to this many bytes.
ALWAYS_ALLOWED = 2**26
# Larger ones may unpack to this multiple of their size. Compression shrinks tables of numbers by a factor of two to
# twenty, and constant tables by a thousand.
MAX_EXPANSION = 100
# The largest file, as a share of the machine's memory. Reading it takes several times its size.
MAX_SHARE_OF_MEMORY = 0.25


def unpacked_limit(size: int) -> int:
    """The largest number of bytes that a file of this size may unpack to."""
    return max(ALWAYS_ALLOWED, MAX_EXPANSION * size)


def size_limit() -> float:
    """The size of the largest file that is read; infinite if the system does not tell its memory."""
    try:
        return MAX_SHARE_OF_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
