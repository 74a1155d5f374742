"""The command: draws trials, runs them, simplifies what fails, and can be stopped and resumed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import files, kills, problems, streams

Spec = dict[str, Any]

# One module per kind of trial.
KINDS = {"problems": problems, "streams": streams, "files": files, "kills": kills}
SIMPLIFICATIONS = 40  # trials that one failure may take


def trial_rng(seed: int, kind: str, number: int) -> np.random.Generator:
    """The random numbers of one trial: any of them can be run alone, in any order."""
    return np.random.default_rng([seed, list(KINDS).index(kind), number])


def simplified(kind: str, spec: Spec, failure: str, budget: int = SIMPLIFICATIONS) -> Spec:
    """The simplest trial that was found to fail in the same way."""
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


def mixed(wanted: Mapping[str, int], first: int = 0) -> Iterator[tuple[str, int]]:
    """The trials of all kinds, in an order in which every part of the campaign has the same shares of each."""
    places = ((kind, number, (number + 0.5) / count) for kind, count in wanted.items() for number in range(count))
    for kind, number, _ in sorted(places, key=lambda place: place[2]):
        yield kind, first + number


def campaign(
    seed: int,
    trials: Iterator[tuple[str, int]],
    tell: Callable[[str], None],
    seconds: float = float("inf"),
    record: Path | None = None,
    simplify: bool = True,
) -> tuple[int, int, dict[str, int]]:
    """Runs trials; how many were run, how many failed, and the counts of what they told."""
    done, failed, totals = 0, 0, {}
    finished = set() if record is None else {(e["kind"], e["seed"], e["number"]) for e in entries(record)}
    if record is not None and record.exists() and not record.read_bytes().endswith(b"\n"):
        with record.open("a") as file:
            file.write("\n")
    began = time.monotonic()
    with ExitStack() as closing:
        for module in KINDS.values():
            closing.callback(module.close)
        for kind, number in trials:
            if (kind, seed, number) in finished:
                continue
            if time.monotonic() - began > seconds:
                break
            module = KINDS[kind]
            spec = module.draw(trial_rng(seed, kind, number))
            used = time.process_time()
            outcome = module.run(spec)
            used = time.process_time() - used
            done += 1
            for name, count in outcome.counts.items():
                totals[f"{kind}: {name}"] = totals.get(f"{kind}: {name}", 0) + count
            for name in sorted({failure.kind for failure in outcome.failures}):
                first = next(failure for failure in outcome.failures if failure.kind == name)
                tell(f"FAILURE {kind} seed={seed} number={number}: {name}, {first.where}: {first.detail}")
                smallest = simplified(kind, spec, name) if simplify else spec
                tell(
                    f"# the simplest that was found\npython -m tests.campaign --kind {kind} --spec '{told(smallest)}'\n"
                )
            failed += bool(outcome.failures)
            if record is not None:
                entry = {"kind": kind, "seed": seed, "number": number, "seconds": round(used, 3)}
                entry |= {"failures": [f.kind for f in outcome.failures], "counts": outcome.counts}
                with record.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
    return done, failed, totals


def entries(record: Path) -> list[dict[str, Any]]:
    """What a ledger of trials holds; a line that was being written when the campaign was killed does not count."""
    lines = record.read_text().splitlines() if record.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def told(spec: Spec) -> str:
    """A specification as an argument of the command."""
    return json.dumps(spec).replace("'", "\\u0027")


def part_of(text: str) -> tuple[int, int]:
    """K and N of the part "K/N" of a campaign: N processes, each with a record of its own, share its trials."""
    part, parts = (int(number) for number in text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(f"the part must be from 1/N to N/N, got {text}")
    return part, parts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N", help=f"how many {kind}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="every Nth trial, from the Kth on")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--record", type=Path, help="a file of trials that are done, which are not run again")
    parser.add_argument("--as-drawn", action="store_true", help="print what fails without simplifying it")
    parser.add_argument("--kind", choices=KINDS, help="of the one trial given by --spec")
    parser.add_argument("--spec", type=json.loads, help="one trial, as a failure prints it")
    args = parser.parse_args()
    if args.spec is not None:
        outcome = KINDS[args.kind or "problems"].run(args.spec)
        print(*outcome.failures, outcome.counts, sep="\n")
        return int(bool(outcome.failures))
    wanted = {kind: getattr(args, kind) for kind in KINDS}
    if not any(wanted.values()):
        wanted = {"problems": 1000, "streams": 200, "files": 500, "kills": 20}
    done, failed, counts = campaign(
        args.seed,
        islice(mixed(wanted, args.first), args.part[0] - 1, None, args.part[1]),
        lambda line: print(line, flush=True),
        60.0 * args.minutes,
        args.record,
        simplify=not args.as_drawn,
    )
    print(f"{done} trials, {failed} failed")
    for name, count in sorted(counts.items()):
        print(f"  {name}: {count}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
