"""Optimal transport with any smooth regulariser, by Bregman forward-backward splitting."""

from driftway.adaptation import (
    AdaptationWarning,
    CircularScore,
    ContinuousTransportClassifier,
    ContinuousTransportRegressor,
    adapt_stream,
)
from driftway.geometry import PointCloudCost
from driftway.plan import Plan
from driftway.problem import Problem, Solution
from driftway.regularizers import Custom, GroupLasso, Laplacian, Regularizer, TimeSmoothness, WassersteinTime
from driftway.solvers import ConditionalGradient, ForwardBackward
from driftway.solvers.solve import sinkhorn, solve

__version__ = "0.2.0"

__all__ = [
    "AdaptationWarning",
    "CircularScore",
    "ConditionalGradient",
    "ContinuousTransportClassifier",
    "ContinuousTransportRegressor",
    "Custom",
    "ForwardBackward",
    "GroupLasso",
    "Laplacian",
    "Plan",
    "PointCloudCost",
    "Problem",
    "Regularizer",
    "Solution",
    "TimeSmoothness",
    "WassersteinTime",
    "adapt_stream",
    "sinkhorn",
    "solve",
]
