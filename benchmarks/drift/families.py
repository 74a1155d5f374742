"""Every stream of the evaluation, by family.

Numbers are chosen on the development split and reported on the evaluation split. Tables are in one or the other;
streams with a seed have other seeds in either; of a recorded stream there is only one, and those on which something was
chosen are marked as seen and run in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import streams
from benchmarks.drift import hard, regression, tables
from benchmarks.drift.drifting import drifting
from benchmarks.drift.kinds import KINDS, OF_REGRESSION
from benchmarks.streams import Stream

FIRST_SEED = {"development": 0, "evaluation": 1000}

FAMILIES = {
    "tables": "real tables under drift of our making",
    "hard": "hard tables for development",
    "real": "recorded streams",
    "literature": "streams of the literature",
    "made": "stand-ins for streams of the literature",
    "moons": "rotating moons",
    "digits": "rotated digits",
    "one-shot": "one large jump",
    "regression": "regression tables under drift of our making",
}

DEVELOPMENT_ONLY = ("hard",)

MOONS: dict[str, Callable[[int], Stream]] = {
    "moons, 20 steps": lambda seed: streams.rotating_moons(seed),
    "moons, 40 steps": lambda seed: streams.rotating_moons(seed, steps=40),
    "moons, 36°": lambda seed: streams.rotating_moons(seed, degrees=36.0),
    "moons, noise 0.15": lambda seed: streams.rotating_moons(seed, noise=0.15),
    "moons, 20 per batch": lambda seed: streams.rotating_moons(seed, m=20),
}
MADE: dict[str, Callable[[int], Stream]] = {
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
SEEDED: dict[str, dict[str, Callable[[int], Stream]]] = {
    "made": MADE,
    "moons": MOONS,
    "digits": {"digits": streams.rotated_digits},
    "one-shot": {
        "digits, 45° at once": lambda seed: streams.digits_at_once(seed, degrees=45.0),
        "digits, 60° at once": lambda seed: streams.digits_at_once(seed, degrees=60.0),
    },
}
REAL = ("keystroke", "gas", "weather", "luxembourg")  # recorded; the other files are of the literature
UNSEEN: tuple[str, ...] = ()  # recorded streams that nothing was chosen on


@dataclass(frozen=True)
class Task:
    """A stream to run on, made where it runs; `seen` says that something may have been chosen on it."""

    family: str
    stream: str
    seed: int
    make: Callable[[], Stream]
    seen: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """What tells a task from others."""
        return self.stream, self.seed


def tasks(split: str, seeds: int) -> list[Task]:
    """The streams of a split: recorded ones where they are found, then seed by seed all others.

    So a run that is stopped has as many runs of one stream as of another.
    """
    every = [task for task in _recorded() if split == "evaluation" or task.seen]
    for seed in range(FIRST_SEED[split], FIRST_SEED[split] + seeds):
        every += _seeded(split, seed) + _tables(split, seed) + _hard(split, seed) + _regression(split, seed)
    return every


def table_stream(table: str, kind: str, seed: int, **sizes: int) -> Stream:
    """A table with classes under a kind of drift."""
    loaded = hard.load_hard(table) if table in hard.HARD else tables.load_table(table)
    name = f"{table}, {kind}"
    return drifting(name, loaded.X, loaded.y, KINDS[kind], seed, classes=loaded.classes, **sizes)


def regression_stream(table: str, kind: str, seed: int, **sizes: int) -> Stream:
    """A table with a number to predict under a kind of drift."""
    name = f"regression: {table}, {kind}"
    X, y = regression.load_regression(table)
    return drifting(name, X, y, OF_REGRESSION[kind], seed, **sizes)


def _recorded() -> list[Task]:
    folder = streams.find_data()
    if folder is None:
        return []
    made: dict[str, Callable[[], Stream]] = {
        **{name: lambda name=name: streams.latency_stream(name, folder) for name in streams.LATENCY},  # type: ignore[misc]
        "gas": lambda: streams.gas_sensor(folder),
        **{name: lambda load=load: load(folder) for name, load in streams.TABLES.items()},  # type: ignore[misc]
    }
    return [
        Task("real" if name in REAL else "literature", name, 0, make, seen=name not in UNSEEN)
        for name, make in made.items()
    ]


def _seeded(split: str, seed: int) -> list[Task]:
    return [
        Task(family, name, seed, lambda make=make: make(seed), seen=split == "development")  # type: ignore[misc]
        for family, made in SEEDED.items()
        for name, make in made.items()
    ]


def _tables(split: str, seed: int) -> list[Task]:
    chosen: tuple[str, ...] = tables.DEVELOPMENT if split == "development" else tables.EVALUATION
    if tables.keel_folder() is None:
        chosen = tuple(name for name in chosen if name in tables.BUNDLED)
    return [
        Task(
            "tables",
            f"{table}, {kind}",
            seed,
            lambda table=table, kind=kind: table_stream(table, kind, seed),  # type: ignore[misc]
            seen=split == "development",
        )
        for table in chosen
        for kind in KINDS
    ]


def _hard(split: str, seed: int) -> list[Task]:
    if split != "development":
        return []
    chosen = hard.HARD if tables.keel_folder() is not None else hard.MADE
    return [
        Task(
            "hard", f"{table}, {kind}", seed, lambda table=table, kind=kind: table_stream(table, kind, seed), seen=True
        )  # type: ignore[misc]
        for table in chosen
        for kind in KINDS
    ]


def _regression(split: str, seed: int) -> list[Task]:
    chosen: tuple[str, ...] = regression.DEVELOPMENT if split == "development" else regression.EVALUATION
    if regression.archive() is None:
        chosen = tuple(name for name in chosen if name not in regression.ORIGINS)
    return [
        Task(
            "regression",
            f"regression: {table}, {kind}",
            seed,
            lambda table=table, kind=kind: regression_stream(table, kind, seed),  # type: ignore[misc]
            seen=split == "development",
        )
        for table in chosen
        for kind in OF_REGRESSION
    ]
