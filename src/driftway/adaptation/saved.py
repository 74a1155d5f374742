"""What of an estimator is saved, and how it is taken up again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.history import History
from driftway.adaptation.labels import Sample
from driftway.adaptation.parameters import tracks_of
from driftway.adaptation.persistence import describe, read, restore, write
from driftway.adaptation.scaling import Scaling
from driftway.adaptation.tracker_arrays import carried_in, packed


def save(model: Any, path: str | os.PathLike[str], notes: Mapping[str, Any] | None) -> None:
    """Writes parameters, state and notes to one file."""
    sample = model._sample
    arrays = packed(model._tracker, model._state, model._voices)
    arrays |= {f"sample.{name}": value for name, value in zip(Sample._fields, sample, strict=True)}
    arrays |= {"source": model._source, "centre": model._scaling.centre, "unit": model._scaling.unit}
    arrays |= {name: getattr(model, name) for name in ("_received", "classes_") if hasattr(model, name)}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(str)
    if arrays.get("classes_", sample.points).dtype.hasobject:
        arrays["classes_"] = _as_strings(model.classes_)
    header = {
        "kind": type(model).__name__,
        "parameters": {name: describe(name, value) for name, value in model.get_params(deep=False).items()},
        "history": model.history_.to_dict(),
        "seen": model.n_seen_,
        "notes": dict(notes or {}),
    }
    write(path, header, arrays)


def parameters_in(path: str | os.PathLike[str], kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the saved estimator, which must be of this kind."""
    header, _ = _read(path, kind)
    if unknown := sorted(set(given) - set(header["parameters"])):
        raise TypeError(f"a {kind} has no parameters {unknown}; it has {sorted(header['parameters'])}")
    return {name: restore(name, value, given) for name, value in header["parameters"].items()}


def take_up(model: Any, path: str | os.PathLike[str]) -> None:
    """Gives an estimator the state of a file; all of it or nothing."""
    header, arrays = _read(path, type(model).__name__)
    try:
        carried = carried_in(arrays)
        sample = Sample(*(arrays[f"sample.{name}"] for name in Sample._fields))
        history = History.from_dict(header["history"])
        source, scaling = arrays["source"], Scaling(arrays["centre"], arrays["unit"])
        seen = int(header["seen"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if len(carried.now) != len(tracks_of(model, carried.heaps)):
        raise ValueError(f"{path} was saved with other settings of map and motion than this estimator has")
    with all_or_nothing(model):
        model._source, model._scaling = source, scaling
        model.history_, model.n_seen_, model.n_features_in_ = history, seen, source.shape[1]
        for name in ("_received", "classes_", "feature_names_in_"):
            vars(model).pop(name, None)
            if name in arrays:
                setattr(model, name, arrays[name].astype(object) if name == "feature_names_in_" else arrays[name])
        model._sample = sample
        model._resume(carried, arrays)


def _read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    header, arrays = read(path)
    if header["kind"] != kind:
        raise ValueError(f"{path} holds a {header['kind']}, not a {kind}")
    return header, arrays


def _as_strings(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels held as objects, if all are strings."""
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("labels that are neither numbers nor strings are not saved")
    return classes.astype(str)
