"""Group lasso over classes (Courty et al.): POT's flagship regulariser, to 1e-3 and 1e-6 of the optimum."""

from __future__ import annotations

import math
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
    Reading,
    Table,
    at_least,
    equal_objective,
    label,
    race_table,
    record_of,
    settings_of,
    times,
    unsolved,
)
from benchmarks.scale import Scale
from driftway import ConditionalGradient

SETTINGS = ((0.1, 2.0), (1.0, 0.1))  # POT's example plot_otda_classes, and the defaults of its SinkhornL1l2Transport
MULTIPLE = 10.5  # of our time, for the others
POT = "POT sinkhorn_l1l2_gl"


def run(scale: Scale, ledger: Ledger) -> None:
    """Races on all sizes, settings and targets."""
    sizes = scale.pick(((500, 50), (1000, 200), (2000, 500), (5000, 1000)), ((100, 20),))
    seconds, repetitions = scale.budget(12.0, 1.0), scale.pick(3, 2)
    order = list(product(SETTINGS, sizes, (1e-3, 1e-6)))
    ledger.save(budget=seconds, expected=len(order))
    with cases(order, "group_lasso") as (items, announce):
        for (strength, weight), (n, m), tol in items:
            case = {"ε": strength, "η": weight, "n": n, "m": m, "gap": tol}
            if ledger.find(case) is not None:
                continue
            announce("making the problem")
            problem = labelled_problem(n, m, strength, weight)
            entrants = [
                solver_entrant("driftway", problem, lambda: None, settings="solve(problem)", reference=True, tol=tol),
                solver_entrant("CGS", problem, ConditionalGradient, settings="ConditionalGradient()", tol=tol),
                group_lasso_entrant(problem),
            ]
            judge = Judge(problem, tight_bound(problem, tol=0.1 * tol, budget=seconds))
            # Nobody is left out: where POT misses the gap, what it reached is what is compared.
            raced = race(
                entrants, judge, certified(tol),
                repetitions=repetitions, budget=Budget(seconds, MULTIPLE), announce=announce,
            )  # fmt: skip
            ledger.add(case, {"case": case, "records": [record.as_dict() for record in raced]})


def read(data: dict[str, Any]) -> Reading:
    """The target: ten times POT at equal objective."""
    races = data["cases"]
    tight = [case for case in races if case["case"]["gap"] == min(c["case"]["gap"] for c in races)]
    equal = [(equal_objective(case, POT), False) for case in tight]
    rows = []
    for case, (value, _) in zip(tight, equal, strict=True):
        record = record_of(case, POT)
        attempts = [] if record is None else record["attempts"]
        reached = "; ".join(f"{attempt['seconds']:.2g} s → {attempt['gap']:.0e}" for attempt in attempts)
        rows.append([label(case["case"]), reached or "–", times(value) if math.isfinite(value) else "–"])
    return Reading(
        "Group lasso",
        "Two moons with two classes, the target turned by 30°; squared distances divided by their median. (ε, η) "
        "are those of POT's example plot_otda_classes, (0.1, 2), and the defaults of its SinkhornL1l2Transport, (1, "
        f"0.1). POT's iterations are raised, from one to 2000, until it reaches the target or a run takes {MULTIPLE:g} "
        f"times our time and {data['budget']:g} s. Equal objective: seconds of POT's fastest setting to the smallest "
        "gap that any of its settings reached, or to the target, over our seconds to the same gap.",
        [
            race_table("Seconds to the gap", races),
            Table("Equal objective", ["case", "POT: seconds → gap, setting by setting", "POT / ours"], rows),
        ],
        [at_least("at least 10 times faster than POT at equal objective", 10.0, equal, unsolved(tight))],
        settings=settings_of(races),
    )
