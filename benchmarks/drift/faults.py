"""`python -m benchmarks.drift.faults`: one bad batch in a stream, and what is left of it two batches later.

For every seed a stream is run once as it is and then once with each fault in the place of one batch. Both predict the
same fresh sample of the last step's distribution, of 1000 points. A case is a fault in a stream; it is well if the
stream with the fault is right about no fewer than one point in a hundred less. Streams are of points in the plane
and of development tables; seeds below 2000 are for development, and those from 2000 on are reported.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import storage
from benchmarks.drift.scenes import AFTER, FAULTS, scene
from driftway import ContinuousTransportClassifier

PART, FIRST, CASES = "faults", 2000, 1000
WITHIN = 0.01

Run = dict[str, Any]  # of one seed: the stream's name, its accuracy without a fault, and what is lost by each


def run(seed: int) -> Run:
    """What every fault costs in the stream of a seed."""
    stage = scene(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ContinuousTransportClassifier(on_bad_batch="skip").fit(stage.X, stage.y)
        for batch in stage.batches[: stage.at]:
            model.partial_fit(batch)
        whole = _end(model, stage.batches[stage.at], stage)
        lost = {
            name: whole - _end(model, fault(stage.batches[stage.at], stage, np.random.default_rng(seed)), stage)
            for name, fault in FAULTS.items()
        }
    return {"seed": seed, "stream": stage.name, "accuracy": whole, "lost": lost}


def _end(model: ContinuousTransportClassifier, batch: Any, stage: Any) -> float:
    """The accuracy at the end if this is the batch in question; the model is not changed."""
    own = copy.deepcopy(model).partial_fit(batch)
    for later in stage.batches[-AFTER:]:
        own.partial_fit(later)
    X, y = stage.fresh
    return float(np.mean(own.predict(X) == y))


def table(runs: list[Run]) -> str:
    """How many cases are well, by fault, in the plane and on tables; then those that are not, the worst first."""
    lines = ["| fault | plane | tables | worst |", "|---|---|---|---|"]
    groups = [[one for one in runs if one["stream"].startswith("plane") == plane] for plane in (True, False)]
    for fault in FAULTS:
        cells = [_count([one["lost"][fault] for one in group]) for group in groups]
        worst = max(runs, key=lambda one: one["lost"][fault])
        lines.append(f"| {fault} | {' | '.join(cells)} | {worst['stream']}: {-100 * worst['lost'][fault]:+.1f} |")
    cells = [_count([lost for one in group for lost in one["lost"].values()]) for group in groups]
    every = _count([lost for one in runs for lost in one["lost"].values()])
    return "\n".join([*lines, f"| **all** | {' | '.join(cells)} | together {every} |"])


def section(folder: Path = storage.RESULTS) -> list[str]:
    """The part of the page, if it was ever run."""
    stored = storage.load(folder, PART)
    if stored is None:
        return []
    text = (
        "Written by `python -m benchmarks.drift.faults`. One batch of a stream is bad. Two batches later a fresh "
        "sample of 1000 points is predicted, as by the same stream without the fault. Counted are the cases in which "
        "no more than one point in a hundred is lost. Sources have 60 to 300 rows and batches 20 to 100; streams are "
        "of classes in the plane and of the development tables, with seeds on which nothing was chosen."
    )
    return ["## Faults", text, table(stored["runs"])]


def main(arguments: list[str] | None = None) -> None:
    """Reads the options and runs what is not stored yet."""
    options = _parser().parse_args(arguments)
    stored = storage.load(options.output, PART) or {"runs": []}
    known = {one["seed"]: one for one in stored["runs"]}
    for seed in range(options.first, options.first + -(-options.cases // len(FAULTS))):
        if seed not in known:
            known[seed] = run(seed)
            storage.save_lines({"part": PART, "runs": [known[key] for key in sorted(known)]}, options.output, PART)
    print(table(list(known.values())))


def _count(lost: list[float]) -> str:
    return f"{sum(each <= WITHIN + 1e-9 for each in lost)} of {len(lost)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift.faults", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    parser.add_argument("--output", type=Path, default=storage.RESULTS, help="directory for results")
    return parser


if __name__ == "__main__":
    main()
