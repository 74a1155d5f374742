"""The base class of ground costs: n×m matrices that are known by their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind
from driftway.arrays.validation import Array

Double = npt.NDArray[np.float64]


class Bilinear(NamedTuple):
    """A cost in the form  rows ⊕ columns + left @ rightᵀ,  which cancellation may leave off by `rounding`."""

    rows: Double
    columns: Double
    left: Double
    right: Double
    rounding: float

    def is_exact(self, multiple: float) -> bool:
        """Whether a multiple is right to 1e-11, as a logarithm must be: far better than a plan is wanted."""
        return abs(multiple) * self.rounding <= 1e-11


class Cloud(NamedTuple):
    """Two point clouds at Euclidean distances, squared or not: x (n×d) and the transposed y (d×m)."""

    x: Double
    y: Double
    euclidean: bool


class Split(NamedTuple):
    """How a cost is made of rows of an array: `make(rows, *others)` is the cost of these rows."""

    make: Callable[..., Cost]
    rows: Array
    others: tuple[Any, ...]


class Cost(ABC):
    """Base class of ground costs: an n×m matrix of which any block of rows can be had without the others.

    A subclass gives `shape`, `dtype` and `rows`. What else it declares lets engines compute with less than its rows
    (`bilinear`, `cloud`, `held`, `split`), or says that the rows live elsewhere (`remote` and what follows it).

    Examples
    --------
    A cost that is computed from the numbers of row and column:

    >>> import numpy as np
    >>> from driftway import sinkhorn
    >>> from driftway.geometry import Cost
    >>> class Steps(Cost):
    ...     shape, dtype = (5, 5), np.dtype(np.float64)
    ...
    ...     def rows(self, block):
    ...         return np.abs(np.subtract.outer(np.arange(5.0)[block], np.arange(5.0)))
    >>> Steps().shape, Steps().dtype
    ((5, 5), dtype('float64'))
    >>> sinkhorn(Steps(), epsilon=0.1).plan.dense().argmax(axis=1).tolist()
    [0, 1, 2, 3, 4]

    """

    kind: Kind | None = None
    """The library that its arrays came from, if that is not NumPy: results are given in it."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape (n, m)."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The dtype, float32 or float64."""

    @abstractmethod
    def rows(self, block: slice) -> Array:
        """Some rows of the cost matrix, as an array that must not be written to.

        Parameters
        ----------
        block : slice
            Which rows.

        Returns
        -------
        array of shape (k, m)

        See the example of the class.

        """

    @property
    def bilinear(self) -> Bilinear | None:
        """The cost as vectors and a low-rank product; `None` if it has no such form.

        Examples
        --------
        >>> from driftway import PointCloudCost
        >>> PointCloudCost([[0.0], [2.0]], [[1.0], [3.0]], "sqeuclidean").bilinear.rows.tolist()
        [4.0, 0.0]

        """
        return None

    @property
    def cloud(self) -> Cloud | None:
        """The points, centred on the mean of Y, if the cost is their Euclidean distance, squared or not; else `None`.

        Examples
        --------
        >>> from driftway import PointCloudCost
        >>> X, Y = [[0.0], [2.0]], [[1.0], [3.0]]
        >>> PointCloudCost(X, Y).cloud.x.tolist(), PointCloudCost(X, Y, "cityblock").cloud is None
        ([[-2.0], [0.0]], True)

        """
        return None

    @property
    def held(self) -> Double | None:
        """The cost as an array that compiled code takes as it is, if it is held as one; else `None`.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost(np.eye(2)).held.tolist(), MatrixCost(np.eye(2, dtype=np.float32)).held
        ([[1.0, 0.0], [0.0, 1.0]], None)

        """
        return None

    @property
    def split(self) -> Split | None:
        """How a cost of some of the rows is made, for workers that hold no others; `None` if that is not known.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import MatrixCost
        >>> make, rows, others = MatrixCost(np.eye(3)).split
        >>> make(rows[1:2], *others).rows(slice(None)).tolist()
        [[0.0, 1.0, 0.0]]

        """
        return None

    def scaled(self, factor: float, dtype: np.dtype[Any]) -> Cost:
        """factor · cost, of the same kind where that can be scaled; factors that are powers of four cost no digits.

        Parameters
        ----------
        factor : float
            A positive number.
        dtype : dtype
            Of the result, where it is of the same kind.

        Returns
        -------
        Cost

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost([[1.0, 2.0]]).scaled(4.0, np.dtype(np.float64)).rows(slice(None)).tolist()
        [[4.0, 8.0]]

        """
        return ScaledCost(self, factor)

    @property
    def remote(self) -> bool:
        """Whether the rows live elsewhere, as those of `driftway.engines.Dask.cloud` do.

        Whatever a solver has per row is then kept beside them.

        Examples
        --------
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost([[1.0, 2.0]]).remote
        False

        """
        return False

    def check_engine(self, engine: object) -> None:  # noqa: B027 - rows that are here are within any reach
        """Raises if an engine cannot reach the rows.

        Parameters
        ----------
        engine : Engine

        Raises
        ------
        ValueError
            If the rows are remote, and not with the workers of that engine.

        Examples
        --------
        >>> from driftway.engines import Threads
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost([[1.0, 2.0]]).check_engine(Threads())  # rows that are here are known to any engine

        """

    def beside(self, array: Double) -> Double:
        """An array that has a number or a row for each row of the cost, where these are.

        Parameters
        ----------
        array : array (n,) or (n, k)

        Returns
        -------
        array (n,) or (n, k)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost([[1.0], [2.0]]).beside(np.ones(2)).tolist()
        [1.0, 1.0]

        """
        return array

    def constant(self, value: float, columns: int | None = None) -> Double:
        """An array of equal numbers beside the rows.

        Parameters
        ----------
        value : float
        columns : int, optional
            The numbers per row; a vector if left out.

        Returns
        -------
        array (n,) or (n, columns)

        Examples
        --------
        >>> from driftway.geometry import MatrixCost
        >>> MatrixCost([[1.0], [2.0]]).constant(0.5).tolist(), MatrixCost([[1.0], [2.0]]).constant(0.0, 2).tolist()
        ([0.5, 0.5], [[0.0, 0.0], [0.0, 0.0]])

        """
        n = self.shape[0]
        return np.full(n if columns is None else (n, columns), value)


class ScaledCost(Cost):
    """A multiple of a cost whose own form cannot be scaled, such as a metric that is a function."""

    def __init__(self, cost: Cost, factor: float) -> None:
        self.cost, self.factor = cost, factor

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.cost.dtype

    def rows(self, block: slice) -> Array:
        return np.multiply(self.cost.rows(block), self.factor, dtype=np.float64)


def is_plain(values: Array) -> TypeGuard[Double]:
    """Whether compiled code takes the array as it is, without another version of itself."""
    return bool(values.dtype == np.float64 and values.flags.c_contiguous and values.flags.writeable)
