"""What of an estimator is saved, and how it is taken up again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.carried import Carried
from driftway.adaptation.history import History
from driftway.adaptation.labels import Sample
from driftway.adaptation.parameters import tracks_of
from driftway.adaptation.persistence import describe, read, restore, write
from driftway.adaptation.scaling import Scaling

# Entries of what is carried that are no arrays.
SCALARS: dict[str, Any] = {"still": float, "clusters": bool, "drifting": bool, "chosen": int, "steps": int}


def save(model: Any, path: str | os.PathLike[str], notes: Mapping[str, Any] | None) -> None:
    """Writes parameters, state and notes to one file."""
    carried, sample = model._carried, model._sample
    arrays = {f"carried.{field.name}": np.asarray(getattr(carried, field.name)) for field in fields(Carried)}
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
        values: dict[str, Any] = {field.name: arrays[f"carried.{field.name}"] for field in fields(Carried)}
        values |= {name: kind(values[name]) for name, kind in SCALARS.items()}
        carried = Carried(**values)
        sample = Sample(*(arrays[f"sample.{name}"] for name in Sample._fields))
        history = History.from_dict(header["history"])
        source, scaling = arrays["source"], Scaling(arrays["centre"], arrays["unit"])
        seen = int(header["seen"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if len(carried.now) != len(tracks_of(model, carried.clusters)):
        raise ValueError(f"{path} was saved with other settings of map and motion than this estimator has")
    with all_or_nothing(model):
        model._source, model._scaling, model._carried = source, scaling, carried
        model.history_, model.n_seen_, model.n_features_in_ = history, seen, source.shape[1]
        for name in ("_received", "classes_", "feature_names_in_"):
            vars(model).pop(name, None)
            if name in arrays:
                setattr(model, name, arrays[name].astype(object) if name == "feature_names_in_" else arrays[name])
        model._sample, model.estimator_ = sample, model._trained(sample)


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
