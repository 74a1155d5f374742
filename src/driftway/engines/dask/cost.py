"""A cost whose source points live with the workers of a cluster and never meet on one machine."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import Array, finite_array, one_of
from driftway.engines.dask.cluster import Value
from driftway.engines.dask.rows import Rows
from driftway.engines.engine import Engine
from driftway.geometry.cost import Cost
from driftway.geometry.costs import PointCloudCost, cloud_cost

# Metrics that need to know no more than two points.
METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")


class ShardedCloudCost(Cost):
    """The cost c(xᵢ, yⱼ) between points X in the shards of a cluster, and points Y that every worker gets.

    Made by `Dask.cloud`. Masses and potentials of the rows, and whatever else a solver has per row, live beside X.

    Parameters
    ----------
    X : Rows (n, d)
    Y : array (m, d)
    metric : str or callable
        A metric that needs to know no more than two points, or a callable as for `PointCloudCost`.

    Examples
    --------
    >>> with Dask(workers=2) as engine:  # doctest: +SKIP
    ...     print(engine.cloud(np.zeros((4, 2)), np.ones((3, 2))))
    ShardedCloudCost(shape=(4, 3), features=2, metric='euclidean')

    """

    def __init__(self, X: Rows, Y: npt.ArrayLike, metric: Any = "euclidean") -> None:
        self.X, self.Y = X, finite_array("Y", Y, ndim=2)
        if X.ndim != 2 or X.shape[1] != self.Y.shape[1]:
            raise ValueError(f"X and Y must have the same number of features, got shapes {X.shape} and {self.Y.shape}")
        self.metric = metric if callable(metric) else one_of("metric", metric, METRICS)
        if not np.isfinite(X).all():
            raise ValueError("X must be finite, but it contains NaN or infinity")

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.Y.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.X.dtype, self.Y.dtype)

    def __repr__(self) -> str:
        return f"ShardedCloudCost(shape={self.shape}, features={self.Y.shape[1]}, metric={self.metric!r})"

    @cached_property
    def shards(self) -> Value:
        """The cost's rows as every shard holds them."""
        sharding = self.X.sharding
        return sharding.value(cloud_cost, self.X.value, sharding.everywhere(self.Y), self.metric, {}).computed()

    @property
    def remote(self) -> bool:
        return True

    def beside(self, array: Any) -> Any:
        return array if isinstance(array, Rows) else Rows(self.X.sharding.by_rows(array).computed(), array[:0])

    def constant(self, value: float, columns: int | None = None) -> Any:
        return self.X.__by_rows__(_constant, self.X, value, columns)

    def check_engine(self, engine: object) -> None:
        if not (isinstance(engine, Engine) and engine.knows(self.X)):
            gone = ", whose cluster has been left since" if self.X.sharding.cluster.closed else ""
            raise ValueError(
                f"engine must be the Dask engine whose workers hold the source points of {self!r}{gone}, got {engine!r}"
            )

    def rows(self, block: slice) -> Array:
        low, high, step = block.indices(self.shape[0])
        pieces = [block] if step == 1 else [slice(i, i + 1) for i in range(low, high, step)]
        points = np.vstack([self.X[piece] for piece in pieces])
        return PointCloudCost(points, self.Y, self.metric).rows(slice(None))


def _constant(X: Array, value: float, columns: int | None) -> npt.NDArray[np.float64]:
    return np.full(len(X) if columns is None else (len(X), columns), value)
