"""`python -m benchmarks.tuning`: what half and twice of each measured constant of the solvers does.

Every constant is halved and doubled in turn, and a fixed set of problems that it matters to is solved with it as it is
and with both, interleaved, on one thread. Told are the ratios of processor time, those of the evaluations that were
counted, on which no other load of the machine acts, and the worst certified gap. What is stored is not measured again;
the table goes into docs/tuning.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks import storage
from benchmarks.ledger import Ledger
from benchmarks.problems import figure2_problem, gaussian_clouds, labelled_problem, step_problem
from driftway import PointCloudCost, Problem, solve
from driftway.engines import Threads
from driftway.solvers import DualAscent, DualNewton, Sinkhorn, Solver

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tuning.md"
MARKS = "<!-- measured -->", "<!-- end of what was measured -->"
TOL = 1e-6


class Constant(NamedTuple):
    """A constant of `driftway`, and the problems that it matters to."""

    module: str
    name: str
    problems: str


def _plain(strength: float) -> Problem:
    X, Y = gaussian_clouds(400)
    return Problem(PointCloudCost(X, Y[:300]), epsilon=strength)


SOLVED: dict[str, tuple[Callable[[], Solver], list[Callable[[], Problem]]]] = {
    "small": (
        DualAscent,
        [
            lambda: step_problem(0.01, 50.0),
            lambda: step_problem(0.05, 1.0, n=100, m=100),
            lambda: figure2_problem(0.05, normalization="sum", n=60, m=60),
        ],
    ),
    "large": (
        DualAscent,
        [
            lambda: step_problem(0.01, 1.0, n=200, m=150),
            lambda: step_problem(0.002, 50.0, n=300, m=140),
            lambda: figure2_problem(0.1, normalization="sum", n=200, m=150),
        ],
    ),
    "lasso": (
        DualNewton,
        [lambda: labelled_problem(300, 100, 0.1, 2.0), lambda: labelled_problem(500, 200, 0.02, 0.5)],
    ),
    "plain": (Sinkhorn, [lambda: _plain(0.1), lambda: _plain(0.005)]),
}
CONSTANTS = [
    *(
        Constant("solvers.dual_ascent.continuation", name, problems)
        for name in (
            "DAMPING",
            "SHORTEST_STEP",
            "NEAR_REACH",
            "FIRST_STRIDE",
            "SHORTEST_STRIDE",
            "AIMED_REACH",
            "LONGEST_REACH",
            "STRIDE_EVALUATIONS",
            "STARVED",
        )
        for problems in ("small", "large")
        if problems == "small" or name not in ("DAMPING", "SHORTEST_STEP", "STARVED")
    ),
    Constant("solvers.dual_ascent.solver", "SMALL_EASY", "small"),
    *(
        Constant("solvers.dual_ascent.solver", name, "large")
        for name in ("EASY_SMOOTHNESS", "EASY_RANGE", "JUDGED_EVERY")
    ),
    *(Constant("solvers.dual_ascent.dual", name, "large") for name in ("SETTLING", "SETTLED")),
    Constant("solvers.sinkhorn", "STAGE_ACCURACY", "large"),
    *(Constant("plan.lbfgs", name, problems) for name in ("MEMORY", "OVERSHOOT") for problems in ("large", "plain")),
    *(Constant("plan.sinkhorn", name, "plain") for name in ("FIRST_SWEEPS", "WINDOW", "JUDGED_EVERY", "ASCENT_COST")),
    *(
        Constant("solvers.dual_newton.solver", name, "lasso")
        for name in ("EASY", "RATIO", "STAGE_ACCURACY", "ENOUGH", "SQUARED", "ROUGH_ERROR")
    ),
]


@contextmanager
def changed(constant: Constant, factor: float) -> Iterator[None]:
    """The constant times a factor, in its own module and in those that import it."""
    module = import_module(f"driftway.{constant.module}")
    before = getattr(module, constant.name)
    value = max(1, round(factor * before)) if isinstance(before, int) else factor * before
    with ExitStack() as stack:
        for name, other in list(sys.modules.items()):
            if name.startswith("driftway.") and getattr(other, constant.name, None) is before:
                stack.enter_context(patch.object(other, constant.name, value))
        yield


def measure(constant: Constant, repetitions: int) -> dict[str, Any]:
    """Ratios of processor time and of evaluations, for half and twice the constant, and the worst gap."""
    solver, makers = SOLVED[constant.problems]
    problems, engine = [make() for make in makers], Threads(workers=1)
    times: dict[float, list[float]] = {1.0: [], 0.5: [], 2.0: []}
    counts, worst = dict.fromkeys(times, 0.0), 0.0
    for turn in range(1 + repetitions):  # the first is a rehearsal; everybody is first in some turn
        factors = list(times)
        for factor in factors[turn % 3 :] + factors[: turn % 3]:
            with changed(constant, factor), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                began = time.process_time()
                found = [solve(problem, solver(), tol=TOL, engine=engine) for problem in problems]
                spent = time.process_time() - began
            counts[factor], worst = sum(float(s.trace.inner.sum()) for s in found), max(worst, *(s.gap for s in found))
            if turn:
                times[factor].append(spent)
    ratios = {factor: float(np.median(seconds) / np.median(times[1.0])) for factor, seconds in times.items()}
    return {
        "half": ratios[0.5],
        "half counted": counts[0.5] / counts[1.0],
        "twice": ratios[2.0],
        "twice counted": counts[2.0] / counts[1.0],
        "worst": worst,
    }


def table(runs: list[dict[str, Any]]) -> str:
    """The measurements as Markdown."""
    lines = ["| constant | problems | half | twice | worst gap |", "|---|---|---|---|---|"]
    for run in runs:
        worst = "not solved" if run["worst"] is None or not run["worst"] <= TOL else f"{run['worst']:.0e}"
        ratios = (f"{run[factor]:.2f}× ({run[f'{factor} counted']:.2f}×)" for factor in ("half", "twice"))
        lines.append(f"| {' | '.join((run['module'] + '.' + run['name'], run['problems'], *ratios, worst))} |")
    return "\n".join(lines)


def missing(ledger: Ledger) -> str:
    """What is not measured yet, in words."""
    names = [
        f"{each.module}.{each.name} ({each.problems})" for each in CONSTANTS if ledger.find(each._asdict()) is None
    ]
    return f"\nNot measured yet: {', '.join(names)}.\n" if names else ""


def main(arguments: list[str] | None = None) -> None:
    """Measures what is missing, and writes the table into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--again", action="store_true", help="measure everything anew")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further constant after that")
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results and the page")
    options = parser.parse_args(arguments)
    ledger = Ledger(options.output or storage.RESULTS, "tuning", resume=not options.again)
    began = time.perf_counter()
    for constant in CONSTANTS:
        case = constant._asdict()
        if ledger.find(case) is None and time.perf_counter() - began < 60.0 * options.minutes:
            ledger.add(case, {**case, **measure(constant, options.repetitions)})
            print(table(ledger.data["cases"][-1:]).splitlines()[-1], flush=True)
    if options.output is None:
        before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        text = f"{before}{MARKS[0]}\n{table(ledger.data['cases'])}\n{missing(ledger)}{MARKS[1]}{after}"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
