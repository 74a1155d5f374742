"""Group lasso over classes (Courty et al.): POT's flagship regulariser, to several gaps and to what POT reaches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from benchmarks.interleave import Budget, race
from benchmarks.judge import Judge
from benchmarks.ledger import Ledger
from benchmarks.ours import certified, solver_entrant, tight_bound
from benchmarks.peers_pot import group_lasso_entrant
from benchmarks.problems import labelled_problem
from benchmarks.progress import cases
from benchmarks.reading import (
    Case,
    Reading,
    Table,
    at_least,
    label,
    race_table,
    record_of,
    settings_of,
    speedup,
    times,
    unsolved,
)
from benchmarks.scale import Scale
from driftway import ConditionalGradient, Problem

SETTINGS = ((0.1, 2.0), (1.0, 0.1))  # POT's example plot_otda_classes, and the defaults of its SinkhornL1l2Transport
TARGETS = (1e-3, 1e-6)
MULTIPLE = 10.5  # of our time, for the others
LEEWAY = 1.1  # of the smallest gap that POT reaches, where that is the target
POT = "POT sinkhorn_l1l2_gl"


def run(scale: Scale, ledger: Ledger) -> None:
    """Races on all sizes, settings and targets, and to the smallest gap that POT reaches where it reaches no target."""
    sizes = scale.pick(((500, 50), (1000, 200), (2000, 500), (5000, 1000)), ((100, 20),))
    seconds, repetitions = scale.budget(12.0, 1.0), scale.pick(9, 2)
    order = list(product(SETTINGS, sizes))
    ledger.save(budget=seconds, expected=len(TARGETS) * len(order))
    with cases(order, "group_lasso") as (items, announce):
        for (strength, weight), (n, m) in items:
            announce("making the problem")
            problem = labelled_problem(n, m, strength, weight)
            about = {"ε": strength, "η": weight, "n": n, "m": m}
            raced = [_raced(problem, {**about, "gap": tol}, seconds, repetitions, ledger, announce) for tol in TARGETS]
            if math.isfinite(gap := _missed(raced)):
                _raced(problem, {**about, "gap": float(f"{LEEWAY * gap:.2g}")}, seconds, repetitions, ledger, announce)


def _raced(
    problem: Problem,
    case: dict[str, Any],
    seconds: float,
    repetitions: int,
    ledger: Ledger,
    announce: Callable[[str], None],
) -> dict[str, Any]:
    """The race of a case, unless it is in the ledger already."""
    tol = case["gap"]
    entry = ledger.find(case)
    if entry is None:
        entrants = [
            solver_entrant("driftway", problem, lambda: None, settings="solve(problem)", reference=True, tol=tol),
            solver_entrant("CGS", problem, ConditionalGradient, settings="ConditionalGradient()", tol=tol),
            group_lasso_entrant(problem),
        ]
        judge = Judge(problem, tight_bound(problem, tol=0.1 * tol, budget=seconds))
        raced = race(
            entrants, judge, certified(tol),
            repetitions=repetitions, budget=Budget(seconds, MULTIPLE), announce=announce,
        )  # fmt: skip
        entry = {"case": case, "records": [record.as_dict() for record in raced]}
        ledger.add(case, entry)
    return entry


def _missed(raced: Sequence[dict[str, Any]]) -> float:
    """The smallest gap that POT reached in any attempt, if it reached no target; else NaN."""
    records = [record for case in raced if (record := record_of(case, POT)) is not None]
    if any(record["status"] == "reached" for record in records):
        return math.nan
    gaps = [attempt["gap"] for record in records for attempt in record["attempts"]]
    return min((gap for gap in gaps if gap is not None and math.isfinite(gap)), default=math.nan)


def read(data: dict[str, Any]) -> Reading:
    """The target: ten times POT at equal objective."""
    races = data["cases"]
    problems = {_problem(case): None for case in races}
    equal = [_equal([case for case in races if _problem(case) == problem]) for problem in problems]
    rows = []
    for case, (value, bound) in equal:
        record = record_of(case, POT)
        attempts = [] if record is None else record["attempts"]
        reached = "; ".join(f"{attempt['seconds']:.2g} s → {attempt['gap']:.1e}" for attempt in attempts)
        rows.append([label(case["case"]), reached or "–", times(value, bound)])
    return Reading(
        "Group lasso",
        "Two moons with two classes, the target turned by 30°; squared distances divided by their median. (ε, η) "
        "are those of POT's example plot_otda_classes, (0.1, 2), and the defaults of its SinkhornL1l2Transport, (1, "
        f"0.1). POT's iterations are raised, from one to 2000, until it reaches the target or a run takes {MULTIPLE:g} "
        f"times our time and {data['budget']:g} s. Where it reaches neither target, there is one more race, to "
        f"{LEEWAY:g} times the smallest gap that it reached. Equal objective: the race to the smallest gap that POT "
        "reached as a target.",
        [
            race_table("Seconds to the gap", races),
            Table("Equal objective", ["case", "POT: seconds → gap, setting by setting", "POT / ours"], rows),
        ],
        [
            at_least(
                "at least 10 times faster than POT at equal objective", 10.0, [value for _, value in equal],
                unsolved([case for case, _ in equal]),
            )
        ],
        settings=settings_of(races),
    )  # fmt: skip


def _problem(case: Case) -> tuple[Any, ...]:
    """What the races to several gaps have in common."""
    return tuple(value for key, value in case["case"].items() if key != "gap")


def _equal(races: Sequence[Case]) -> tuple[Case, tuple[float, bool]]:
    """The race to the smallest gap that POT reached, or else to the largest gap of all, and its time over ours."""
    reached = [case for case in races if (record := record_of(case, POT)) is not None and record["status"] == "reached"]
    case = min(reached, key=lambda case: case["case"]["gap"], default=max(races, key=lambda case: case["case"]["gap"]))
    return case, speedup(case, POT)
