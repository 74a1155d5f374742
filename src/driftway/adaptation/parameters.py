"""What the parameters of an estimator mean: names or objects of one's own, checked when they are used."""

from __future__ import annotations

from functools import partial
from typing import Any

from driftway.adaptation.heaps import Heaps
from driftway.adaptation.labels import ByClassifier, ByPlan, ByTrack, Labels
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap, MapModel
from driftway.adaptation.marginals import Balanced, Estimated, Marginals
from driftway.adaptation.motion import AffineMotion, MotionModel, Rest
from driftway.adaptation.renewal import Kept, Renewal, Renewed
from driftway.adaptation.tracking import Settings
from driftway.adaptation.tracks import Track, TransportTrack, default_tracks
from driftway.adaptation.transport import Transport
from driftway.arrays.validation import flag, one_of, positive_integer, real_number

MAPS = {"barycentric": BarycentricMap, "affine": AffineMap, "kernel": KernelMap}
MOTIONS = {"affine": AffineMotion, "classes": partial(AffineMotion, 0.1, by_class=True)}
LABELS = {"auto": ByTrack, "classifier": ByClassifier, "plan": ByPlan}
MARGINALS = {"balanced": Balanced, "estimated": Estimated}
RENEWALS = {"kept": Kept, "renewed": Renewed}


def settings_of(model: Any, *, heaps: Heaps | None, classes: bool) -> Settings:
    """All parameters of an estimator, checked; `classes` says whether its targets are classes."""
    one_of("cost", model.cost, ("sequential", "static"))
    if model.scale is not None:
        one_of("scale", model.scale, ("auto", "common", "features"))
    one_of("on_bad_batch", model.on_bad_batch, ("raise", "skip"))
    flag("clusters", model.clusters)
    labels_of(model)
    renewal_of(model)
    transport = Transport(
        marginals=_chosen("marginals", model.marginals, MARGINALS, Marginals),
        metric=model.metric,
        static=model.cost == "static",
        epsilon=real_number("epsilon", model.epsilon, minimum=0.0, strict=True),
        relative=flag("relative_epsilon", model.relative_epsilon),
        time_weight=real_number("time_weight", model.time_weight, minimum=0.0),
        label_weight=real_number("label_weight", model.label_weight, minimum=0.0) if classes else 0.0,
        tol=real_number("tol", model.tol, minimum=0.0, strict=True),
        max_iter=positive_integer("solver_iterations", model.solver_iterations),
        engine=model.engine,
    )
    return Settings(tracks_of(model, heaps), flag("stay", model.stay), transport)


def tracks_of(model: Any, heaps: Heaps | None) -> tuple[Track, ...]:
    """The hypotheses of motion: the default ones, or the one that was asked for."""
    auto = _automatic(model)
    if all(auto):
        return default_tracks(heaps)
    if any(auto):
        name, other = ("map", "motion") if auto[0] else ("motion", "map")
        raise ValueError(f'{name}="auto" goes with {other}="auto" only, got {other}={getattr(model, other)!r}')
    form = _chosen("map", model.map, MAPS, MapModel)
    motion = Rest() if model.motion is None else _chosen("motion", model.motion, MOTIONS, MotionModel)
    return (TransportTrack("given", form, motion, keeps_shape=not isinstance(form, BarycentricMap)),)


def hypotheses_of(model: Any, *, classes: bool) -> tuple[str, ...]:
    """What competes: sensors that age and, to classify, the transported source; or the latter alone.

    A regression has the former alone: one nearest neighbour on images of the source errs more than the source's own
    estimator. On development tables it answered in 2 of 24 streams, and both were better without it.
    The transported source is alone where something was asked for that is a property of transport: a map, a motion, a
    static cost, labels by plan or classifier, a source that is renewed.
    """
    kind = one_of("hypotheses", model.hypotheses, ("auto", "sensors", "transport"))
    if kind != "auto":
        return (kind,)
    kept = isinstance(renewal_of(model), Kept) and isinstance(labels_of(model), ByTrack)
    everything = kept and model.cost == "sequential" and all(_automatic(model))
    if not everything:
        return ("transport",)
    return ("sensors", "transport") if classes else ("sensors",)


def labels_of(model: Any) -> Labels:
    """What the estimator is trained on."""
    found: Labels = _chosen("labels", model.labels, LABELS, Labels)
    return found


def renewal_of(model: Any) -> Renewal:
    """What becomes of the source."""
    found: Renewal = _chosen("source", model.source, RENEWALS, Renewal)
    return found


def may_follow_clusters(model: Any) -> bool:
    """Whether nothing that was asked for excludes Gaussians."""
    kept = isinstance(renewal_of(model), Kept)
    return bool(model.clusters and kept and model.cost == "sequential" and all(_automatic(model)))


def _automatic(model: Any) -> list[bool]:
    return [isinstance(value, str) and value == "auto" for value in (model.map, model.motion)]


def _chosen(name: str, value: Any, choices: dict[str, Any], protocol: type) -> Any:
    """The object of this name, or the user's own."""
    if isinstance(value, str):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))} or an object, got {value!r}")
        return choices[value]()
    if isinstance(value, type) or not isinstance(value, protocol):
        raise TypeError(f"{name} must be one of {', '.join(map(repr, choices))} or an object, got {value!r}")
    return value
