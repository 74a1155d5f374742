"""What is carried from one step to the next: the source's own points, or the batch with the labels it was given."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from driftway.adaptation.carried import Carried
from driftway.adaptation.labels import as_targets
from driftway.adaptation.tracking import Step

Double = npt.NDArray[np.float64]


@runtime_checkable
class Renewal(Protocol):
    """One method: what is carried on."""

    def carry(self, step: Step, batch: Double, b: Double, received: Double) -> Carried:
        """What is carried on after a step to a batch with weights b."""


class Kept:
    """The source keeps its points and labels, as in the paper."""

    def carry(self, step: Step, batch: Double, b: Double, received: Double) -> Carried:
        return step.carried


class Renewed:
    """The batch with the labels read off the plan takes the place of the source, as long as no class is lost.

    Its points move as the nearest of the mapped source did.
    """

    def carry(self, step: Step, batch: Double, b: Double, received: Double) -> Carried:
        carried = step.carried
        targets = as_targets(received)
        if received.ndim == 2 and np.unique(targets).size < np.unique(carried.groups).size:
            return carried
        nearest = KDTree(carried.images).query(batch)[1]
        velocities = carried.expected - carried.now
        now = np.repeat(batch[None], len(carried.now), axis=0)
        groups = targets.astype(np.intp) if received.ndim == 2 else np.zeros(len(batch), dtype=np.intp)
        return replace(
            carried,
            source=batch,
            targets=targets,
            groups=groups,
            heaps=None,
            members=groups,
            weights=b / b.sum(),
            now=now,
            expected=now + velocities[:, nearest],
            masses=np.repeat(b[None] / b.sum(), len(now), axis=0),
            drifting=True,
        )
