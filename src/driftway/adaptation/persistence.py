"""The state of an estimator in one file: arrays and JSON, written as a whole or not at all, read without pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from driftway.adaptation import maps, motion
from driftway.adaptation.permitted import permitted
from driftway.files import read_content
from driftway.files.atomic import replacing
from driftway.files.errors import in_short, shortened
from driftway.files.npz_archive import read_arrays

FORMAT, VERSION = "driftway adaptation", 3
# What a header holds beside these.
HEADER: dict[str, type] = {"kind": str, "parameters": dict, "history": dict, "seen": int, "notes": dict}
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


class StateError(ValueError):
    """A saved state that cannot be taken up; it names the file and what is wrong with it."""


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
    """The header and the arrays of a file; a `StateError` for one that is damaged, foreign or too new."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no saved state at {path}")
    try:
        arrays = read_arrays(read_content(Path(path)))
        header = json.loads(arrays.pop("header").tobytes())
    except Exception as error:
        raise StateError(f"{path} is damaged or was not saved by driftway ({in_short(error)})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StateError(f"{path} was not saved by driftway")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise StateError(f"{path} is damaged: its version is {shortened(repr(version))}, a whole number is wanted")
    if version < VERSION:
        raise StateError(
            f"{path} has version {version}, and this driftway reads version {VERSION}; fit a new estimator"
        )
    if version > VERSION:
        raise StateError(f"{path} has version {version}, and this driftway reads up to {VERSION}; upgrade it")
    for name, kind in HEADER.items():
        if type(header.get(name)) is not kind:
            told = "nothing" if header.get(name) is None else f"a {type(header[name]).__name__}"
            raise StateError(f"{path} is damaged: its {name} is {told}, a {kind.__name__} is wanted")
    return header, arrays


def read_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was given to `save` as notes; nothing if nothing was."""
    return dict(read(path)[0]["notes"])


def describe(name: str, value: Any) -> Any:
    """A parameter as JSON; what has no such form is marked as given by the user."""
    if _is_plain(value):
        return value
    if type(value).__name__ in KNOWN and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"object": type(value).__name__, "parameters": dataclasses.asdict(value)}
    if isinstance(value, BaseEstimator) and type(value).__module__.startswith("sklearn."):
        parameters = value.get_params(deep=False)
        if all(map(_is_plain, parameters.values())):
            module = type(value).__module__
            return {"estimator": type(value).__name__, "module": module, "parameters": parameters}
    return {"given": type(value).__name__}


def restore(name: str, described: Any, given: dict[str, Any], trusted: tuple[type, ...] = ()) -> Any:
    """The parameter that was described, or the one that is given in its place."""
    if name in given:
        return given[name]
    if _is_plain(described):
        return described
    if not isinstance(described, dict):
        raise ValueError(f"the parameter {name} is a {type(described).__name__}, which none is")
    role = next((role for role in ("object", "estimator", "given") if role in described), None)
    what, parameters = shortened(str(described.get(role or ""))), described.get("parameters")
    if role in ("object", "estimator"):
        kind = KNOWN.get(what) if role == "object" else permitted(what, trusted)
        if kind is not None:
            if not isinstance(parameters, dict) or not all(map(_is_plain, parameters.values())):
                raise ValueError(f"the parameters of {name}, a {what}, are not plain values")
            return kind(**parameters)
    if role == "estimator":
        told = f"the parameter {name} was a {what}, which is not among those that a file may name"
        raise ValueError(f"{told}: pass {name}=… to load, or trusted=[{what}]")
    raise ValueError(f"the parameter {name} was an object of type {what}, which is not saved: pass {name}=… to load")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
