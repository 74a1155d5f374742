"""Where sensors are: a gain and an offset per feature, the mix of the classes, and what is known of the stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.hypotheses.mix import MixEvidence
from driftway.adaptation.hypotheses.time_prior import Steps
from driftway.adaptation.shapes import LARGEST_COUNT, LARGEST_LOG, Shapes

Double = npt.NDArray[np.float64]

# The misfit in nats that a right model has, so that a stream which always has more is known to be over-dispersed.
USUAL_MISFIT = 3.0


@dataclass(frozen=True, eq=False)
class Map:
    """x = gain∘z + offset, per feature, in units of the source."""

    log_gain: Double
    offset: Double

    @classmethod
    def identity(cls, d: int) -> Map:
        return cls(np.zeros(d), np.zeros(d))

    @property
    def gain(self) -> Double:
        return np.exp(self.log_gain)

    def only(self, which: npt.NDArray[np.bool_]) -> Map:
        """This map for some features, and none for the others."""
        return Map(np.where(which, self.log_gain, 0.0), np.where(which, self.offset, 0.0))

    def after(self, step: Map) -> Map:
        """This map moved on by a step."""
        return Map(self.log_gain + step.log_gain, self.offset + step.offset)


@dataclass(frozen=True, eq=False)
class SensorState:
    """The last map and mix, the last step of the map, maps before jumps, and what was learned of the stream.

    That is the size of its steps, the last misfits, and the evidence that its mix changes.
    """

    map: Map
    mix: Double
    step: Map
    before_jumps: tuple[Map, ...]
    steps: Steps
    misfits: tuple[float, ...]
    evidence: MixEvidence

    @cached_property
    def overdispersion(self) -> float:
        """By how much this stream misfits more than a right model would; 1 if it does not."""
        return max(1.0, float(np.median(self.misfits)) / USUAL_MISFIT) if self.misfits else 1.0

    def arrays(self) -> dict[str, Double]:
        """The state as arrays, to be saved."""
        maps = [self.map, self.step, *self.before_jumps]
        return {
            "maps": np.stack([np.stack([each.log_gain, each.offset]) for each in maps]),
            "mix": self.mix,
            "steps": np.array([self.steps.shift, self.steps.gain, self.steps.seen]),
            "misfits": np.array(self.misfits),
            "evidence": np.array([self.evidence.ratio, self.evidence.batches]),
        }

    @classmethod
    def of(cls, arrays: dict[str, npt.NDArray[Any]], features: int, groups: int) -> SensorState:
        """The state that `arrays` described, for so many features and groups."""
        shapes = Shapes(arrays, d=features, g=groups)
        maps = shapes.take("maps", "m2d")
        if len(maps) < 2 or np.abs(maps[:, 0]).max(initial=0.0) > LARGEST_LOG:
            raise ValueError(f"{len(maps)} maps with log-gains up to {np.abs(maps[:, 0]).max(initial=0.0):g} are none")
        last, step, *before = (Map(log_gain, offset) for log_gain, offset in maps)
        shift, gain, seen = shapes.take("steps", "3", least=0.0)
        steps, misfits = Steps(float(shift), float(gain), int(seen)), shapes.take("misfits", "l", infinite=True)
        ratio, batches = shapes.take("evidence", "2", least=0.0)
        if max(seen, batches) > LARGEST_COUNT:
            raise ValueError(f"arrays 'steps' and 'evidence' count {seen:g} and {batches:g} batches")
        evidence = MixEvidence(float(ratio), int(batches))
        return cls(last, shapes.shares("mix", "g"), step, tuple(before), steps, tuple(map(float, misfits)), evidence)
