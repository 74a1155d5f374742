"""The parameters of the classes for domain adaptation, declared once. Names and defaults are POT's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from driftway.arrays.interchange import kind_of
from driftway.arrays.parameters import CheckedLater, OneOf, Parameter, Real
from driftway.pot.supervision import NORMS
from driftway.regularizers.time_smoothness import Normalization

Estimation = Callable[[Any], Any]


def uniform(X: Any) -> Any:
    """Equal masses of total 1, in the library of X."""
    return kind_of(X).wrap(np.full(len(X), 1.0 / len(X)))


REG_E = Parameter("reg_e", 1.0, Real(), "Strength ε of the entropy.")
REG_CL = Parameter("reg_cl", 0.1, Real(zero=True), "Weight of a group lasso over the labels of the source.")
METHOD = Parameter("method", "sinkhorn_log", CheckedLater("str"), "The algorithm, as for `driftway.pot.sinkhorn`.")
MAX_ITER = Parameter("max_iter", 1000, CheckedLater("int"), "The largest number of iterations of Sinkhorn's algorithm.")
TOL = Parameter("tol", 10e-9, CheckedLater("float"), "The tolerance for marginal error (in L1) and certified gap.")
LIMIT_MAX = Parameter(
    "limit_max",
    10,
    CheckedLater("float"),
    "Pairs with different known labels cost at least this many times the largest cost.",
)
OUT_OF_SAMPLE_MAP = Parameter(
    "out_of_sample_map",
    "ferradans",
    OneOf(("ferradans",)),
    "How to map new samples: like their nearest neighbour among the samples of `fit`.",
)
CONTINUOUS_MAP = Parameter(
    "out_of_sample_map",
    "continuous",
    OneOf(("continuous", "ferradans")),
    "How to map new samples: by the potentials, or like their nearest neighbour among the samples of `fit`.",
    "The potentials are used in the log domain, which does not underflow as POT's scalings do.",
)
COMMON = (
    Parameter("verbose", False, CheckedLater("bool"), "Whether to print the progress of the solver."),
    Parameter("log", False, CheckedLater("bool"), "Whether to keep the log of the solver in `log_`."),
    Parameter(
        "metric",
        "sqeuclidean",
        CheckedLater("str or callable"),
        "The ground cost, as for `driftway.PointCloudCost`.",
    ),
    Parameter(
        "norm",
        None,
        OneOf(NORMS, none=True),
        "How to normalise the cost: divide it by its median or maximum, or take its logarithm.",
    ),
    Parameter(
        "distribution_estimation",
        uniform,
        CheckedLater("callable"),
        "A function from samples to their masses.",
    ),
)

SINKHORN = (
    REG_E,
    METHOD,
    MAX_ITER,
    TOL,
    *COMMON,
    CONTINUOUS_MAP,
    replace(LIMIT_MAX, default=np.inf),
)
GROUP_LASSO = (
    REG_E,
    REG_CL,
    replace(MAX_ITER, default=10, meaning="The number of outer iterations of POT's algorithm."),
    Parameter(
        "max_inner_iter",
        200,
        CheckedLater("int"),
        "The number of Sinkhorn iterations in each outer one.",
        "The solver here has no outer loop; its budget is `max_iter` times `max_inner_iter`.",
    ),
    replace(TOL, meaning="The tolerance for the certified gap, relative to the value."),
    *COMMON,
    OUT_OF_SAMPLE_MAP,
    LIMIT_MAX,
)
TIME_SMOOTH = (
    REG_E,
    Parameter("reg_t", 1.0, Real(zero=True), "Weight of the time regulariser."),
    replace(REG_CL, default=0.0, details="If it is positive, `fit` needs `ys`."),
    Parameter(
        "normalization",
        "mean",
        OneOf(get_args(Normalization)),
        "The normalisation of the time regulariser, as for `driftway.TimeSmoothness`.",
    ),
    replace(MAX_ITER, meaning="The largest number of sweeps over the plan."),
    replace(TOL, default=1e-6, meaning="The tolerance for the certified gap."),
    *COMMON,
    OUT_OF_SAMPLE_MAP,
    LIMIT_MAX,
)
