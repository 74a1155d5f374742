"""Two point clouds whose positions are still being computed."""

from collections.abc import Callable
from typing import Any, NamedTuple


class PointCloudCost(NamedTuple):
    """The cost c(xᵢ, yⱼ) between two point clouds of a library that differentiates.

    `metric` is "euclidean", "sqeuclidean" (then no matrix is formed unless a solver needs one), or a callable in the
    library's own operations that returns the n×m matrix of costs for X (n×d) and Y (m×d).
    """

    X: Any
    Y: Any
    metric: str | Callable[[Any, Any], Any] = "euclidean"
