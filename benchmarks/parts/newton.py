"""Newton's continuation on small problems: steps by compiled code on arrays, and by sweeps of the engine."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.interleave import Record, reference_of
from benchmarks.ledger import Ledger
from benchmarks.problems import figure2_problem
from benchmarks.progress import cases
from benchmarks.reading import Case, Reading, Table, Target, record_of, seconds, times
from benchmarks.scale import Scale
from driftway import Problem, TimeSmoothness, solve
from driftway.engines import Threads
from driftway.solvers import DualAscent
from driftway.solvers.dual_ascent import solver as dual_ascent

TOL = 1e-6
# What compiled steps have to buy to be worth a second way to compute them.
GOAL = 2.0
# How large a problem may be whose steps are compiled.
COMPILED, SWEPT = "compiled", "by sweeps"
LARGEST_SMALL = {COMPILED: (10**4, 10**8), SWEPT: (0, 0)}
WEIGHTS = {"none": None, "mean": (50.0, "mean"), "sum": (50.0, "sum")}


def run(scale: Scale, ledger: Ledger) -> None:
    """Every size, regulariser and strength, both ways in turn, on one thread and by processor time."""
    sizes = scale.pick([(10, 10), (30, 30), (100, 100), (500, 50), (128, 128), (200, 200), (300, 300)], [(10, 10)])
    order = list(product(sizes, WEIGHTS, (0.5, 0.05, 0.01)))
    ledger.save(repetitions=(repetitions := scale.pick(7, 1)), expected=len(order))
    with cases(order, "newton") as (items, announce):
        for (n, m), regularizer, strength in items:
            case = {"n": n, "m": m, "J": regularizer, "ε / mean cost": strength}
            if ledger.find(case) is None:
                announce(f"{n} × {m}")
                problem = _problem(n, m, regularizer, strength)
                records = [Record(way, ours=True, reference=way == COMPILED) for way in LARGEST_SMALL]
                for turn in range(1 + repetitions):  # the first is a rehearsal
                    for record in records:
                        _solve(problem, record, timed=turn > 0)
                ledger.add(case, {"case": case, "records": [record.as_dict() for record in records]})


def _problem(n: int, m: int, regularizer: str, strength: float) -> Problem:
    """An adaptation step of rotating moons."""
    base = figure2_problem(0.5, normalization="mean", n=n, m=m)
    smooth: Any = base.regularizer
    weight = WEIGHTS[regularizer]
    J = weight and TimeSmoothness(smooth.Y, smooth.previous, *weight)
    return Problem(base.cost, epsilon=strength * float(np.mean(base.cost.rows(slice(None)))), regularizer=J)


def _solve(problem: Problem, record: Record, *, timed: bool) -> None:
    columns, entries = LARGEST_SMALL[record.name]
    with (
        patch.object(dual_ascent, "SMALL_COLUMNS", columns),
        patch.object(dual_ascent, "SMALL_ENTRIES", entries),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        began = time.process_time()
        solution = solve(problem, DualAscent(), tol=TOL, engine=Threads(workers=1))
        spent = time.process_time() - began
    record.status = "reached" if solution.converged else "failed"
    record.gap, record.marginal_error = float(solution.gap), float(solution.marginal_error)
    if timed:
        record.seconds.append(spent)


def read(data: dict[str, Any]) -> Reading:
    """The target: compiled steps buy what a second way to compute them has to, wherever they are taken with a J."""
    found = data["cases"]
    taken = [case for case in found if _is_taken(case["case"]) and case["case"]["J"] != "none"]
    least = min((ratio(case) for case in taken), default=float("nan"))
    return Reading(
        "Newton steps, compiled and by sweeps",
        f"DualAscent on rotating moons, to a certified gap of {TOL:g}: processor time of one thread, both in turn, "
        f"medians. Compiled steps are taken up to {dual_ascent.SMALL_COLUMNS} columns; both are forced beyond.",
        [table(found)],
        [
            Target(
                f"compiled steps at least {GOAL:g} times faster, where J is not none", least >= GOAL, _smallest(least)
            )
        ],
    )


def _smallest(ratio: float) -> str:
    return f"smallest ratio {times(ratio)}"


def _is_taken(case: Case) -> bool:
    return bool(case["m"] <= dual_ascent.SMALL_COLUMNS and case["n"] * case["m"] <= dual_ascent.SMALL_ENTRIES)


def ratio(case: Case) -> float:
    """How many times as long sweeps take."""
    swept = record_of(case, SWEPT)
    assert swept is not None
    return float(swept["median"] / reference_of(case["records"])["median"])


def table(found: list[Case]) -> Table:
    """A row per size and regulariser: compiled, and how many times as long sweeps take, by strength."""
    strengths = list(dict.fromkeys(case["case"]["ε / mean cost"] for case in found))
    rows: dict[tuple[Any, ...], list[str]] = {}
    for case in found:
        about, own = case["case"], reference_of(case["records"])
        every = all(record["status"] == "reached" for record in case["records"])
        cell = f"{seconds(own['median'])}, {times(ratio(case))}" + ("" if every else " (not all reached)")
        rows.setdefault((f"{about['n']} × {about['m']}", about["J"]), []).append(cell)
    header = ["size", "J", *(f"ε = {strength:g} of the mean cost" for strength in strengths)]
    return Table("Compiled, and sweeps relative to it", header, [[*key, *cells] for key, cells in rows.items()])
