"""Optimal transport with any smooth regulariser, by Bregman forward-backward splitting.

Names are loaded when they are first asked for: scikit-learn, for one, only with an estimator.
"""

from typing import TYPE_CHECKING

from driftway.arrays.exports import lazily

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "adaptation": (
                "AdaptationWarning",
                "CircularScore",
                "ContinuousTransportClassifier",
                "ContinuousTransportRegressor",
                "adapt_stream",
            ),
            "geometry": ("PointCloudCost",),
            "plan": ("Plan",),
            "problem": ("Problem", "Solution"),
            "regularizers": (
                "Custom",
                "GroupLasso",
                "Laplacian",
                "Regularizer",
                "TimeSmoothness",
                "WassersteinTime",
            ),
            "solvers": ("ConditionalGradient", "ForwardBackward"),
            "solvers.solve": ("sinkhorn", "solve"),
        },
        modules=("adaptation", "arrays", "engines", "geometry", "plan", "problem", "regularizers", "solvers"),
    )

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
