"""Smooth functions of the plan, one per file."""

from driftway.regularizers.custom import Custom
from driftway.regularizers.forms import GroupNorms, RowQuadratic
from driftway.regularizers.group_lasso import GroupLasso
from driftway.regularizers.laplacian import Laplacian
from driftway.regularizers.moment_regularizer import MomentRegularizer
from driftway.regularizers.regularizer import Regularizer
from driftway.regularizers.time_smoothness import TimeSmoothness
from driftway.regularizers.wasserstein_time import WassersteinTime

__all__ = [
    "Custom",
    "GroupLasso",
    "GroupNorms",
    "Laplacian",
    "MomentRegularizer",
    "Regularizer",
    "RowQuadratic",
    "TimeSmoothness",
    "WassersteinTime",
]
