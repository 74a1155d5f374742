"""The data of the paper's experiments: two moons that rotate about the origin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons

Double = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Sample = tuple[Double, Labels]

NOISE = 0.05  # the paper does not say how much
DEGREES = 18.0
FRESH = 1000  # points in the test sample of every step


@dataclass(frozen=True, eq=False)
class Stream:
    """A labelled source, unlabelled batches, and a labelled test sample from the distribution of every batch."""

    source: Sample
    batches: list[Sample]
    fresh: list[Sample]


def turned_moons(count: int, degrees: float, seed: int) -> Sample:
    """A sample of the two moons, rotated counterclockwise about the origin."""
    X, y = make_moons(count, noise=NOISE, random_state=seed)
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return X @ turn, y.astype(np.int64)


def rotating_moons(seed: int, *, n: int, m: int, steps: int) -> Stream:
    """A stream of n labelled points and `steps` batches of m points, each rotated by 18° more than the last.

    A shorter stream of the same seed is the beginning of a longer one.
    """
    seeds = np.random.SeedSequence(seed).generate_state(1 + 2 * steps)  # the first ones do not depend on `steps`
    angles = [DEGREES * step for step in range(1, steps + 1)]
    batches = [turned_moons(m, angle, int(s)) for angle, s in zip(angles, seeds[1::2], strict=True)]
    fresh = [turned_moons(FRESH, angle, int(s)) for angle, s in zip(angles, seeds[2::2], strict=True)]
    return Stream(turned_moons(n, 0.0, int(seeds[0])), batches, fresh)
