"""`python -m benchmarks.evaluate`: how right everybody stays while the data drifts, in one table.

Protocol: adapt to an unlabelled batch, then predict it, or a fresh sample of its distribution where there is one.
One setting for all streams. Seeds begin at 1000, and numbers were chosen on others, on the real streams and on digits;
so the real streams are not unseen. That another mix of classes is no drift, and that classes which are clusters are
followed as such, was built in after rows of earlier runs had been seen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks import adaptation_peers as peers
from benchmarks import storage, streams
from benchmarks.streams import Stream
from driftway import ContinuousTransportClassifier
from driftway.engines.dask.tasks import spread

FIRST_SEED = 1000
PAGE = Path(__file__).resolve().parent / "ADAPTATION.md"
README = PAGE.parent.parent / "README.md"
MARKS = "<!-- written by make evaluate -->", "<!-- to here -->"
PAPER = {
    "metric": "euclidean",
    "epsilon": 0.4,
    "relative_epsilon": False,
    "scale": None,
    "time_weight": 0.3,
    "map": "barycentric",
    "motion": None,
    "labels": "classifier",
    "stay": False,
}

Accuracies = list[float]


def ours(stream: Stream, **settings: Any) -> tuple[Accuracies, int]:
    """Accuracy per step, and how many steps warned."""
    model = ContinuousTransportClassifier(**settings).fit(stream.X, stream.y)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step, (X, y) in enumerate(stream.batches):
            model.partial_fit(X)
            found.append(float(model.score(*stream.tests[step]) if stream.tests else model.score(X, y)))
    return found, sum(bool(warning) for warning in model.history_["warning"])


def _peer(function: Callable[[Stream], Accuracies]) -> Callable[[Stream], tuple[Accuracies, int]]:
    def run(stream: Stream) -> tuple[Accuracies, int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(stream), 0

    return run


ENTRANTS: dict[str, Callable[[Stream], tuple[Accuracies, int]]] = {
    "driftway": ours,
    "the paper's": lambda stream: ours(stream, **PAPER),
    "static": _peer(peers.static),
    "standardised": _peer(peers.standardised),
    "self-training": _peer(peers.self_training),
    "SCARGC": _peer(peers.scargc),
    "POT step by step": _peer(peers.pot_stepwise),
    "oracle": _peer(peers.oracle),
}

SEEDED: dict[str, Callable[[int], Stream]] = {
    "moons, 20 steps": lambda seed: streams.rotating_moons(seed),
    "moons, 40 steps": lambda seed: streams.rotating_moons(seed, steps=40),
    "moons, 36°": lambda seed: streams.rotating_moons(seed, degrees=36.0),
    "moons, noise 0.15": lambda seed: streams.rotating_moons(seed, noise=0.15),
    "moons, 20 per batch": lambda seed: streams.rotating_moons(seed, m=20),
    "digits": lambda seed: streams.rotated_digits(seed),
    "two crossing": streams.two_crossing,
    "five vertical": streams.five_vertical,
    "four rotating, expanding": streams.four_rotating_expanding,
    "four expanding, one fixed": streams.four_expanding_one_fixed,
    "one passing around": streams.one_passing_around,
    "Gaussians crossing, 3-D": lambda seed: streams.crossing_gaussians(seed, dimensions=3),
    "Gaussians crossing, 5-D": lambda seed: streams.crossing_gaussians(seed, dimensions=5),
    "gears": streams.gears,
    "stationary": streams.stationary,
    "label shift": streams.label_shift,
}


# Those that take a minute per stream of a hundred batches, and run on the paper's own data only.
SLOW = ("the paper's", "POT step by step")


def tasks(seeds: int) -> list[tuple[str, Callable[[], Stream]]]:
    """The streams by name, those with a seed as often as asked for, and the real ones where they are found."""
    every: list[tuple[str, Callable[[], Stream]]] = []
    folder = streams.find_data()
    if folder is not None:
        every += [(name, lambda name=name: streams.latency_stream(name, folder)) for name in streams.LATENCY]  # type: ignore[misc]
        every.append(("gas", lambda: streams.gas_sensor(folder)))
    # Seed by seed, so that a run that is stopped has as many runs of one stream as of another.
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        every += [(name, lambda make=make, seed=seed: make(seed)) for name, make in SEEDED.items()]  # type: ignore[misc]
    return every


def _run(name: str, make: Callable[[], Stream], entrants: list[str]) -> dict[str, Any]:
    stream, found = make(), {}
    for entrant in entrants:
        if entrant in SLOW and not _short(name):
            continue
        began = time.perf_counter()
        try:
            accuracies, warned = ENTRANTS[entrant](stream)
            found[entrant] = {"mean": float(np.mean(accuracies)), "last": accuracies[-1], "warned": warned}
        except Exception as error:
            found[entrant] = {"mean": float("nan"), "error": f"{type(error).__name__}: {error}"}
        found[entrant]["seconds"] = (time.perf_counter() - began) / len(stream.batches)
    return {"stream": name, "steps": len(stream.batches), "found": found}


def updated(stored: dict[str, Any] | None, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stored runs, with what was found anew in the place of what was found before."""
    if stored is None:
        return runs
    fresh: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        fresh.setdefault(run["stream"], []).append(run)
    merged = []
    for run in stored["runs"]:
        again = fresh.get(run["stream"], [])
        merged.append({**run, "found": {**run["found"], **(again.pop(0)["found"] if again else {})}})
    return merged + [run for rest in fresh.values() for run in rest]


def table(runs: list[dict[str, Any]]) -> str:
    """Mean accuracy in per cent, by stream and entrant, as Markdown."""
    entrants = list(dict.fromkeys(entrant for run in runs for entrant in run["found"]))
    lines = ["| stream | runs | " + " | ".join(entrants) + " | warned |", "|---|---|" + "---|" * (len(entrants) + 1)]
    order = [*SEEDED, *streams.LATENCY, "gas"]
    names = sorted(dict.fromkeys(run["stream"] for run in runs), key=lambda name: (*order, name).index(name))
    rows = []
    for name in names:
        group = [run for run in runs if run["stream"] == name]
        means = [_mean(runs, name, entrant) for entrant in entrants]
        warned = np.mean([run["found"]["driftway"]["warned"] / run["steps"] for run in group])
        rows.append(means)
        cells = " | ".join(map(_cell, means))
        lines.append(f"| {name} | {len(group)} | {cells} | {100 * warned:.0f} % |")
    overall = " | ".join(f"**{_cell(float(mean))}**" for mean in np.mean(rows, axis=0))
    lines.append(f"| **mean over streams** | | {overall} | |")
    return "\n".join(lines)


def summary(runs: list[dict[str, Any]]) -> str:
    """The same in a line per kind of stream, for those who ran on all of them."""
    entrants = [name for name in ENTRANTS if name not in SLOW]
    kinds = {
        "rotating moons (5 settings)": lambda name: name.startswith("moons"),
        "rotated digits": lambda name: name == "digits",
        "made streams (10)": lambda name: name in SEEDED and not _short(name),
        "streams of the literature (7)": lambda name: name in streams.LATENCY,
        "gas sensors": lambda name: name == "gas",
    }
    lines = ["| | " + " | ".join(entrants) + " |", "|---|" + "---|" * len(entrants)]
    for kind, belongs in kinds.items():
        names = list(dict.fromkeys(run["stream"] for run in runs if belongs(run["stream"])))
        if names:
            means = [np.mean([_mean(runs, name, entrant) for name in names]) for entrant in entrants]
            lines.append(f"| {kind} | " + " | ".join(_cell(float(mean)) for mean in means) + " |")
    return "\n".join(lines)


def _mean(runs: list[dict[str, Any]], name: str, entrant: str) -> float:
    group = [run for run in runs if run["stream"] == name]
    return float(np.mean([run["found"].get(entrant, {"mean": np.inf})["mean"] for run in group]))


def between_marks(text: str, new: str) -> str:
    """The text with what stands between the marks replaced."""
    (before, _, rest), (first, last) = text.partition(MARKS[0]), MARKS
    return f"{before}{first}\n{new}\n{last}{rest.partition(last)[2]}"


def _cell(mean: float) -> str:
    """A mean accuracy in per cent; NaN for a failure, infinite if there was no run."""
    return "failed" if np.isnan(mean) else "–" if np.isinf(mean) else f"{100 * mean:.1f}"


def _short(name: str) -> bool:
    return name.startswith(("moons", "digits"))


def main(arguments: list[str] | None = None) -> None:
    """Runs everybody on every stream, stores the numbers and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="runs of every stream that has a seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="spread the runs over the workers of a Dask scheduler; local: over JOBS Dask workers of this machine",
    )
    parser.add_argument("--only", action="append", help="streams whose name contains this; may be repeated")
    parser.add_argument("--entrant", action="append", choices=list(ENTRANTS))
    parser.add_argument("--update", action="store_true", help="keep the stored numbers of everybody who is not run")
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results")
    options = parser.parse_args(arguments)
    chosen = [
        task for task in tasks(options.seeds) if not options.only or any(part in task[0] for part in options.only)
    ]
    entrants = options.entrant or list(ENTRANTS)
    if "driftway" not in entrants:
        entrants = ["driftway", *entrants]
    folder = options.output or storage.RESULTS
    stored = storage.load(folder, "adaptation") if options.update else None
    found: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    # Saved stream by stream, so that a run that is stopped has not been for nothing.
    with spread(options.cluster, options.jobs) as dashboard:
        if dashboard is not None:
            print(f"on the cluster at {options.cluster}, which can be watched at {dashboard}")
        every = Parallel(verbose=1, return_as="generator")(delayed(_run)(name, make, entrants) for name, make in chosen)
        for run in every:
            found.append(run)
            runs = updated(stored, found)
            storage.save({"part": "adaptation", "runs": runs}, folder, "adaptation")
    text = table(runs)
    print(text)
    if options.output is None:
        PAGE.write_text(
            f"# Continuous adaptation\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n{text}\n", encoding="utf-8"
        )
        README.write_text(between_marks(README.read_text(encoding="utf-8"), summary(runs)), encoding="utf-8")


if __name__ == "__main__":
    main()
