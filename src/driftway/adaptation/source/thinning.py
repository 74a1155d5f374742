"""Fewer points that stand for many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def chosen_rows(count: int, most: int) -> npt.NDArray[np.intp]:
    """At most so many of the rows 0, …, count − 1, in their order: always the same ones, drawn at random.

    Every k-th row would do as well if data had no period; but sensors take turns, and tables alternate between classes.
    """
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).permutation(count)[:most])
