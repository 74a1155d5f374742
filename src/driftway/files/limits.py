"""How much memory a file may ask for: in proportion to its size, whatever it declares."""

from __future__ import annotations

import os

# Bytes that any file may unpack to, and beyond these how many for each of its own: tables of numbers shrink by a factor
# of two to twenty when they are compressed, constant ones by a thousand.
FREELY, RATIO = 2**26, 100
# The share of the machine's memory that a file may take as it is; read, it takes several times as much.
OF_MEMORY = 0.25


def unpacked_limit(size: int) -> int:
    """The most bytes that a file of this size may unpack to."""
    return max(FREELY, RATIO * size)


def size_limit() -> float:
    """The most bytes that a file may have; infinite where the machine does not say how much memory it has."""
    try:
        return OF_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
