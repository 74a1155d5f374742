"""The state of an estimator in one file: arrays and JSON, written as a whole or not at all, read without pickle."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from driftway.adaptation import maps, motion
from driftway.files.atomic import replacing

FORMAT, VERSION = "driftway adaptation", 2
# Our own objects that may be parameters.
KNOWN = {
    kind.__name__: kind
    for kind in (
        maps.BarycentricMap,
        maps.AffineMap,
        maps.KernelMap,
        motion.Rest,
        motion.AffineMotion,
    )
}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Writes a file that is either the old one or the new one, whenever the process is killed."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} holds Python objects, which are not saved; use numbers or strings for labels")
    with replacing(target) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a file; a clear error for one that is damaged, foreign or too new."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no saved state at {path}")
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise ValueError(f"{path} is damaged or was not saved by driftway ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} was not saved by driftway")
    if header["version"] < VERSION:
        raise ValueError(
            f"{path} has version {header['version']}, and this driftway reads version {VERSION}; fit a new estimator"
        )
    if header["version"] > VERSION:
        raise ValueError(f"{path} has version {header['version']}, and this driftway reads up to {VERSION}; upgrade it")
    return header, arrays


def read_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was given to `save` as notes; nothing if nothing was."""
    return dict(read(path)[0].get("notes", {}))


def describe(name: str, value: Any) -> Any:
    """A parameter as JSON; what has no such form is marked as given by the user."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value).__name__ in KNOWN and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"object": type(value).__name__, "parameters": dataclasses.asdict(value)}
    if isinstance(value, BaseEstimator) and type(value).__module__.startswith("sklearn."):
        parameters = value.get_params(deep=False)
        if all(item is None or isinstance(item, bool | int | float | str) for item in parameters.values()):
            module = type(value).__module__
            return {"estimator": type(value).__name__, "module": module, "parameters": parameters}
    return {"given": type(value).__name__}


def restore(name: str, described: Any, given: dict[str, Any]) -> Any:
    """The parameter that was described, or the one that is given in its place."""
    if name in given:
        return given[name]
    if not isinstance(described, dict):
        return described
    if "object" in described and described["object"] in KNOWN:
        return KNOWN[described["object"]](**described["parameters"])
    if "estimator" in described and str(described["module"]).startswith("sklearn."):
        kind = getattr(importlib.import_module(described["module"]), described["estimator"])
        if isinstance(kind, type) and issubclass(kind, BaseEstimator):
            return kind(**described["parameters"])
    what = described.get("given") or described.get("object") or described.get("estimator")
    raise ValueError(f"the parameter {name} was an object of type {what}, which is not saved: pass {name}=… to load")
