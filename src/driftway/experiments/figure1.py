"""Figure 1: the source and the sequence of rotating targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftway.experiments.moons import DEGREES, Sample, rotating_moons
from driftway.experiments.scale import TEST_SEED, Scale
from driftway.experiments.tasks import Arrays, Store, Task

SOURCE, BATCH, TARGETS = 500, 50, 7


@dataclass(frozen=True, eq=False)
class Figure1:
    """The labelled source, and the targets with their angles. Labels of targets are used for colours only."""

    source: Sample
    targets: list[tuple[float, Sample]]


def sample_domains(*, seed: int, n: int, m: int, steps: int) -> Arrays:
    """Samples the first domains of a stream of Figure 3."""
    stream = rotating_moons(seed, n=n, m=m, steps=steps)
    X, y = zip(*stream.batches, strict=True)
    return {"source": stream.source[0], "labels": stream.source[1], "targets": np.stack(X), "hidden": np.stack(y)}


def task() -> Task:
    """The only task of the figure."""
    return Task("figure1", sample_domains, {"seed": TEST_SEED, "n": SOURCE, "m": BATCH, "steps": TARGETS})


def compute(store: Store, scale: Scale, *, jobs: int, progress: bool) -> None:
    """Samples the domains, which are the same at every scale."""
    store.compute([task()], jobs=1, progress=progress, label="figure 1")


def read(store: Store, scale: Scale) -> Figure1:
    """Reads the saved data of the figure."""
    arrays = store.load(task())
    samples = zip(arrays["targets"], arrays["hidden"], strict=True)
    targets = [(DEGREES * step, sample) for step, sample in enumerate(samples, start=1)]
    return Figure1((arrays["source"], arrays["labels"]), targets)
