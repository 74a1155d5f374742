"""What of an estimator is saved, and how it is taken up again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.history import KEPT, History, Record
from driftway.adaptation.labels import Sample
from driftway.adaptation.persistence import StateError, describe, read, restore, write
from driftway.adaptation.resolution import settings_of, tracks_of
from driftway.adaptation.scaling import Scaling
from driftway.adaptation.shapes import Shapes
from driftway.adaptation.source.columns import columns_in
from driftway.adaptation.tracker_arrays import carried_in, packed
from driftway.arrays.validation import points
from driftway.files.errors import in_short, shortened
from driftway.geometry.costs import PointCloudCost

Arrays = dict[str, npt.NDArray[Any]]

# What the columns of a history hold, by the annotations of a record; JSON writes some fractions as whole numbers.
KINDS: dict[Any, tuple[type, ...]] = {"int": (int,), "str": (str,), "bool": (bool,), "float": (float, int)}
COLUMNS = {field.name: KINDS[field.type] for field in fields(Record)}


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
        "columns": model.columns_.described(),
        "notes": dict(notes or {}),
    }
    write(path, header, arrays)


def loaded(cls: Any, path: str | os.PathLike[str], trusted: tuple[type, ...], given: dict[str, Any]) -> Any:
    """The estimator that was saved, with its parameters."""
    header, arrays = _read(path, cls.__name__)
    names = set(inspect.signature(cls).parameters)
    if unknown := sorted(set(given) - names):
        raise TypeError(f"a {cls.__name__} has no parameters {unknown}; it has {sorted(names)}")
    if unknown := sorted(set(header["parameters"]) - names):
        raise StateError(f"{path} is damaged: a {cls.__name__} has no parameters {shortened(str(unknown))}")
    with _naming(path):
        parameters = header["parameters"].items()
        model = cls(**{**given, **{name: restore(name, value, given, trusted) for name, value in parameters}})
        if "engine" not in given and model.engine is not None:
            raise ValueError(f"the parameter engine is {shortened(repr(model.engine))}, which none is")
        settings_of(model, heaps=None)
    _take_up(model, path, header, arrays)
    return model


def take_up(model: Any, path: str | os.PathLike[str]) -> None:
    """Gives an estimator the state of a file; all of it or nothing."""
    _take_up(model, path, *_read(path, type(model).__name__))


def _take_up(model: Any, path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    with _naming(path), all_or_nothing(model):
        shapes = Shapes(arrays)
        source = points("source", shapes.take("source", "nd"))
        unit = shapes.take("unit", "d", least=np.finfo(np.float64).tiny)
        scaling = Scaling(shapes.take("centre", "d"), unit)
        points("the scaled source", scaling(source))
        for name in ("_received", "classes_", "feature_names_in_"):
            vars(model).pop(name, None)
        if model._groups_matter:
            model.classes_ = shapes.labels("classes_", "k")
        classes = model._classes
        model.columns_ = columns_in(header.get("columns"), source.shape[1])
        if "feature_names_in_" in arrays:
            model.feature_names_in_ = _names_in(arrays["feature_names_in_"], len(model.columns_.names))
        carried = carried_in(arrays, features=source.shape[1], classes=classes)
        if len(carried.now) != len(tracks_of(model, carried.heaps)):
            raise ValueError("it was saved with other settings of map and motion than this estimator has")
        model._source, model._scaling, model._sample = source, scaling, _sample_in(arrays, source.shape[1], classes)
        model.n_features_in_, model.history_ = len(model.columns_.names), _history_in(header["history"])
        model.n_seen_ = header["seen"]
        if model.n_seen_ < model.n_steps_:
            raise ValueError(f"{model.n_seen_} batches were seen, and {model.n_steps_} steps made")
        if len(model.history_):
            model._received = _received_in(arrays, classes)
        PointCloudCost(source[:1], source[:1], model.metric)
        model._resume(carried, arrays)


def _sample_in(arrays: Arrays, features: int, classes: int | None) -> Sample:
    shapes = Shapes(arrays, d=features)
    targets = "sample.targets", "s"
    return Sample(
        shapes.take("sample.points", "sd"),
        shapes.take(*targets) if classes is None else shapes.take(*targets, "i", least=0, most=classes - 1),
        shapes.shares("sample.weights", "s"),
    )


def _received_in(arrays: Arrays, classes: int | None) -> npt.NDArray[np.float64]:
    """Shares of the classes, or values, which are NaN for points that took no part."""
    shapes = Shapes(arrays if classes is not None else {"_received": np.nan_to_num(arrays["_received"], nan=0.0)})
    if classes is not None:
        shapes.sizes["k"] = classes
    shapes.take("_received", "m" if classes is None else "mk")
    return arrays["_received"].astype(np.float64)


def _names_in(names: npt.NDArray[Any], features: int) -> npt.NDArray[Any]:
    if names.shape != (features,) or names.dtype.kind != "U":
        raise ValueError(f"array 'feature_names_in_' has shape {names.shape} of {names.dtype}, a name each is wanted")
    return names.astype(object)


def _history_in(columns: dict[str, Any]) -> History:
    for name, kind in COLUMNS.items():
        column = columns.get(name)
        if not isinstance(column, list) or not all(type(value) in kind for value in column):
            raise ValueError(f"the column {name} of its history is not a list of {kind[0].__name__}")
    steps, last = columns["step"], columns["step"][-1] if columns["step"] else 0
    if len(steps) > KEPT or steps != list(range(last - len(steps) + 1, last + 1)) or last < len(steps):
        raise ValueError(f"the steps of its history are not the last {len(steps)} of so many")
    return History.from_dict(columns)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns whatever a state leads to into an error that names its file."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        told = in_short(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {in_short(error)}"
        raise StateError(f"{path} cannot be taken up or is damaged: {told}") from error


def _read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    header, arrays = read(path)
    if header["kind"] != kind:
        raise StateError(f"{path} holds a {shortened(header['kind'])}, not a {kind}")
    return header, arrays


def _as_strings(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels held as objects, if all are strings."""
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("labels that are neither numbers nor strings are not saved")
    return classes.astype(str)
