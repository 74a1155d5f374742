"""From the parameters of an estimator to what they stand for: names become objects, when they are used."""

from __future__ import annotations

from functools import partial
from typing import Any

from driftway.adaptation.heaps import Heaps
from driftway.adaptation.labels import ByClassifier, ByPlan, ByTrack, Labels
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap
from driftway.adaptation.marginals import Balanced, Estimated
from driftway.adaptation.motion import AffineMotion, Rest
from driftway.adaptation.renewal import Kept, Renewal, Renewed
from driftway.adaptation.tracking import Settings
from driftway.adaptation.tracks import Track, TransportTrack, default_tracks
from driftway.adaptation.transport import Transport
from driftway.arrays.parameters import checked

MAPS = {"barycentric": BarycentricMap, "affine": AffineMap, "kernel": KernelMap}
MOTIONS = {"affine": AffineMotion, "classes": partial(AffineMotion, 0.1, by_class=True)}
LABELS = {"auto": ByTrack, "classifier": ByClassifier, "plan": ByPlan}
MARGINALS = {"balanced": Balanced, "estimated": Estimated}
RENEWALS = {"kept": Kept, "renewed": Renewed}


def settings_of(model: Any, *, heaps: Heaps | None) -> Settings:
    """All parameters of an estimator, checked."""
    given = checked(model)
    transport = Transport(
        marginals=_chosen(given["marginals"], MARGINALS),
        metric=given["metric"],
        static=given["cost"] == "static",
        epsilon=given["epsilon"],
        relative=given["relative_epsilon"],
        time_weight=given["time_weight"],
        label_weight=given["label_weight"] if model._groups_matter else 0.0,
        tol=given["tol"],
        max_iter=given["solver_iterations"],
        engine=given["engine"],
    )
    return Settings(tracks_of(model, heaps), given["stay"], transport)


def tracks_of(model: Any, heaps: Heaps | None) -> tuple[Track, ...]:
    """The hypotheses of motion: the default ones, or the one that was asked for."""
    auto = _automatic(model)
    if all(auto):
        return default_tracks(heaps)
    if any(auto):
        name, other = ("map", "motion") if auto[0] else ("motion", "map")
        raise ValueError(f'{name}="auto" goes with {other}="auto" only, got {other}={getattr(model, other)!r}')
    form = _chosen(model.map, MAPS)
    motion = Rest() if model.motion is None else _chosen(model.motion, MOTIONS)
    return (TransportTrack("given", form, motion, keeps_shape=not isinstance(form, BarycentricMap)),)


def hypotheses_of(model: Any) -> tuple[str, ...]:
    """What competes: sensors that age and, to classify, the transported source; or the latter alone.

    A regression has the former alone: one nearest neighbour on images of the source errs more than the source's own
    estimator. On development tables it answered in 2 of 24 streams, and both were better without it.
    The transported source is alone where something was asked for that is a property of transport: a map, a motion, a
    static cost, labels by plan or classifier, a source that is renewed.
    """
    if model.hypotheses != "auto":
        return (model.hypotheses,)
    kept = isinstance(renewal_of(model), Kept) and isinstance(labels_of(model), ByTrack)
    everything = kept and model.cost == "sequential" and all(_automatic(model))
    if not everything:
        return ("transport",)
    return ("sensors", "transport") if model._groups_matter else ("sensors",)


def labels_of(model: Any) -> Labels:
    """What the estimator is trained on."""
    found: Labels = _chosen(model.labels, LABELS)
    return found


def renewal_of(model: Any) -> Renewal:
    """What becomes of the source."""
    found: Renewal = _chosen(model.source, RENEWALS)
    return found


def may_follow_clusters(model: Any) -> bool:
    """Whether nothing that was asked for excludes Gaussians."""
    kept = isinstance(renewal_of(model), Kept)
    return bool(model.clusters and kept and model.cost == "sequential" and all(_automatic(model)))


def _automatic(model: Any) -> list[bool]:
    return [isinstance(value, str) and value == "auto" for value in (model.map, model.motion)]


def _chosen(value: Any, named: dict[str, Any]) -> Any:
    """The object of this name, or the user's own."""
    return named[value]() if isinstance(value, str) else value
