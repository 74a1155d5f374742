"""The class regulariser of the paper: group sparsity over the labels of the source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Self

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import real_number
from driftway.engines.compiled.loading import numba_installed
from driftway.regularizers.forms import GroupNorms
from driftway.regularizers.regularizer import Regularizer

Double = npt.NDArray[np.float64]

# Entries that are looked at together.
BLOCK_ENTRIES = 2**15
# Sums of squares in this range have lost nothing that matters to under- or overflow.
SAFE = (1e-280, 1e280)


class GroupLasso(Regularizer):
    """Group lasso over classes: each target point should receive its mass from one class of the source.

    J(γ) = weight · Σⱼ Σ_ℓ ‖γ(I_ℓ, j)‖₂, where I_ℓ are the rows of class ℓ (R_c in Section 3 of the paper). Its gradient
    γᵢⱼ / ‖γ(I_ℓ, j)‖ is not Lipschitz, but relative to the entropy its smoothness is exactly `weight`, because
    γᵢⱼ ≤ ‖γ(I_ℓ, j)‖.

    Parameters
    ----------
    labels : array (n,)
        The class of every source point; any values that can be compared for equality, but not NaN.
    weight : float
        η_c ≥ 0, in units of cost.

    Examples
    --------
    Targets receive more of their mass from one class than without the regulariser:

    >>> import numpy as np
    >>> from driftway import GroupLasso, PointCloudCost, Problem, solve
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 20)
    >>> X = 0.3 * rng.normal(size=(40, 1)) + labels[:, None]
    >>> cost = PointCloudCost(X, X + 0.3)
    >>> def largest_share(weight):
    ...     gamma = solve(Problem(cost, epsilon=0.1, regularizer=GroupLasso(labels, weight))).plan.dense()
    ...     by_class = np.array([gamma[labels == label].sum(axis=0) for label in (0, 1)])
    ...     return (by_class.max(axis=0) / by_class.sum(axis=0)).mean()
    >>> bool(largest_share(2.0) > largest_share(0.0) + 0.01)
    True

    """

    convex = True
    minimum = 0.0
    proven = True

    def __init__(self, labels: npt.ArrayLike, weight: float = 1.0) -> None:
        try:
            self.labels = np.asarray(labels)
        except ValueError as error:
            raise ValueError(f"labels must be a vector, got a ragged array ({error})") from None
        if self.labels.ndim != 1 or self.labels.size == 0:
            raise ValueError(f"labels must be a non-empty vector, got shape {self.labels.shape}")
        if self.labels.dtype.kind not in "biufOSU":
            raise TypeError(f"labels must be integers, strings or other plain values, got dtype {self.labels.dtype}")
        unequal = self.labels != self.labels
        if np.any(unequal) or (self.labels.dtype.kind == "f" and np.isinf(self.labels).any()):
            raise ValueError("labels must not contain NaN or infinity")
        self.weight = real_number("weight", weight, minimum=0.0)

    def __repr__(self) -> str:
        return f"GroupLasso(labels=<{self.labels.size}>, weight={self.weight:g})"

    @cached_property
    def groups(self) -> list[npt.NDArray[np.intp]]:
        """The row indices I_ℓ of every class, in the order in which the classes first appear.

        Examples
        --------
        >>> from driftway import GroupLasso
        >>> [rows.tolist() for rows in GroupLasso(["b", "a", "b"]).groups]
        [[0, 2], [1]]

        """
        rows: dict[object, list[int]] = {}
        for row, label in enumerate(self.labels.tolist()):
            rows.setdefault(label, []).append(row)
        return [np.array(group) for group in rows.values()]

    @property
    def group_norms(self) -> GroupNorms:
        return GroupNorms(self.groups, self.weight)

    @property
    def smoothness(self) -> float:
        return self.weight

    @property
    def lipschitz(self) -> float:
        return self.weight

    def on(self, a: Double, b: Double) -> Self:
        if self.labels.size != a.size:
            raise ValueError(f"labels must have one entry per row of the cost ({a.size}), got {self.labels.size}")
        return self

    def value(self, gamma: Double) -> float:
        return self.weight * float(self._norms(gamma).sum())

    def gradient(self, gamma: Double) -> Double:
        norms, gradient = self._norms(gamma), np.empty_like(gamma)
        # Where a whole group vanished, zero is a subgradient.
        norms[norms == 0] = 1.0
        for block in _blocks(gamma):
            np.divide(gamma[block], norms[self._classes[block]], out=gradient[block])
            gradient[block] *= self.weight
        return gradient

    @cached_property
    def _classes(self) -> npt.NDArray[np.intp]:
        """The number of its class for every row."""
        classes = np.empty(self.labels.size, np.intp)
        for number, rows in enumerate(self.groups):
            classes[rows] = number
        return classes

    def _norms(self, gamma: Double) -> Double:
        """‖γ(I_ℓ, j)‖ for every class and column; those whose squares under- or overflow by their largest entry."""
        squares = self._squares(gamma)
        norms: Double = np.sqrt(squares)
        extreme = ~((squares > SAFE[0]) & (squares < SAFE[1]))
        for number in np.flatnonzero(extreme.any(axis=1)):
            columns = gamma[np.ix_(self.groups[number], extreme[number])]
            top = np.abs(columns).max(axis=0)
            columns /= np.where(top > 0, top, 1.0)
            norms[number, extreme[number]] = top * np.sqrt(np.einsum("ij,ij->j", columns, columns))
        return norms

    def _squares(self, gamma: Double) -> Double:
        """Σ γ² over the rows of every class and column (K×m)."""
        squares = np.zeros((len(self.groups), gamma.shape[1]))
        if numba_installed() and gamma.flags.c_contiguous:
            view = gamma.view()
            view.flags.writeable = False  # one version of the compiled code for all
            import_module("driftway.engines.compiled.squares").add_squares(view, self._classes, squares)
            return squares
        with np.errstate(over="ignore", under="ignore"):
            for block in _blocks(gamma):
                values, classes = gamma[block], self._classes[block]
                for number in np.unique(classes):
                    part = values[classes == number]
                    squares[number] += np.einsum("ij,ij->j", part, part)
        return squares


def _blocks(gamma: Double) -> Iterator[slice]:
    """Blocks of rows that stay in the cache."""
    size = max(1, BLOCK_ENTRIES // max(1, gamma.shape[1]))
    for low in range(0, len(gamma), size):
        yield slice(low, low + size)
