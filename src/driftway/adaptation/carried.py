"""What is carried from step to step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.heaps import Heaps

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Carried:
    """The labelled source, and where every track sees it now and expects it next (tracks × n × d).

    `groups` numbers the classes, all zero for a regression; `heaps` are what they are made of, if they are such, and
    `members` the heaps of the points (n). `masses` are those that the tracks give the points (tracks × n). `scores`
    are the running averages of the tracks' log-energies, `still` that of the source where it began, and `drifting`
    says that it has lost once.
    """

    source: Double
    targets: npt.NDArray[Any]
    groups: Groups
    heaps: Heaps | None
    members: Groups
    weights: Double
    now: Double
    expected: Double
    masses: Double
    scores: Double
    still: float
    drifting: bool
    chosen: int
    steps: int

    @classmethod
    def first(
        cls,
        source: Double,
        targets: npt.NDArray[Any],
        groups: Groups,
        heaps: Heaps | None,
        weights: Double,
        tracks: int,
    ) -> Carried:
        """The source itself, with weights of total one, for so many tracks."""
        places, masses = np.repeat(source[None], tracks, axis=0), np.repeat(weights[None], tracks, axis=0)
        scores = np.zeros(tracks)
        members = groups if heaps is None else heaps.members(source, groups)
        return cls(source, targets, groups, heaps, members, weights, places, places, masses, scores, 0.0, False, 0, 0)

    @property
    def images(self) -> Double:
        """Where the source is now."""
        return self.now[self.chosen]
