"""`python -m benchmarks.drift`: runs everybody on every stream, stores the numbers and writes the page.

Numbers are saved stream by stream, and what is not run anew is kept, so that a run can be stopped and taken up again
with `--missing`. Only the evaluation split has a page.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks import storage
from benchmarks.drift import page, summary
from benchmarks.drift.entrants import CLASSIFIERS, Entrant, entrants_of
from benchmarks.drift.families import FAMILIES, Task, tasks
from benchmarks.drift.summary import BASELINES, Run
from benchmarks.streams import Stream
from driftway.engines.dask.tasks import spread

PART = {"evaluation": "drift", "development": "drift-development"}


def run(task: Task, entrants: list[str], known: Run | None = None) -> Run:
    """What the entrants reach on a stream; those who are already known are left out.

    Static and standardised run along with whoever runs, who is compared with them step by step.
    """
    stream = task.make()
    able = entrants_of(task.family, len(stream.batches))
    done = set() if known is None else set(known["found"])
    wanted = [name for name in able if name in entrants and name not in done]
    steps: dict[str, list[float]] = {}
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys([*(BASELINES if wanted else ()), *wanted]):
        steps[name], found[name] = _measured(able[name], stream)
    baselines = [steps.get(name, []) for name in BASELINES]
    if all(baselines):
        for name in found:
            if steps[name]:
                found[name]["below"] = summary.steps_below(steps[name], baselines, task.family)
    return {
        "family": task.family,
        "stream": task.stream,
        "seed": task.seed,
        "seen": task.seen,
        "steps": len(stream.batches),
        "found": {name: found[name] for name in able if name in found},
    }


def merged(stored: list[Run], fresh: list[Run]) -> list[Run]:
    """The stored runs, with what was found anew in the place of what was found before."""
    found = {(one["stream"], one["seed"]): one for one in stored}
    order = list(CLASSIFIERS)
    for one in fresh:
        key = one["stream"], one["seed"]
        both = {**found[key]["found"], **one["found"]} if key in found else one["found"]
        found[key] = {**one, "found": dict(sorted(both.items(), key=lambda item: order.index(item[0])))}
    families = list(FAMILIES)
    return sorted(found.values(), key=lambda one: families.index(one["family"]))


def main(arguments: list[str] | None = None) -> None:
    """Reads the options and runs."""
    options = _parser().parse_args(arguments)
    folder, part = options.output or storage.RESULTS, PART[options.split]
    stored = (storage.load(folder, part) or {"runs": []})["runs"]
    known = {(one["stream"], one["seed"]): one for one in stored} if options.missing else {}
    chosen = [task for task in tasks(options.split, options.seeds) if _is_asked_for(task, options)]
    entrants = options.entrant or [*CLASSIFIERS]
    fresh: list[Run] = []
    runs = stored
    with spread(options.cluster, options.jobs) as dashboard:
        if dashboard is not None:
            print(f"on the cluster at {options.cluster}, which can be watched at {dashboard}")
        every = Parallel(verbose=1, return_as="generator")(
            delayed(run)(task, entrants, known.get(task.key)) for task in chosen
        )
        for one in every:
            fresh.append(one)
            runs = merged(stored, fresh)
            storage.save_lines({"part": part, "runs": runs}, folder, part)
    told = {(one["stream"], one["seed"]) for one in fresh}
    print(report([one for one in runs if (one["stream"], one["seed"]) in told]))
    if options.split == "evaluation" and options.output is None:
        page.write(runs)


def report(runs: list[Run]) -> str:
    """What is printed at the end: the table of every family that ran, and where driftway compares worst."""
    groups = summary.grouped(runs, lambda one: one["family"])
    parts = [part for family, group in groups.items() for part in page.tables_of(family, group)]
    if summary.margins(runs):
        parts += [page.distribution(runs), page.worst_table(runs)]
    return "\n\n".join(parts)


def _measured(entrant: Entrant, stream: Stream) -> tuple[list[float], dict[str, Any]]:
    began = time.perf_counter()
    try:
        scores, warned = entrant(stream)
    except Exception as failure:  # one that fails must not end the run of all others
        return [], {"error": f"{type(failure).__name__}: {failure}"}
    seconds = (time.perf_counter() - began) / len(stream.batches)
    return scores, {"mean": float(np.mean(scores)), "last": scores[-1], "warned": warned, "seconds": seconds}


def _is_asked_for(task: Task, options: argparse.Namespace) -> bool:
    if options.family and task.family not in options.family:
        return False
    return not options.only or any(part in task.stream for part in options.only)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    parser.add_argument("--split", choices=list(PART), default="evaluation")
    parser.add_argument("--seeds", type=int, default=1, help="runs of every stream that has a seed")
    parser.add_argument("--family", action="append", choices=list(FAMILIES), help="may be repeated")
    parser.add_argument("--only", action="append", help="streams whose name contains this; may be repeated")
    parser.add_argument("--entrant", action="append", choices=list(CLASSIFIERS), help="may be repeated")
    parser.add_argument("--missing", action="store_true", help="run only what is not stored yet")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="spread the runs over the workers of a Dask scheduler; local: over JOBS Dask workers of this machine",
    )
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results; no page")
    return parser
