"""The command: draws problems, runs them, simplifies what fails, and can be stopped and resumed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import solves
from .specs import Spec

# One module per kind of trial.
KINDS = {"solves": solves}
SIMPLIFICATIONS = 60  # trials that one failure may take


def trial_rng(seed: int, kind: str, number: int) -> np.random.Generator:
    """The random numbers of one trial: any of them can be run alone, in any order."""
    return np.random.default_rng([seed, list(KINDS).index(kind), number])


def simplified(kind: str, spec: Spec, failure: str, budget: int = SIMPLIFICATIONS) -> Spec:
    """The simplest problem that was found to fail in the same way."""
    module = KINDS[kind]
    while True:
        for candidate in module.simpler(spec):
            if budget == 0:
                return spec
            budget -= 1
            if any(f.kind == failure for f in module.run(candidate).failures):
                spec = candidate
                break
        else:
            return spec


def campaign(
    kind: str,
    seed: int,
    numbers: range,
    tell: Callable[[str], None],
    seconds: float = float("inf"),
    record: Path | None = None,
    simplify: bool = True,
) -> tuple[int, int, dict[str, int]]:
    """Runs trials; how many were run, how many failed, and the counts of what they told."""
    module, done, failed, totals = KINDS[kind], 0, 0, {}
    finished = set()
    if record is not None and record.exists():
        finished = {(e["kind"], e["seed"], e["number"]) for e in map(json.loads, record.read_text().splitlines())}
    began = time.monotonic()
    for number in numbers:
        if (kind, seed, number) in finished:
            continue
        if time.monotonic() - began > seconds:
            break
        spec = module.draw(trial_rng(seed, kind, number))
        outcome = module.run(spec)
        done += 1
        for name, count in outcome.counts.items():
            totals[name] = totals.get(name, 0) + count
        for name in sorted({failure.kind for failure in outcome.failures}):
            first = next(failure for failure in outcome.failures if failure.kind == name)
            tell(f"FAILURE {kind} seed={seed} number={number}: {name}, {first.run}: {first.detail}")
            smallest = simplified(kind, spec, name) if simplify else spec
            tell(f"# reproducer\n{module.reproducer(smallest)}\n")
        failed += bool(outcome.failures)
        if record is not None:
            entry = {"kind": kind, "seed": seed, "number": number, "failures": [f.kind for f in outcome.failures]}
            with record.open("a") as file:
                file.write(json.dumps(entry) + "\n")
    return done, failed, totals


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--kind", choices=KINDS, default="solves")
    parser.add_argument("--record", type=Path, help="a file of trials that are done, which are not run again")
    parser.add_argument("--as-drawn", action="store_true", help="print failing problems without simplifying them")
    args = parser.parse_args()
    done, failed, counts = campaign(
        args.kind,
        args.seed,
        range(args.first, args.first + args.problems),
        lambda line: print(line, flush=True),
        args.seconds,
        args.record,
        simplify=not args.as_drawn,
    )
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{done} trials, {failed} failed ({told})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
