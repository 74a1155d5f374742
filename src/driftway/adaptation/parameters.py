"""The parameters of the continuous estimators, declared once; `driftway.arrays.parameters` says who reads this."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

from driftway.adaptation.labels import Labels
from driftway.adaptation.maps import MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import MotionModel
from driftway.adaptation.renewal import Renewal
from driftway.arrays.parameters import CheckedLater, Flag, OneOf, Parameter, Real, Whole

# Types, so that the command line offers the same names and a type checker knows them.
HypothesesName = Literal["auto", "sensors", "transport"]
CostName = Literal["sequential", "static"]
MapName = Literal["auto", "barycentric", "affine", "kernel"]
MotionName = Literal["auto", "affine", "classes"]
LabelsName = Literal["auto", "classifier", "plan"]
SourceName = Literal["kept", "renewed"]
MarginalsName = Literal["balanced", "estimated"]
ScaleName = Literal["auto", "common", "features"]
BadBatchName = Literal["raise", "skip"]

CLASSIFIER = (
    Parameter(
        "estimator",
        "auto",
        CheckedLater('"auto", None or a scikit-learn classifier'),
        "What answers.",
        '"auto" is a calibrated vote of usual classifiers, chosen on the source alone and fitted once; None is '
        "1-nearest-neighbour, as in the paper. On the transported source it is trained at every step, so there "
        '"auto" is 5 nearest neighbours, or 1 where transport is the only hypothesis.',
    ),
    Parameter(
        "hypotheses",
        "auto",
        OneOf(get_args(HypothesesName)),
        "What may drift: gains, offsets and the mix of classes; all that transport follows; or both.",
        '"auto" is both, and transport alone where a map, a motion, a static cost, labels or a renewed source was '
        "asked for.",
    ),
    Parameter(
        "cost",
        "sequential",
        OneOf(get_args(CostName)),
        "Transport from where the source was carried to, or always from where it began.",
    ),
    Parameter(
        "metric",
        "sqeuclidean",
        CheckedLater("str or callable"),
        "The ground cost: any metric of SciPy's cdist, by its name.",
        "Or a function of two arrays of points: see `PointCloudCost`.",
    ),
    Parameter(
        "epsilon",
        0.1,
        Real(),
        "The strength ε of the entropy, in units of the mean cost.",
        "With `relative_epsilon=False`, in units of the cost itself.",
    ),
    Parameter(
        "relative_epsilon",
        True,
        Flag(),
        "Whether `epsilon` and `label_weight` are in units of the mean cost.",
    ),
    Parameter(
        "time_weight",
        0.0,
        Real(zero=True),
        "How firmly the source's images stay near where they are expected.",
        "η_t of the paper, in the `mean` normalisation of `TimeSmoothness`.",
    ),
    Parameter(
        "label_weight",
        0.0,
        Real(zero=True),
        "How firmly classes are kept apart, in the units of ε.",
        "η_c of the paper: the weight of the group lasso.",
    ),
    Parameter(
        "map",
        "auto",
        OneOf(get_args(MapName), protocol=MapModel),
        "How images of the source are made of the raw barycentric ones; goes with `motion`.",
    ),
    Parameter(
        "motion",
        "auto",
        OneOf(get_args(MotionName), none=True, protocol=MotionModel),
        "Where the source is expected next; goes with `map`.",
        "None is where it is.",
    ),
    Parameter(
        "labels",
        "auto",
        OneOf(get_args(LabelsName), protocol=Labels),
        "What the estimator is trained on: the mapped source, or the batch with labels read off the plan.",
    ),
    Parameter(
        "source",
        "kept",
        OneOf(get_args(SourceName), protocol=Renewal),
        "Whether the source keeps its points, or the labelled batch takes its place.",
    ),
    Parameter(
        "marginals",
        "balanced",
        OneOf(get_args(MarginalsName), protocol=Marginals),
        "Whether classes have the same masses in every batch as in the source, or these are estimated.",
    ),
    Parameter(
        "clusters",
        True,
        Flag(),
        "Whether classes that are clusters may be followed as Gaussians with free masses.",
        'The labelled data tell which are; only where map and motion are "auto", the cost is sequential and the '
        "source kept.",
    ),
    Parameter(
        "scale",
        "auto",
        OneOf(get_args(ScaleName), none=True),
        "Units of the features: one for all, one for each, or as they are.",
        '"auto" asks the labelled data.',
    ),
    Parameter(
        "stay",
        True,
        Flag(),
        "Whether it is a hypothesis that nothing moved, so that the source's own answers may stay.",
    ),
    Parameter(
        "on_bad_batch",
        "raise",
        OneOf(get_args(BadBatchName)),
        "What to do with a batch that cannot be used: other columns, infinities, all points equal.",
    ),
    Parameter("tol", 1e-5, Real(), "The certified gap at which a plan counts as solved."),
    Parameter("solver_iterations", 1000, Whole(), "Iterations of the solver for a plan, at the most."),
    Parameter(
        "engine",
        None,
        CheckedLater("an `Engine` or None"),
        "Where plans are computed, as for `driftway.solve`.",
        "None is the threads of this machine.",
    ),
)

# What a regression says otherwise.
_OTHERWISE: dict[str, dict[str, Any]] = {
    "estimator": {
        "accepts": CheckedLater('"auto", None or a scikit-learn regressor'),
        "details": '"auto" is the mean of those among random forest, ridge regression and 5 nearest neighbours that '
        "do best on the source; None is 1-nearest-neighbour. On the transported source it is trained at every step, "
        'so there "auto" is 1-nearest-neighbour, too.',
    },
    "hypotheses": {
        "meaning": "What may drift: gains, offsets and the mix of parts of the targets' range; or all that transport "
        "follows.",
        "details": '"auto" is the former, and the latter where a map, a motion, a static cost, labels or a renewed '
        "source was asked for.",
    },
    "label_weight": {
        "accepts": CheckedLater("float"),
        "meaning": "Has no effect on a regression.",
        "details": "",
    },
}
REGRESSOR = tuple(replace(each, **_OTHERWISE.get(each.name, {})) for each in CLASSIFIER)
