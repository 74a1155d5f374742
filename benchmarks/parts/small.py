"""Small problems: one adaptation step of 500 × 50, as a stream has thousands of them."""

from __future__ import annotations

from itertools import product
from typing import Any

from benchmarks.interleave import Budget, race, reference_of
from benchmarks.judge import Judge
from benchmarks.ledger import Ledger
from benchmarks.ours import certified, solver_entrant, tight_bound
from benchmarks.peers_pot import gcg_entrant
from benchmarks.problems import step_problem
from benchmarks.progress import cases
from benchmarks.reading import Reading, Table, Target, label, race_table, seconds, settings_of
from benchmarks.scale import Scale
from driftway import ConditionalGradient, ForwardBackward

TOL = 1e-6
GOAL = 5e-3


def run(scale: Scale, ledger: Ledger) -> None:
    """Races on two weights and two strengths."""
    seconds, repetitions = scale.budget(5.0, 0.4), scale.pick(25, 3)
    order = list(product((1.0, 50.0), (0.5, 0.01)))
    ledger.save(budget=seconds, expected=len(order))
    with cases(order, "small") as (items, announce):
        for weight, strength in items:
            case = {"weight": weight, "ε / mean cost": strength, "n": 500, "m": 50}
            if ledger.find(case) is not None:
                continue
            problem = step_problem(strength, weight)
            entrants = [
                solver_entrant("driftway", problem, lambda: None, settings="solve(problem)", reference=True, tol=TOL),
                solver_entrant("ForwardBackward", problem, ForwardBackward, settings="ForwardBackward()", tol=TOL),
                solver_entrant("CGS", problem, ConditionalGradient, settings="ConditionalGradient()", tol=TOL),
                gcg_entrant(problem),
                gcg_entrant(problem, method="sinkhorn_log"),
            ]
            judge = Judge(problem, tight_bound(problem, tol=0.1 * TOL, budget=seconds))
            records = race(
                entrants, judge, certified(TOL), repetitions=repetitions, budget=Budget(seconds), announce=announce
            )
            ledger.add(case, {"case": case, "records": [record.as_dict() for record in records]})


def read(data: dict[str, Any]) -> Reading:
    """The target: a few milliseconds."""
    races = data["cases"]
    own = [reference_of(case["records"])["median"] for case in races]
    fine = [reference_of(case["records"])["status"] == "reached" for case in races]
    rates = [
        [label(case["case"]), *(f"{1 / r['median']:.3g}" if r["seconds"] else "–" for r in case["records"])]
        for case in races
    ]
    names = [record["name"] for record in races[0]["records"]]
    worst = max(own) if all(fine) else float("nan")
    measured = "slowest " + seconds(worst) if all(fine) else "not every problem reached 1e-6"
    return Reading(
        "Small problems",
        "500 × 50 rotating moons with the time regulariser (mean), to a certified gap of 1e-6.",
        [race_table("Seconds per solve", races), Table("Solves per second", ["case", *names], rates)],
        [Target("a few milliseconds (at most 5 ms) per solve", all(fine) and worst <= GOAL, measured)],
        settings=settings_of(races),
    )
