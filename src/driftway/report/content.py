"""The data of the page: columns with all steps, and evenly spaced steps as frames of the slider."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from driftway.adaptation import ContinuousTransportClassifier
from driftway.adaptation.history import COLUMNS
from driftway.adaptation.recording import UNUSUAL
from driftway.report.snapshot import Snapshot

# The largest number of steps at which the slider stops.
MAX_FRAMES = 200


def content(shots: Sequence[Snapshot], estimator: Any) -> dict[str, Any]:
    """Everything that the page draws, in values that JSON has."""
    columns = {name: [shot.record.get(name) for shot in shots] for name in COLUMNS}
    columns |= {name: [getattr(shot, name) for shot in shots] for name in ("key", "confidence", "score", "baseline")}
    frames = [{"at": number, **_clouds(shots[number])} for number in evenly(len(shots), MAX_FRAMES)]
    return {
        "classes": class_names(estimator),
        "axes": shots[0].axes,
        "columns": columns,
        "shares": [list(series) for series in zip(*(shot.shares for shot in shots), strict=True)],
        "usual": shots[0].usual,
        "frames": frames,
        "tol": float(estimator.tol),
        "unusual": UNUSUAL,
    }


def class_names(estimator: Any) -> list[str] | None:
    """The names of the classes, or None for a regression."""
    return [str(name) for name in estimator.classes_] if isinstance(estimator, ContinuousTransportClassifier) else None


def settings(estimator: Any) -> list[tuple[str, str, bool]]:
    """The parameters of an estimator: name, value, and whether the value differs from the default."""
    defaults = {name: item.default for name, item in inspect.signature(type(estimator)).parameters.items()}
    return [
        (name, _short(value), _short(value) != _short(defaults[name]))
        for name, value in estimator.get_params(deep=False).items()
    ]


def evenly(count: int, most: int) -> list[int]:
    """At most `most` evenly spaced indices below `count`, with the first and the last."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most)).tolist()})


def _clouds(shot: Snapshot) -> dict[str, Any]:
    return {"source": asdict(shot.source), "batch": asdict(shot.batch)}


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:199]}…"
