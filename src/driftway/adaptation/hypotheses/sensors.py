"""Sensors that age: every feature has a gain and an offset that walk, the mix of the classes is fixed or free.

A batch is x = g∘z + o with z from the classes in some mix w; `driftway.adaptation.hypotheses.sensor_search` fits both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.hypotheses.hypothesis import Expectation, Moved
from driftway.adaptation.hypotheses.mix import EarnedMix, MixEvidence, corrected, earned_mix
from driftway.adaptation.hypotheses.sensor_search import MOST_EVIDENCE, Found, Search, proper, search_of
from driftway.adaptation.hypotheses.sensor_state import Map, SensorState
from driftway.adaptation.hypotheses.time_prior import Noise, Steps
from driftway.adaptation.shapes import LARGEST_LOG, Shapes
from driftway.adaptation.source.classes import REACH, SourceClasses
from driftway.adaptation.source.view import SourceView

Double = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Maps before jumps that are remembered, so that a recurrence finds its old state.
REMEMBERED = 2
# Misfits of the last batches that are remembered.
MISFITS = 5
# The misfit in nats beyond which a hypothesis is trusted less with the mix that answers are corrected for.
WELL_FITTED = 2.0
# The evidence in nats that those who move must have over those who stay (odds of seven to one): doubt is no reason.
# Those who stay with a free mix of many classes have none: such a mix explains a motion nearly as well.
HEAD_START = 2.0
# The evidence in nats that those with the source's mix must have over a free one of two classes: where the mix stays
# both maps answer as well; where it changed, the one with the source's is wrong. And what every further class costs the
# free one, which fits more by chance.
MIX_HEAD_START, FURTHER_CLASS = 1.0, 1.5


@dataclass(frozen=True, eq=False)
class SensorFit:
    """A map and a mix that explain a batch, and the mix that answers are corrected for.

    Dead features are taken to be what they usually are.
    """

    state: SensorState
    view: SourceView
    map: Map
    mix: Double
    alive: Flags
    misfit: float
    energy: float
    batch: Double
    restored_mix: Double | None = None
    search: tuple[Search, Found] | None = None

    @cached_property
    def answered_mix(self) -> Double:
        """The mix that the batch gives evidence for, as far as this hypothesis can be trusted with it."""
        if self.restored_mix is not None:
            return self.restored_mix
        if not self.alive.all():
            return self.view.classes.shares
        return self._earned.answered

    @cached_property
    def _earned(self) -> EarnedMix:
        source = self.view.classes
        dispersion = max(1.0, float(np.mean(self.state.misfits)) / WELL_FITTED)
        return earned_mix(self._told, source.shares, self.mix, dispersion, len(source.points), self.state.evidence)

    def heard(self) -> SensorState:
        """The state after it has answered: the estimator knows more of the mix than the discriminant directions do.

        Whoever believes in the source's mix goes on to expect it.
        """
        if self.view.answers.classes is None or not self.alive.all():
            return self.state
        free = self.search is not None and self.search[0].free_mix
        mix = proper(self._earned.estimated) if free else self.state.mix
        return replace(self.state, mix=mix, evidence=self._earned.evidence)

    @cached_property
    def _told(self) -> Double:
        """What the estimator of the source says of the batch."""
        return self.view.answers(self.back(self.batch))

    def back(self, Z: Double) -> Double:
        """Points of the present as they would have been at the source, in its units."""
        return np.where(self.alive, (Z - self.map.offset) / self.map.gain, self.view.classes.moments(self.mix)[0])

    def posteriors(self, X: Double) -> Double:
        return self._corrected(self.view.answers(self.back(self.view(X))))

    def of_batch(self) -> Double:
        """The posteriors of the batch itself."""
        return self._corrected(self._told)

    def _corrected(self, told: Double) -> Double:
        return told if told.ndim == 1 else corrected(told, self.answered_mix, self.view.classes.shares)

    def images(self) -> Double:
        return self.view.inverse(self.view.classes.points * self.map.gain + self.map.offset)

    @property
    def displacement(self) -> float:
        source = self.view.classes
        moved = source.points * (self.map.gain - 1.0) + self.map.offset
        return float(np.sqrt(source.weights @ (moved**2).sum(axis=1)))

    @property
    def estimator(self) -> Any:
        return self.view.answers.estimator

    def explain(self) -> Moved:
        return Moved(self.map.offset, self.map.gain, self.mix, self.view.classes.shares, ~self.alive)

    def without(self, group: int) -> float:
        if self.search is None:
            return np.inf
        task, best = self.search
        return task.without(best, group)

    def otherwise(self) -> Double | None:
        if self.search is None or self.search[1].rival is None:
            return None
        rival = self.search[1].rival
        return replace(self, map=rival.map, mix=rival.mix).of_batch()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is needed to answer after the state was saved."""
        found = {"log_gain": self.map.log_gain, "offset": self.map.offset, "mix": self.mix, "alive": self.alive}
        return found if self.view.answers.classes is None else {**found, "answered_mix": self.answered_mix}


@dataclass(frozen=True, eq=False)
class Sensors:
    """Gains and offsets that walk (or none, without `moves`), and classes in a mix that is free (or not)."""

    view: SourceView
    moves: bool
    free_mix: bool

    @property
    def name(self) -> str:
        return "sensors and mix" if self.moves and self.free_mix else "sensors" if self.moves else "still"

    @property
    def source(self) -> SourceClasses:
        return self.view.classes

    @property
    def freedom(self) -> int:
        return len(self.source.shares) - 1 if self.free_mix else 0

    @property
    def price(self) -> float:
        if self.moves:
            return self._price_of_mix
        return min(self._price_of_mix, HEAD_START) - HEAD_START

    @property
    def _price_of_mix(self) -> float:
        if self.view.answers.classes is None or not self.free_mix:
            return float(self.freedom)
        return FURTHER_CLASS * (self.freedom - 1) - MIX_HEAD_START

    def start(self) -> SensorState:
        nothing = Map.identity(len(self.source.centre))
        return SensorState(nothing, self.source.shares, nothing, (), Steps(), (), MixEvidence())

    def expect(self, state: SensorState, going_on: bool = False) -> Expectation:
        source = self.source
        masses = source.weights * (state.mix / source.shares)[source.groups]
        now = state.map.after(state.step) if going_on else state.map
        points = self.view.inverse(source.points * now.gain + now.offset)
        return Expectation(points, masses / masses.sum())

    def fit(self, state: SensorState, batch: Double) -> SensorFit:
        task = search_of(self.source, self.moves, self.free_mix, state, self.view(batch))
        best = task.best()
        found = SensorFit(
            state=self._after(task, best),
            view=self.view,
            map=best.map,
            mix=best.mix,
            alive=task.alive,
            misfit=max(best.energy, 0.0) * task.nats,
            energy=0.0,
            batch=self.view(batch),
            search=(task, best),
        )
        return replace(found, energy=_full_energy(self.source, found.back(task.sample), best.mix, len(batch)))

    def answering(self) -> SensorFit:
        """The source's own answer, before any batch has come."""
        d, shares = len(self.source.centre), self.source.shares
        same = {"log_gain": np.zeros(d), "offset": np.zeros(d), "mix": shares, "answered_mix": shares}
        return self.restored(self.start(), {**same, "alive": np.ones(d, dtype=np.bool_)})

    def state(self, arrays: dict[str, npt.NDArray[Any]]) -> SensorState:
        """The state whose arrays were saved."""
        return SensorState.of(arrays, len(self.source.centre), len(self.source.shares))

    def restored(self, state: SensorState, arrays: dict[str, npt.NDArray[Any]]) -> SensorFit:
        """The fit whose arrays were saved, to go on answering."""
        shapes = Shapes(arrays, d=len(self.source.centre), g=len(self.source.shares))
        log_gain = shapes.take("log_gain", "d", least=-LARGEST_LOG, most=LARGEST_LOG)
        classes = self.view.answers.classes is not None
        return SensorFit(
            state=state,
            view=self.view,
            map=Map(log_gain, shapes.take("offset", "d")),
            mix=shapes.shares("mix", "g"),
            alive=shapes.take("alive", "d", "b"),
            misfit=0.0,
            energy=0.0,
            batch=np.empty((0, len(self.source.centre))),
            restored_mix=shapes.shares("answered_mix", "g") if classes else None,
        )

    def _after(self, task: Search, best: Found) -> SensorState:
        state = task.state
        misfits = (*state.misfits, max(best.energy, 0.0) * task.nats)[-MISFITS:]
        if not self.moves:
            return replace(state, mix=best.mix, misfits=misfits)
        moving, noise = task.moving, task.prior.noise
        jump = best.anchor.jump or task.prior.is_jump(best.delta, best.eta)
        step = Map(
            np.where(moving, best.map.log_gain - state.map.log_gain, 0.0),
            np.where(moving, best.map.offset - state.map.offset, 0.0),
        )
        return SensorState(
            map=state.map.after(step),
            mix=best.mix,
            step=Map.identity(len(moving)) if jump else step,
            before_jumps=(state.map, *state.before_jumps)[:REMEMBERED] if jump else state.before_jumps,
            steps=state.steps.learned(
                best.delta[moving], best.eta[moving], Noise(noise.shift[moving], noise.gain[moving]), jump
            ),
            misfits=misfits,
            evidence=state.evidence,
        )


def _full_energy(source: SourceClasses, z: Double, mix: Double, size: int) -> float:
    """The energy distance in the whole space, in units of the batch's own spread, times twice its size."""
    energies = source.full.energies(np.clip(z, -REACH, REACH))
    return 2.0 * min(size, MOST_EVIDENCE) * max(energies(mix), 0.0) / max(energies.among, 1e-9)
