"""The parameters of the classes for domain adaptation, declared once; names and defaults are POT's."""

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
    """Equal masses of total 1, in the kind of X."""
    return kind_of(X).wrap(np.full(len(X), 1.0 / len(X)))


REG_E = Parameter("reg_e", 1.0, Real(), "Strength of the entropy.")
REG_CL = Parameter("reg_cl", 0.1, Real(zero=True), "Weight of a group lasso over the labels of the source.")
METHOD = Parameter("method", "sinkhorn_log", CheckedLater("str"), "One of POT's names; see `driftway.pot.sinkhorn`.")
MAX_ITER = Parameter("max_iter", 1000, CheckedLater("int"), "Iterations of Sinkhorn's algorithm at the most.")
TOL = Parameter("tol", 10e-9, CheckedLater("float"), "Marginal error (in L1) and certified gap to reach.")
LIMIT_MAX = Parameter(
    "limit_max",
    10,
    CheckedLater("float"),
    "Pairs whose labels contradict each other cost at least so many times the largest cost.",
)
OUT_OF_SAMPLE_MAP = Parameter(
    "out_of_sample_map",
    "ferradans",
    OneOf(("ferradans",)),
    "How new samples are mapped: as their nearest neighbour among the samples of `fit`.",
)
CONTINUOUS_MAP = Parameter(
    "out_of_sample_map",
    "continuous",
    OneOf(("continuous", "ferradans")),
    "How new samples are mapped: by the potentials, in the log domain, where POT's underflows; or as their nearest "
    "neighbour among the samples of `fit`.",
)
COMMON = (
    Parameter("verbose", False, CheckedLater("bool"), "Whether to print how the solver proceeds."),
    Parameter("log", False, CheckedLater("bool"), "Whether to keep what the solver reports in `log_`."),
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
        "What the cost is divided by, or the logarithm that is taken of it.",
    ),
    Parameter(
        "distribution_estimation",
        uniform,
        CheckedLater("callable"),
        "From samples to their masses.",
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
    replace(MAX_ITER, default=10, meaning="Iterations of POT's outer loop."),
    Parameter(
        "max_inner_iter",
        200,
        CheckedLater("int"),
        "Iterations of Sinkhorn's algorithm in each; the solver here has `max_iter` times as many.",
    ),
    replace(TOL, meaning="The certified gap to reach, relative to the value."),
    *COMMON,
    OUT_OF_SAMPLE_MAP,
    LIMIT_MAX,
)
TIME_SMOOTH = (
    REG_E,
    Parameter("reg_t", 1.0, Real(zero=True), "Weight of the time regulariser."),
    replace(REG_CL, default=0.0, details="It needs `ys` if it is positive."),
    Parameter(
        "normalization",
        "mean",
        OneOf(get_args(Normalization)),
        "Of the time regulariser; see `driftway.TimeSmoothness`.",
    ),
    replace(MAX_ITER, meaning="Sweeps over the plan at the most."),
    replace(TOL, default=1e-6, meaning="The certified gap to reach."),
    *COMMON,
    OUT_OF_SAMPLE_MAP,
    LIMIT_MAX,
)
