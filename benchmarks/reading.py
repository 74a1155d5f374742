"""What the numbers of a part mean: tables, and targets that were reached or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.interleave import ratio, reference_of

Case = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """What was to be reached; `reached` is `None` where the run does not tell."""

    text: str
    reached: bool | None
    measured: str


@dataclass(frozen=True)
class Table:
    """Rows of text under a title."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Reading:
    """A part in words."""

    title: str
    about: str
    tables: Sequence[Table] = ()
    targets: Sequence[Target] = ()
    sentences: Sequence[str] = ()
    settings: dict[str, list[str]] = field(default_factory=dict)


def seconds(value: float) -> str:
    """A duration to read."""
    if not math.isfinite(value):
        return "–"
    return f"{1e3 * value:.3g} ms" if value < 1.0 else f"{value:.3g} s"


def times(value: float, at_least: bool = False) -> str:
    """A ratio to read."""
    return f"{'> ' if at_least else ''}{value:.3g}×" if math.isfinite(value) else "–"


def small(value: float | None) -> str:
    """A small number to read."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.0e}"


def label(case: Case) -> str:
    """The parameters of a case."""
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in case.items()
    )


def record_of(case: Case, name: str) -> Case | None:
    """The record of an entrant, if it was there."""
    return next((record for record in case["records"] if record["name"] == name), None)


def cell(record: Case | None, reference: Case) -> str:
    """An entrant in one case: its time over ours, or what went wrong."""
    if record is None:
        return ""
    if record["status"] == "unavailable":
        return "not available"
    reached = f"gap {small(record['gap'])}, marginals {small(record['marginal_error'])}"
    if record["status"] == "failed":
        return f"FAILED ({reached})" if math.isfinite(record["gap"]) else f"FAILED ({record['note']})"
    value, at_least = ratio(record, reference)
    if record["status"] == "over budget":
        tail = f" ({reached})" if math.isfinite(record["gap"]) else ""
        return f"over budget{', ' + times(value, True) if math.isfinite(value) else ''}{tail}"
    own = seconds(record["median"])
    return own if record["reference"] else f"{own} ({times(value, at_least)})"


def race_table(title: str, cases: Sequence[Case]) -> Table:
    """One row per case, one column per entrant."""
    names = list(dict.fromkeys(record["name"] for case in cases for record in case["records"]))
    rows = []
    for case in cases:
        reference = reference_of(case["records"])
        rows.append([label(case["case"]), *(cell(record_of(case, name), reference) for name in names)])
    return Table(title, ["case", *names], rows)


def settings_of(cases: Sequence[Case]) -> dict[str, list[str]]:
    """The settings that every entrant was run with."""
    found: dict[str, list[str]] = {}
    for case in cases:
        for record in case["records"]:
            listed = found.setdefault(record["name"], [])
            if record["settings"] and record["settings"] not in listed:
                listed.append(record["settings"])
    return found


def speedup(case: Case, name: str) -> tuple[float, bool]:
    """How many times longer an entrant took than the reference; NaN if either did not reach the target."""
    record = record_of(case, name)
    if record is None:
        return math.nan, False
    return ratio(record, reference_of(case["records"]))


def equal_objective(case: Case, name: str) -> float:
    """Seconds of an entrant over ours to the same gap: the smallest that it reached in any attempt of its calibration.

    Its fastest attempt to that gap counts, give or take a tenth, or the time at which its curve was there. Our seconds
    are read off the trace, at the first certified gap that is no larger, and stretched to the median of the timed
    repetitions. A gap below the target that both were asked for counts as the target.
    """
    record, reference = record_of(case, name), reference_of(case["records"])
    curve = reference["curve"]
    if record is None or not curve:
        return math.nan
    solved = reference["status"] == "reached"
    smallest = curve[-1][1] if solved else 0.0
    stretch = reference["median"] / curve[-1][0] if solved and curve[-1][0] > 0 else 1.0
    tries = [(attempt["seconds"], attempt["gap"]) for attempt in record["attempts"]] + [
        (record["median"], record["gap"]),
        *record["curve"],
    ]
    tries = [(duration, gap) for duration, gap in tries if gap is not None and math.isfinite(gap + duration)]
    best = max(min((gap for _, gap in tries), default=math.nan), smallest)
    theirs = min((duration for duration, gap in tries if gap <= 1.1 * best), default=math.nan)
    ours = next((moment for moment, own in curve if own <= best), math.nan)
    return theirs / (stretch * ours)


def least(values: Sequence[tuple[float, bool]]) -> tuple[float, bool]:
    """The smallest finite ratio; NaN if there is none."""
    finite = [value for value in values if math.isfinite(value[0])]
    return min(finite, key=lambda value: value[0], default=(math.nan, False))


def at_least(text: str, wanted: float, values: Sequence[tuple[float, bool]], lost: int = 0) -> Target:
    """The target that all ratios are at least `wanted`, of which `lost` could not be had because we failed."""
    if lost:
        return Target(text, False, f"ours did not reach the target in {lost} case{'s' if lost > 1 else ''}")
    value, bound = least(values)
    if not math.isfinite(value):
        return Target(text, None, "nothing to compare")
    exact = [value for value, bound in values if not bound and math.isfinite(value)]
    if value < wanted and min(exact, default=math.inf) >= wanted:
        return Target(text, None, f"undecided within the budget: smallest ratio {times(value, bound)}")
    return Target(text, value >= wanted, f"smallest ratio {times(value, bound)}")


def unsolved(cases: Sequence[Case]) -> int:
    """In how many cases the reference itself did not reach the target."""
    return sum(reference_of(case["records"])["status"] != "reached" for case in cases)
