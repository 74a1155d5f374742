"""Ground costs, and the n×m matrices that represent costs, gradients and log-plans."""

from driftway.geometry.cost import Cost
from driftway.geometry.costs import MatrixCost, PointCloudCost
from driftway.geometry.dense import Dense
from driftway.geometry.matrices import Factored, Matrix

__all__ = ["Cost", "Dense", "Factored", "Matrix", "MatrixCost", "PointCloudCost"]
