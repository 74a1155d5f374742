"""Ground costs, and the n×m matrices that costs, gradients and log-plans are."""

from driftway.geometry.costs import Cost, MatrixCost, PointCloudCost

__all__ = ["Cost", "MatrixCost", "PointCloudCost"]
