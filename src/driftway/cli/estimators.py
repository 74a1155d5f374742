"""From options to a fitted estimator."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor, PointCloudCost
from driftway.adaptation.parameters import CLASSIFIER
from driftway.adaptation.source.columns import TableColumns
from driftway.arrays.parameters import OneOf
from driftway.cli.failures import UserError, as_user_error
from driftway.files import Table

Estimator = ContinuousTransportClassifier | ContinuousTransportRegressor
# So many categories of a column are shown.
SHOWN = 8

# Parameters that are switches on the command line: the switch, and the value that it stands for.
SWITCHES = {"source": ("renew", "renewed"), "relative_epsilon": ("absolute_epsilon", False)}
# Parameters that are not options, and why.
LEFT_OUT = {
    "on_bad_batch": "a bad file ends the command, or is reported and skipped if a folder is watched",
    "engine": "an object; the command line computes plans by the threads of this machine",
}


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator for the options of `driftway adapt`."""
    settings = {"estimator": inner_estimator(options["estimator"], options["neighbours"], options["regression"])}
    for parameter in CLASSIFIER:
        name = parameter.name
        if name in SWITCHES:
            switch, value = SWITCHES[name]
            settings[name] = value if options[switch] else parameter.default
        elif name not in LEFT_OUT and name not in settings:
            nothing = isinstance(parameter.accepts, OneOf) and parameter.accepts.none and options[name] == "none"
            settings[name] = None if nothing else options[name]
    return settings


def option_of(parameter: str, value: Any) -> str:
    """How a parameter with this value is written on the command line."""
    if parameter in SWITCHES:
        switch, on = SWITCHES[parameter]
        return f"--{switch.replace('_', '-')}" if value == on else f"without --{switch.replace('_', '-')}"
    if isinstance(value, bool):
        return f"--{'' if value else 'no-'}{parameter}"
    return f"--{parameter.replace('_', '-')} {'none' if value is None else value}"


def inner_estimator(name: str, neighbours: int | None, regression: bool) -> Any:
    """The value of the parameter `estimator`: "auto", None for one nearest neighbour, or a scikit-learn estimator."""
    if neighbours is not None and name not in ("auto", "nearest"):
        raise UserError(f"--neighbours goes with --estimator nearest, not {name}")
    if name == "auto" and neighbours is None:
        return name
    if name in ("auto", "nearest"):
        if neighbours is None:
            return None
        if neighbours < 1:
            raise UserError(f"--neighbours must be at least 1, got {neighbours}")
        return KNeighborsRegressor(neighbours) if regression else KNeighborsClassifier(neighbours)
    if name == "linear":
        return Ridge() if regression else LogisticRegression(max_iter=1000)
    return RandomForestRegressor(random_state=0) if regression else RandomForestClassifier(random_state=0)


def fitted_estimator(source: Table, label: str, settings: dict[str, Any], *, regression: bool) -> Estimator:
    """The estimator, fitted on the source. Wrong settings and labels raise here, before any batch is read."""
    kind = ContinuousTransportRegressor if regression else ContinuousTransportClassifier
    form, motion = settings["map"], settings["motion"]
    if (form == "auto") != (motion == "auto"):
        got = f"{option_of('map', form)} and {option_of('motion', motion)}"
        raise UserError(f"--map and --motion must both be auto, or neither; got {got}")
    for parameter in CLASSIFIER:
        if parameter.name in settings:
            with _naming_option(parameter.name):
                parameter.check(settings[parameter.name])
    with _naming_option("metric"):  # which `fit` does not check
        point = np.ones((1, source.X.shape[1]))
        PointCloudCost(point, point, settings["metric"])
    targets = label_values(source, label) if regression else label_classes(source, label)
    neighbours = getattr(settings["estimator"], "n_neighbors", 1)
    if neighbours > len(source.X):
        raise UserError(f"--neighbours {neighbours} is more than the {len(source.X)} rows of {source.file}")
    with as_user_error(), _naming_columns(source):
        model = kind(**settings).fit(source.X, targets)
    model.columns_ = model.columns_.named(source.names)
    return model


def told_of_columns(columns: TableColumns) -> str:
    """What of the source was encoded or filled in; empty if it holds numbers only and none is missing."""
    parts = []
    for name, found in columns.categories.items():
        shown = ", ".join("missing" if each is None else each for each in found[:SHOWN])
        more = len(found) + len(columns.rarer[name]) - SHOWN
        parts.append(f"{name} holds categories ({shown}{f' and {more} more' if more > 0 else ''})")
    if columns.missing:
        where = ", ".join(f"{name} {count}" for name, count in columns.missing.items())
        parts.append(f"{sum(columns.missing.values())} cells are missing ({where}), numbers are filled in by medians")
    return "; ".join(parts)


@contextmanager
def _naming_columns(source: Table) -> Iterator[None]:
    """Context manager: errors about a column name it as the file does."""
    try:
        yield
    except ValueError as error:
        told = re.sub(r"'feature (\d+)'", lambda found: repr(source.names[int(found[1])]), str(error))
        raise ValueError(f"{source.file}: {told}") from error


@contextmanager
def _naming_option(parameter: str) -> Iterator[None]:
    """Context manager: errors about a parameter name its option."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise UserError(str(error).replace(parameter, f"--{parameter.replace('_', '-')}", 1)) from error


def label_classes(source: Table, label: str) -> Any:
    """The labels of a source as classes; raises if one is missing, is a fraction, or if there is one class only."""
    labels = source.labels or []
    if None in labels:
        where = f"{source.file}: {source.place(labels.index(None))}, column {label!r}"
        raise UserError(f"{where}: the label is missing; fill it in or remove the row")
    fractions = [row for row, value in enumerate(labels) if isinstance(value, float) and not value.is_integer()]
    if fractions:
        where = f"{source.file}: {source.place(fractions[0])}, column {label!r}"
        raise UserError(f"{where}: {labels[fractions[0]]!r} is not a class; to predict a number use --regression")
    if len(set(labels)) < 2:
        raise UserError(
            f"{source.file}: column {label!r}: at least two classes are needed, all labels are {labels[0]!r}"
        )
    found = np.array(labels)
    if found.dtype.hasobject:
        raise UserError(f"{source.file}: column {label!r}: classes must fit into 64-bit integers")
    return found


def label_values(table: Table, label: str, *, gaps: bool = False) -> Any:
    """The labels as numbers; a missing one is NaN if gaps are allowed, else an error."""
    values = []
    for row, value in enumerate(table.labels or []):
        if value is None and gaps:
            values.append(np.nan)
        elif isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max:
            values.append(float(value))
        else:
            where = f"{table.file}: {table.place(row)}, column {label!r}"
            told = "the label is missing" if value is None else f"{value!r} is not a number"
            raise UserError(f"{where}: {told}; --regression needs numbers")
    return np.array(values)
