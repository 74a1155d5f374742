"""Arrays that come from a file: of the shape, type and range that they must have, or a ValueError that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

# The types by their letters: numbers to their last bit, whole numbers, truth values, and labels of any plain kind.
TYPES: dict[str, Any] = {"f": np.float64, "i": np.intp, "b": np.bool_}
FROM = {"f": "f", "i": "iu", "b": "b"}
LABELS = "biufUS"
# Numbers whose sum is one, as far as rounding goes.
ROUNDING = 1e-6
# Finite numbers are no larger than this, so that their squares and sums of these are finite as well.
LARGEST = 1e150
# The same for their logarithms.
LARGEST_LOG = 300.0
# What counts steps is no larger: beyond it float64 does not tell a number from the next.
LARGEST_COUNT = 2.0**53


class Shapes:
    """Arrays by name, checked as they are taken.

    A shape is a text of one character per dimension. A digit is its size. A letter stands for a size: the first array
    with that letter says which, unless it is given here, and all others must agree.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], **sizes: int) -> None:
        self._arrays, self.sizes = arrays, sizes

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(
        self,
        name: str,
        shape: str,
        kind: str = "f",
        *,
        least: float = -np.inf,
        most: float = np.inf,
        infinite: bool = False,
    ) -> Any:
        """The array of this name, entries from `least` to `most`; none is NaN, nor infinite unless that may be."""
        found = self._of_shape(name, shape)
        if found.size and (found.dtype.kind not in FROM[kind] or (kind == "f" and found.dtype.itemsize != 8)):
            raise ValueError(f"array {name!r} holds {found.dtype}, {np.dtype(TYPES[kind])} is wanted")
        array = found.astype(TYPES[kind])
        if kind == "f" and not (~np.isnan(array) if infinite else np.isfinite(array)).all():
            raise ValueError(f"array {name!r} holds numbers that are not finite")
        if kind == "f" and not infinite:
            least, most = max(least, -LARGEST), min(most, LARGEST)
        if array.size and not (array.min() >= least and array.max() <= most):
            told = f"from {least:g} to {most:g}"
            raise ValueError(f"array {name!r} holds numbers from {array.min():g} to {array.max():g}, {told} is wanted")
        return array

    def shares(self, name: str, shape: str, *, whole: bool = False) -> npt.NDArray[np.float64]:
        """Masses along the last dimension: none is negative, some are positive; their sum is one if `whole`."""
        array: npt.NDArray[np.float64] = self.take(name, shape, least=0.0)
        sums = array.sum(axis=-1)
        if not (sums > 0).all() or (whole and not (np.abs(sums - 1.0) < ROUNDING).all()):
            raise ValueError(f"array {name!r} holds masses of sum {sums}, {'one' if whole else 'more'} is wanted")
        return array

    def labels(self, name: str, shape: str) -> npt.NDArray[Any]:
        """Labels: numbers, texts or truth values, each once and in order."""
        array = self._of_shape(name, shape)
        if array.dtype.kind not in LABELS or not array.size or not np.array_equal(np.unique(array), array):
            raise ValueError(f"array {name!r} holds no labels in order, each once")
        return array

    def _of_shape(self, name: str, shape: str) -> npt.NDArray[Any]:
        if name not in self._arrays:
            raise ValueError(f"there is no array {name!r}")
        array = self._arrays[name]
        if array.ndim == len(shape):
            for letter, size in zip(shape, array.shape, strict=True):
                if not letter.isdigit():
                    self.sizes.setdefault(letter, size)
        wanted = tuple(int(letter) if letter.isdigit() else self.sizes.get(letter, letter) for letter in shape)
        if array.shape != wanted:
            told = ", ".join(map(str, wanted)) + ("," if len(wanted) == 1 else "")
            raise ValueError(f"array {name!r} has shape {array.shape}, ({told}) is wanted")
        return array
