"""The estimator that the options describe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor, PointCloudCost
from driftway.adaptation.parameters import CLASSIFIER
from driftway.arrays.parameters import OneOf
from driftway.cli.failures import UserError, users_to_mend
from driftway.files import Table

Estimator = ContinuousTransportClassifier | ContinuousTransportRegressor


# Parameters that are switches here: the switch, and the value that it stands for.
SWITCHES = {"source": ("renew", "renewed"), "relative_epsilon": ("absolute_epsilon", False)}
# Parameters that are no options, and why.
LEFT_OUT = {
    "on_bad_batch": "a file that cannot be used ends the run, or is refused and told if a folder is watched",
    "engine": "an object; plans are computed by the threads of this machine",
}


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator that the options of `driftway adapt` describe."""
    settings = {"estimator": inner(options["estimator"], options["neighbours"], options["regression"])}
    for parameter in CLASSIFIER:
        name = parameter.name
        if name in SWITCHES:
            switch, value = SWITCHES[name]
            settings[name] = value if options[switch] else parameter.default
        elif name not in LEFT_OUT and name not in settings:
            nothing = isinstance(parameter.accepts, OneOf) and parameter.accepts.none and options[name] == "none"
            settings[name] = None if nothing else options[name]
    return settings


def inner(name: str, neighbours: int | None, regression: bool) -> Any:
    """What answers: "auto", None for the paper's one neighbour, or an estimator."""
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


def fitted(source: Table, label: str, settings: dict[str, Any], *, regression: bool) -> Estimator:
    """The estimator, fitted on the source; whatever is wrong with the settings or the labels is said here."""
    kind = ContinuousTransportRegressor if regression else ContinuousTransportClassifier
    with users_to_mend():
        PointCloudCost(source.X[:1], source.X[:1], settings["metric"])  # which the estimator does not look at before
    targets = label_values(source, label) if regression else label_classes(source, label)
    neighbours = getattr(settings["estimator"], "n_neighbors", 1)
    if neighbours > len(source.X):
        raise UserError(f"--neighbours {neighbours} is more than the {len(source.X)} rows of {source.file}")
    with users_to_mend():
        return kind(**settings).fit(source.X, targets)


def label_classes(source: Table, label: str) -> Any:
    """The labels of a source, all there and of several classes."""
    labels = source.labels or []
    if None in labels:
        raise UserError(f"{source.file}: {source.place(labels.index(None))}, column {label!r}: the label is missing")
    fractions = [row for row, value in enumerate(labels) if isinstance(value, float) and not value.is_integer()]
    if fractions:
        where = f"{source.file}: {source.place(fractions[0])}, column {label!r}"
        raise UserError(
            f"{where}: {labels[fractions[0]]!r} is no class; for a label that is a quantity use --regression"
        )
    if len(set(labels)) < 2:
        raise UserError(f"{source.file}: column {label!r}: all labels are {labels[0]!r}, two classes are the least")
    found = np.array(labels)
    if found.dtype.hasobject:
        raise UserError(f"{source.file}: column {label!r}: whole numbers of more than 64 bits are no classes")
    return found


def label_values(table: Table, label: str, *, gaps: bool = False) -> Any:
    """The labels as numbers; if there may be gaps, NaN where one is missing."""
    values = []
    for row, value in enumerate(table.labels or []):
        if value is None and gaps:
            values.append(np.nan)
        elif isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max:
            values.append(float(value))
        else:
            where = f"{table.file}: {table.place(row)}, column {label!r}"
            told = "the label is missing" if value is None else f"{value!r} is not a finite number"
            raise UserError(f"{where}: {told}, as --regression wants it")
    return np.array(values)
