"""Two point clouds whose positions are still being computed."""

from collections.abc import Callable
from typing import Any, NamedTuple


class PointCloudCost(NamedTuple):
    """The cost c(xᵢ, yⱼ) between two point clouds of a library that differentiates.

    Parameters
    ----------
    X, Y : tensor (n, d), (m, d)
        Source and target points; a loss is differentiated in both.
    metric : "euclidean", "sqeuclidean" or a callable
        With a name no matrix is formed unless a solver needs one. A callable returns the n×m matrix of costs for X and
        Y, in the library's own operations.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.derivatives.deferred_costs import PointCloudCost
    >>> PointCloudCost(np.zeros((2, 1)), np.ones((3, 1)), "sqeuclidean").metric
    'sqeuclidean'

    """

    X: Any
    Y: Any
    metric: str | Callable[[Any, Any], Any] = "euclidean"
