"""The parameters of the continuous estimators, declared once; `driftway.arrays.parameters` says what uses them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

from driftway.adaptation.labels import Labels
from driftway.adaptation.maps import MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import MotionModel
from driftway.adaptation.renewal import Renewal
from driftway.arrays.parameters import CheckedLater, Flag, OneOf, Parameter, Real, Whole

# Types, for the choices of the command line and for type checkers.
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
        "The classifier that predicts.",
        '"auto" is a calibrated vote of usual classifiers, chosen on the source alone and fitted once; None is '
        "1-nearest-neighbour, as in the paper. On the transported source it is trained at every step, so there "
        '"auto" is 5 nearest neighbours, or 1 where transport is the only hypothesis.',
    ),
    Parameter(
        "hypotheses",
        "auto",
        OneOf(get_args(HypothesesName)),
        "What may drift: sensors (gains, offsets, the mix of classes), anything that transport can follow, or both.",
        '"auto" is both, or transport alone if `map`, `motion`, `cost="static"`, `labels` or `source="renewed"` is '
        "given.",
    ),
    Parameter(
        "cost",
        "sequential",
        OneOf(get_args(CostName)),
        "Take the cost from the present positions of the source, or always from the original ones.",
    ),
    Parameter(
        "metric",
        "sqeuclidean",
        CheckedLater("str or callable"),
        "The ground cost: the name of a metric of SciPy's cdist.",
        "It may also be a function of two arrays of points, as for `PointCloudCost`.",
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
        "The weight of the time regulariser, which keeps images of the source near their expected positions.",
        "η_t of the paper, in the `mean` normalisation of `TimeSmoothness`.",
    ),
    Parameter(
        "label_weight",
        0.0,
        Real(zero=True),
        "The weight of the group lasso, which keeps classes apart, in the units of ε.",
        "η_c of the paper.",
    ),
    Parameter(
        "map",
        "auto",
        OneOf(get_args(MapName), protocol=MapModel),
        "The model that turns barycentric images of the source into its new positions; give it with `motion`.",
    ),
    Parameter(
        "motion",
        "auto",
        OneOf(get_args(MotionName), none=True, protocol=MotionModel),
        "The model that predicts the next positions of the source; give it with `map`.",
        "None predicts that they stay.",
    ),
    Parameter(
        "labels",
        "auto",
        OneOf(get_args(LabelsName), protocol=Labels),
        "The training data of the estimator: the mapped source, or the batch with labels from the plan.",
    ),
    Parameter(
        "source",
        "kept",
        OneOf(get_args(SourceName), protocol=Renewal),
        "Whether the source keeps its points, or is replaced by the batch with its predicted labels.",
    ),
    Parameter(
        "marginals",
        "balanced",
        OneOf(get_args(MarginalsName), protocol=Marginals),
        "The masses of the classes in a batch: as in the source, or estimated.",
    ),
    Parameter(
        "clusters",
        True,
        Flag(),
        "Whether to follow classes that are clusters as Gaussians with free masses.",
        'The labelled data decide which classes are. It has an effect only if `map` and `motion` are "auto", the cost '
        "is sequential and the source is kept.",
    ),
    Parameter(
        "scale",
        "auto",
        OneOf(get_args(ScaleName), none=True),
        "How to scale the features: all by one number, each by its own, or not.",
        '"auto" chooses on the labelled data.',
    ),
    Parameter(
        "stay",
        True,
        Flag(),
        "Whether one of the hypotheses is that nothing moved.",
    ),
    Parameter(
        "on_bad_batch",
        "raise",
        OneOf(get_args(BadBatchName)),
        "What to do with a batch that cannot be used: other columns, infinities, all points equal.",
        '"skip" warns and changes nothing.',
    ),
    Parameter("tol", 1e-5, Real(), "The tolerance for the certified gap of a plan."),
    Parameter("solver_iterations", 1000, Whole(), "The largest number of solver iterations for a plan."),
    Parameter(
        "engine",
        None,
        CheckedLater("an `Engine` or None"),
        "The engine that computes plans, as for `driftway.solve`.",
        "None is the threads of this machine.",
    ),
)

# What differs for a regression.
_OTHERWISE: dict[str, dict[str, Any]] = {
    "estimator": {
        "accepts": CheckedLater('"auto", None or a scikit-learn regressor'),
        "meaning": "The regressor that predicts.",
        "details": '"auto" is the mean of those among random forest, ridge regression and 5 nearest neighbours that '
        "do best on the source; None is 1-nearest-neighbour. On the transported source it is trained at every step, "
        'so there "auto" is 1-nearest-neighbour, too.',
    },
    "hypotheses": {
        "meaning": "What may drift: sensors (gains, offsets, the distribution of targets), or anything that transport "
        "can follow.",
        "details": '"auto" is "sensors", or transport alone if `map`, `motion`, `cost="static"`, `labels` or '
        '`source="renewed"` is given.',
    },
    "label_weight": {
        "accepts": CheckedLater("float"),
        "meaning": "It has no effect on a regression.",
        "details": "",
    },
}
REGRESSOR = tuple(replace(each, **_OTHERWISE.get(each.name, {})) for each in CLASSIFIER)
