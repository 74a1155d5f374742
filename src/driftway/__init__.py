"""Optimal transport with any smooth regulariser, by Bregman forward-backward splitting."""

from driftway.adaptation import (
    AdaptationWarning,
    Adapted,
    CircularScore,
    ContinuousTransportClassifier,
    ContinuousTransportRegressor,
    DomainTransportClassifier,
    DomainTransportRegressor,
    adapt_stream,
)
from driftway.costs import PointCloudCost
from driftway.plan import Plan
from driftway.problem import Problem
from driftway.regularizers import (
    Custom,
    GroupLasso,
    Laplacian,
    MomentRegularizer,
    Regularizer,
    TimeSmoothness,
    WassersteinTime,
)
from driftway.solution import Solution
from driftway.solve import sinkhorn, solve
from driftway.solvers import ConditionalGradient, DualAscent, DualNewton, ForwardBackward, FrankWolfe, Sinkhorn
from driftway.threads import Threads

__version__ = "0.1.0"

__all__ = [
    "AdaptationWarning",
    "Adapted",
    "CircularScore",
    "ConditionalGradient",
    "ContinuousTransportClassifier",
    "ContinuousTransportRegressor",
    "Custom",
    "DomainTransportClassifier",
    "DomainTransportRegressor",
    "DualAscent",
    "DualNewton",
    "ForwardBackward",
    "FrankWolfe",
    "GroupLasso",
    "Laplacian",
    "MomentRegularizer",
    "Plan",
    "PointCloudCost",
    "Problem",
    "Regularizer",
    "Sinkhorn",
    "Solution",
    "Threads",
    "TimeSmoothness",
    "WassersteinTime",
    "adapt_stream",
    "sinkhorn",
    "solve",
]
