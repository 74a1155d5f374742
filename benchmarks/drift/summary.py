"""What runs say when they are put together.

A run is of one stream and one seed: its family, whether it was seen, its number of steps, and what was found for every
entrant: the mean and the last score, how many steps warned, and how many were `below`, which is worse than the better
of static and standardised in the same step by more than 5 points. Scores are accuracies; in the family "regression"
they are errors, which are told relative to static, and points are per cent of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

OURS = "driftway"
BASELINES = ("static", "standardised")
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
POINTS = 0.05

Run = dict[str, Any]


def steps_below(scores: list[float], baselines: list[list[float]], family: str) -> int:
    """In how many steps an entrant is worse than the better baseline by more than 5 points."""
    if family == "regression":
        best = np.min(baselines, axis=0)
        return int(np.sum(np.array(scores) > (1.0 + POINTS) * best))
    return int(np.sum(np.array(scores) < np.max(baselines, axis=0) - POINTS))


def entrants(runs: list[Run]) -> list[str]:
    """Everybody who ran, in the order in which they were met."""
    return list(dict.fromkeys(name for run in runs for name in run["found"]))


def streams(runs: list[Run]) -> dict[str, list[Run]]:
    """The runs of every stream."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run["stream"], []).append(run)
    return found


def mean(runs: list[Run], entrant: str) -> float | None:
    """The mean over streams of an entrant's score, each averaged over its seeds: None if it did not run on all of them.

    NaN if it failed on one.
    """
    found = [_stream_mean(group, entrant) for group in streams(runs).values()]
    if any(one is None for one in found):
        return None
    return float(np.mean(np.array(found, dtype=float)))


def margins(runs: list[Run]) -> dict[str, float]:
    """By how many points driftway is better than the better of static and standardised, on every stream."""
    found = {}
    for name, group in streams(runs).items():
        own, *others = (_stream_mean(group, entrant) for entrant in (OURS, *BASELINES))
        if own is None or any(other is None for other in others):
            continue
        sign = -1.0 if group[0]["family"] == "regression" else 1.0
        found[name] = 100.0 * sign * (own - sign * max(sign * other for other in others if other is not None))
    return found


def share_below(found: Iterable[float], points: float) -> float:
    """The share of streams on which the margin is below −points."""
    return float(np.mean(np.array(list(found)) < -points))


def warned(runs: list[Run]) -> float:
    """The share of steps in which driftway warned."""
    return _share(runs, "warned")


def below(runs: list[Run]) -> float:
    """The share of steps in which driftway was below the better baseline by more than 5 points."""
    return _share(runs, "below")


def worst(runs: list[Run], count: int = 10) -> list[tuple[str, float, float, float]]:
    """The streams with the lowest margins: name, margin, share of steps that warned, share of steps below."""
    groups, found = streams(runs), margins(runs)
    names = sorted(found, key=lambda name: found[name])[:count]
    return [(name, found[name], warned(groups[name]), below(groups[name])) for name in names]


def grouped(runs: list[Run], of: Callable[[Run], str]) -> dict[str, list[Run]]:
    """The runs by something that they say of themselves, in the order in which it was met."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(of(run), []).append(run)
    return found


def _stream_mean(group: list[Run], entrant: str) -> float | None:
    """The mean over seeds; in the family "regression", of ratios to static's errors."""
    found = []
    for run in group:
        if entrant not in run["found"]:
            return None
        score = run["found"][entrant].get("mean", np.nan)
        relative = run["found"]["static"].get("mean", np.nan) if run["family"] == "regression" else 1.0
        found.append(score / relative)
    return float(np.mean(found))


def _share(runs: list[Run], key: str) -> float:
    found = [run["found"].get(OURS, {}).get(key, 0) / run["steps"] for run in runs]
    return float(np.mean(found))
