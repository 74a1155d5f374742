"""Ground costs: an n×m matrix, given or computed block by block from two point clouds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from driftway.arrays.interchange import foreign_kind
from driftway.arrays.validation import Array, finite_array, real_array
from driftway.geometry.cost import Bilinear, Cloud, Cost, Split, is_plain

__all__ = ["Cost", "MatrixCost", "Metric", "PointCloudCost", "as_cost", "cloud_cost"]

Double = npt.NDArray[np.float64]
Metric = str | Callable[[Array, Array], npt.ArrayLike]

# Up to this many features, distances are accumulated feature by feature: exact, and faster than a matrix product.
DIRECT_FEATURES = 8


class MatrixCost(Cost):
    """A cost that is given as an n×m matrix; arrays are wrapped in it automatically.

    Parameters
    ----------
    values : array (n, m)
        Finite numbers. The array is not copied if it is contiguous.

    Examples
    --------
    >>> from driftway.geometry import MatrixCost
    >>> cost = MatrixCost([[0.0, 1.0], [1.0, 0.0]])
    >>> cost, cost.rows(slice(0, 1)).tolist()
    (MatrixCost(shape=(2, 2)), [[0.0, 1.0]])

    """

    def __init__(self, values: npt.ArrayLike) -> None:
        self.values = np.ascontiguousarray(finite_array("cost", values, ndim=2))
        self.kind = foreign_kind(values)

    def __repr__(self) -> str:
        return f"MatrixCost(shape={self.shape})"

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.values.shape
        return n, m

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def held(self) -> Double | None:
        return self.values if is_plain(self.values) else None

    @property
    def split(self) -> Split:
        return Split(MatrixCost, self.values, ())

    def rows(self, block: slice) -> Array:
        return self.values[block]

    def scaled(self, factor: float, dtype: np.dtype[Any]) -> MatrixCost:
        return MatrixCost(np.multiply(self.values, factor, dtype=np.float64).astype(dtype))


class PointCloudCost(Cost):
    """The cost c(xᵢ, yⱼ) between two point clouds, never held as a matrix.

    Parameters
    ----------
    X : array (n, d)
        Source points.
    Y : array (m, d)
        Target points.
    metric : "euclidean", "sqeuclidean", another metric name of `scipy.spatial.distance.cdist`, or a callable
        A callable receives a block of rows of `X` and the whole `Y` and returns the block of costs,
        as the functions of `sklearn.metrics.pairwise` do.

    Examples
    --------
    >>> import numpy as np
    >>> cost = PointCloudCost(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]))
    >>> cost.rows(slice(None))
    array([[0.],
           [5.]])

    """

    def __init__(self, X: npt.ArrayLike, Y: npt.ArrayLike, metric: Metric = "euclidean") -> None:
        x, y = finite_array("X", X, ndim=2), finite_array("Y", Y, ndim=2)
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"X and Y must have the same number of features, got {x.shape[1]} and {y.shape[1]}")
        self.X, self.Y, self.metric, self.kind = x, y, metric, foreign_kind(X, Y)
        # What a metric takes from all points, by the names of its arguments in `cdist`.
        self.scale: dict[str, Array] = {}
        # Only differences of points matter; around a common centre they lose the fewest digits.
        with np.errstate(over="ignore", invalid="ignore"):
            centre = y.mean(axis=0, dtype=np.float64)
            self._x, self._y = x - centre, y - centre
            reach = (self._x**2).sum(axis=1).max() + (self._y**2).sum(axis=1).max()
        if not np.isfinite(4.0 * reach):
            raise ValueError("X and Y must be small enough for their squared distances to be finite; rescale them")
        self._block = self._choose(metric)

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.Y.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.X, self.Y)

    def __repr__(self) -> str:
        return f"PointCloudCost(shape={self.shape}, features={self.X.shape[1]}, metric={self.metric!r})"

    @cached_property
    def bilinear(self) -> Bilinear | None:
        """The squared Euclidean cost as ‖x‖² ⊕ ‖y‖² − 2 x yᵀ; `None` for any other metric.

        The points are centred on the mean of Y, which loses the fewest digits.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import PointCloudCost
        >>> X, Y = np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])
        >>> cost = PointCloudCost(X, Y, "sqeuclidean")
        >>> rows, columns, left, right, _ = cost.bilinear
        >>> bool(np.allclose(np.add.outer(rows, columns) + left @ right.T, cost.rows(slice(None))))
        True
        >>> PointCloudCost(X, Y, "euclidean").bilinear is None
        True

        """
        if not self._euclidean_metric or self.metric != "sqeuclidean":
            return None
        rows, columns = (self._x**2).sum(axis=1), (self._y**2).sum(axis=1)
        rounding = 1e-15 * float(rows.max() + columns.max())
        return Bilinear(rows, columns, -2.0 * self._x, self._y, rounding)

    @cached_property
    def cloud(self) -> Cloud | None:
        if not self._euclidean_metric:
            return None
        y = np.ascontiguousarray(self._y.T, dtype=np.float64)
        return Cloud(np.ascontiguousarray(self._x, dtype=np.float64), y, self.metric == "euclidean")

    def rows(self, block: slice) -> Array:
        return self._block(block)

    @property
    def split(self) -> Split:
        return Split(cloud_cost, self.X, (self.Y, self.metric, self.scale))

    def scaled(self, factor: float, dtype: np.dtype[Any]) -> Cost:
        if not self._euclidean_metric:
            return super().scaled(factor, dtype)
        stretch = factor if self.metric == "euclidean" else np.sqrt(factor)
        x, y = (np.multiply(points, stretch, dtype=np.float64).astype(dtype) for points in (self.X, self.Y))
        return PointCloudCost(x, y, self.metric)

    @property
    def _euclidean_metric(self) -> bool:
        return isinstance(self.metric, str) and self.metric in ("euclidean", "sqeuclidean")

    def _choose(self, metric: Metric) -> Callable[[slice], Array]:
        if callable(metric):
            return self._called
        if isinstance(metric, str) and metric == "sqeuclidean":
            return self._squared
        if isinstance(metric, str) and metric == "euclidean":
            return self._euclidean
        # Not every metric is invariant to translation (cosine is not), so these see the points as given.
        self.scale = _scale_of(metric, self.X, self.Y)
        try:
            cdist(self.X[:1], self.Y[:1], metric, **self.scale)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"metric must be 'euclidean', 'sqeuclidean', another metric of scipy's cdist, or a callable; "
                f"got {metric!r} ({error})"
            ) from None
        return self._named

    def _euclidean(self, block: slice) -> Double:
        squared = self._squared(block)
        return np.sqrt(squared, out=squared)

    def _named(self, block: slice) -> Array:
        costs = cdist(self.X[block], self.Y, self.metric, **self.scale)  # type: ignore[arg-type]
        return self._checked(block, costs)

    def _called(self, block: slice) -> Array:
        assert callable(self.metric)
        return self._checked(block, self.metric(self.X[block], self.Y))

    def _squared(self, block: slice) -> Double:
        x, y = self._x[block], self._y
        if x.shape[1] > DIRECT_FEATURES:
            return self._squared_by_product(x, y)
        total = np.subtract.outer(x[:, 0], y[:, 0])
        total *= total
        for k in range(1, x.shape[1]):
            difference = np.subtract.outer(x[:, k], y[:, k])
            difference *= difference
            total += difference
        return total

    @staticmethod
    def _squared_by_product(x: Double, y: Double) -> Double:
        scale = np.add.outer((x**2).sum(axis=1), (y**2).sum(axis=1))
        squared: Double = scale - 2.0 * (x @ y.T)
        # Cancellation leaves few digits where two points nearly coincide: those few are computed directly.
        i, j = np.nonzero(squared < 1e-5 * scale)
        squared[i, j] = ((x[i] - y[j]) ** 2).sum(axis=1)
        return squared

    def _checked(self, block: slice, costs: object) -> Array:
        try:
            values = real_array("its result", costs)
        except (TypeError, ValueError) as error:
            raise type(error)(f"metric must return a matrix of costs, but {error}") from None
        count = len(self.X[block])
        if values.shape != (count, self.shape[1]):
            raise ValueError(
                f"metric must return costs of shape {(count, self.shape[1])} for {count} rows of X and all of Y, "
                f"got {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ValueError(f"metric must return finite costs, but {self.metric!r} returned NaN or infinity")
        return values


def cloud_cost(X: npt.ArrayLike, Y: npt.ArrayLike, metric: Metric, scale: dict[str, Array]) -> PointCloudCost:
    """The cost of some of the points X; the scale of a metric, if it has one, is that of all of them."""
    cost = PointCloudCost(X, Y, metric)
    cost.scale = scale
    return cost


def _scale_of(metric: object, X: Array, Y: Array) -> dict[str, Array]:
    """The scale of metrics that would otherwise take it from whatever block they are given."""
    if not isinstance(metric, str) or metric not in ("seuclidean", "mahalanobis"):
        return {}
    everything = np.vstack([X, Y]).astype(np.float64)
    if metric == "seuclidean":
        return {"V": everything.var(axis=0, ddof=1)}
    return {"VI": np.linalg.pinv(np.atleast_2d(np.cov(everything.T))).T.copy()}


def as_cost(cost: object) -> Cost:
    """`cost` itself if it is one already, else the array as a `MatrixCost`."""
    if isinstance(cost, Cost):
        return cost
    return MatrixCost(cost)  # type: ignore[arg-type]
