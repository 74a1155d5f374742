"""Sensors that age: every feature has a gain and an offset that walk, the mix of the classes is fixed or free.

A batch is x = g∘z + o with z from the classes in some mix w. For every mix the map is known in closed form (moments,
filtered by the prior in time), so that only the mix is searched for:

    J(w) = (m ρ / 2φ) · Energy(mapped back, Σ w_k P_k)  +  prior in time  +  α KL(w̄ ‖ w)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import softmax

from driftway.adaptation.hypotheses.hypothesis import Expectation, Moved
from driftway.adaptation.hypotheses.mix import corrected, earned_mix, estimated_mix
from driftway.adaptation.hypotheses.time_prior import Noise, Prior, Steps
from driftway.adaptation.source.classes import REACH, SourceClasses
from driftway.adaptation.source.clouds import thinned
from driftway.adaptation.source.view import SourceView

Double = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The anchors other than the last map cost this many nats: odds of one in twenty.
RETURN = 3.0
# A jump that the tails of the prior do not let pass costs as many nats as a batch may at most leave unexplained.
SUDDEN = 30.0
# Maps before jumps that are remembered, so that a recurrence finds its old state.
REMEMBERED = 2
# The prior of the mix counts as so many points.
MIX_COUNTS = 10.0
# A feature whose spread falls below this share of the usual is dead, unless it is a code, which may be the same in all
# rows; if nearly all are dead, it is the batch that is small.
DEAD, MOST_DEAD = 0.02, 0.75
# The misfit in nats that a right model has, so that a stream which always has more is known to be over-dispersed; and
# the batches that its median is taken over.
USUAL_MISFIT, MISFITS = 3.0, 5
# The misfit in nats beyond which a hypothesis is trusted less with the mix that answers are corrected for.
WELL_FITTED = 2.0
# Points of a batch beyond these add no evidence: by then the model's own errors outweigh chance.
MOST_EVIDENCE = 300
# Steps of the search for a mix, from each of two starts, with the gains renewed between two rounds of it.
SEARCH, GAIN_ROUNDS = 12, 2
LEAST_SHARE = 1e-4


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

    def after(self, step: Map) -> Map:
        """This map moved on by a step."""
        return Map(self.log_gain + step.log_gain, self.offset + step.offset)


@dataclass(frozen=True, eq=False)
class SensorState:
    """The last map and mix, the last step of the map, maps before jumps, the size of steps and the last misfits."""

    map: Map
    mix: Double
    step: Map
    before_jumps: tuple[Map, ...]
    steps: Steps
    misfits: tuple[float, ...]

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
        }

    @classmethod
    def of(cls, arrays: dict[str, Double]) -> SensorState:
        """The state that `arrays` described."""
        last, step, *before = (Map(log_gain, offset) for log_gain, offset in arrays["maps"])
        shift, gain, seen = arrays["steps"]
        steps = Steps(float(shift), float(gain), int(seen))
        return cls(last, arrays["mix"], step, tuple(before), steps, tuple(map(float, arrays["misfits"])))


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

    @cached_property
    def answered_mix(self) -> Double:
        """The mix that the batch gives evidence for, as far as this hypothesis can be trusted with it."""
        if self.restored_mix is not None:
            return self.restored_mix
        if not self.alive.all():
            return self.view.classes.shares
        dispersion = max(1.0, float(np.mean(self.state.misfits)) / WELL_FITTED)
        return earned_mix(self._told, self.view.classes.shares, self.mix, dispersion)

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
    head_start: float = 0.0

    @property
    def name(self) -> str:
        return "sensors and mix" if self.moves and self.free_mix else "sensors" if self.moves else "still"

    @property
    def source(self) -> SourceClasses:
        return self.view.classes

    @property
    def freedom(self) -> int:
        return len(self.source.shares) - 1 if self.free_mix else 0

    def start(self) -> SensorState:
        nothing = Map.identity(len(self.source.centre))
        return SensorState(nothing, self.source.shares, nothing, (), Steps(), ())

    def expect(self, state: SensorState, going_on: bool = False) -> Expectation:
        source = self.source
        masses = source.weights * (state.mix / source.shares)[source.groups]
        now = state.map.after(state.step) if going_on else state.map
        points = self.view.inverse(source.points * now.gain + now.offset)
        return Expectation(points, masses / masses.sum())

    def fit(self, state: SensorState, batch: Double) -> SensorFit:
        task = _task(self, state, self.view(batch))
        best = task.best()
        found = SensorFit(
            state=self._after(state, task, best),
            view=self.view,
            map=best.map,
            mix=best.mix,
            alive=task.alive,
            misfit=max(best.energy, 0.0) * task.nats,
            energy=0.0,
            batch=self.view(batch),
        )
        return replace(found, energy=_full_energy(self.source, found.back(task.sample), best.mix, len(batch)))

    def answering(self) -> SensorFit:
        """The source's own answer, before any batch has come."""
        d, shares = len(self.source.centre), self.source.shares
        same = {"log_gain": np.zeros(d), "offset": np.zeros(d), "mix": shares, "answered_mix": shares}
        return self.restored(self.start(), {**same, "alive": np.ones(d, dtype=np.bool_)})

    def state(self, arrays: dict[str, npt.NDArray[Any]]) -> SensorState:
        """The state whose arrays were saved."""
        return SensorState.of(arrays)

    def restored(self, state: SensorState, arrays: dict[str, npt.NDArray[Any]]) -> SensorFit:
        """The fit whose arrays were saved, to go on answering."""
        return SensorFit(
            state=state,
            view=self.view,
            map=Map(arrays["log_gain"], arrays["offset"]),
            mix=arrays["mix"],
            alive=arrays["alive"],
            misfit=0.0,
            energy=0.0,
            batch=np.empty((0, len(self.source.centre))),
            restored_mix=arrays.get("answered_mix"),
        )

    def _after(self, state: SensorState, task: _Task, best: _Found) -> SensorState:
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
        )


@dataclass(frozen=True, eq=False)
class _Anchor:
    """A map that a batch may have come from, and what that costs in nats; in a jump innovations are believed whole."""

    name: str
    map: Map
    cost: float = 0.0
    jump: bool = False


@dataclass(frozen=True, eq=False)
class _Found:
    """A value of the objective, and what it was for."""

    value: float
    energy: float
    mix: Double
    map: Map
    delta: Double
    eta: Double
    anchor: _Anchor


@dataclass(frozen=True, eq=False)
class _Task:
    """One batch to be explained from one state."""

    hypothesis: Sensors
    state: SensorState
    sample: Double
    mean: Double
    log_spread: Double
    alive: Flags
    moving: Flags
    prior: Prior
    nats: float
    usual: Double

    @property
    def source(self) -> SourceClasses:
        return self.hypothesis.source

    def anchors(self) -> Iterator[_Anchor]:
        """Maps that the batch may have come from."""
        state = self.state
        yield _Anchor("last", state.map)
        if self.hypothesis.moves:
            yield _Anchor("jump", state.map, SUDDEN, jump=True)
        if self.hypothesis.moves and state.steps.seen:
            yield _Anchor("source", Map.identity(len(self.mean)), RETURN)
            for before in state.before_jumps:
                yield _Anchor("before a jump", before, RETURN)

    def mixes(self) -> Iterator[tuple[str, Double]]:
        """Mixes to start from."""
        yield "source", self.source.shares
        if self.hypothesis.free_mix:
            yield "last", _proper(self.state.mix)
            yield "estimated", _proper(self._estimated())

    def best(self) -> _Found:
        """The best explanation over anchors and mixes."""
        found = [
            (self.objective(mix, anchor.map, self.trust(mix, anchor))[0] + anchor.cost, start, anchor, mix)
            for anchor in self.anchors()
            for start, mix in self.mixes()
        ]
        found.sort(key=lambda each: each[0])
        _, start, anchor, mix = found[0]
        if not self.hypothesis.free_mix:
            return self.found(mix, anchor)
        second = next((each for each in found if each[1] != start), found[0])
        return min((self.searched(*each[2:]) for each in (found[0], second)), key=lambda each: each.value)

    def searched(self, anchor: _Anchor, mix: Double) -> _Found:
        """The best mix from one start."""
        for _ in range(GAIN_ROUNDS if self.hypothesis.moves else 1):
            trust = self.trust(mix, anchor)

            def objective(logits: Double, trust: tuple[Double, Double] = trust) -> tuple[float, Double]:
                mix = softmax(logits)
                value, gradient, _ = self.objective(mix, anchor.map, trust)
                return value, mix * (gradient - mix @ gradient)

            options: Any = {"maxiter": SEARCH, "maxfun": SEARCH + 8}
            mix = _proper(softmax(minimize(objective, np.log(mix), jac=True, method="L-BFGS-B", options=options).x))
        return self.found(mix, anchor)

    def found(self, mix: Double, anchor: _Anchor) -> _Found:
        value, _, (energy, after, delta, eta) = self.objective(mix, anchor.map, self.trust(mix, anchor))
        return _Found(value + anchor.cost, energy, mix, after, delta, eta, anchor)

    def innovations(self, mix: Double, before: Map) -> tuple[Double, Double, Double, Double]:
        """How far offsets and log-gains seem to have gone from a map, and the moments of the mix."""
        mean, variance = self.source.moments(mix)
        delta = np.where(self.moving, (self.mean - before.offset) / before.gain - mean, 0.0)
        eta = np.where(self.moving, self.log_spread - 0.5 * np.log(variance) - before.log_gain, 0.0)
        return delta, eta, mean, variance

    def trust(self, mix: Double, anchor: _Anchor) -> tuple[Double, Double]:
        """The share of the innovations to believe."""
        d = len(self.mean)
        if not self.hypothesis.moves:
            return np.zeros(d), np.zeros(d)
        if anchor.jump:
            return np.ones(d), np.ones(d)
        delta, eta, *_ = self.innovations(mix, anchor.map)
        return self.prior.trust(delta, eta)

    def objective(
        self, mix: Double, before: Map, trust: tuple[Double, Double]
    ) -> tuple[float, Double, tuple[float, Map, Double, Double]]:
        """J(w), its gradient, and (energy, map, δ, η)."""
        source, counts = self.source, MIX_COUNTS
        delta, eta, mean, variance = self.innovations(mix, before)
        log_gain = before.log_gain + trust[1] * eta
        gain, stretch = np.exp(log_gain), np.exp(before.log_gain - log_gain)
        location = before.gain * (mean + trust[0] * delta) + before.offset
        y = np.where(self.alive, (self.sample - location) / gain, 0.0)
        energy, by_mix, by_point = source.near.energy_with_gradients((y + mean) @ source.directions, mix)
        cost, by_delta, by_eta = self.prior.cost(delta, eta)
        nats = self.nats / self.state.overdispersion
        value = nats * energy + cost + counts * float(self.usual @ np.log(self.usual / mix))
        # The chain rule: the mix moves the mean and the spread that the batch is matched to.
        pulled = by_point @ source.directions.T
        by_variance = (source.variances + source.means**2 - 2.0 * mean * source.means) / (2.0 * variance)
        alive, moving = self.alive, self.moving
        gradient = by_mix + source.means @ (pulled.sum(axis=0) * (1.0 - alive * (1.0 - moving * trust[0]) * stretch))
        gradient = nats * (gradient + by_variance @ (moving * alive * trust[1] * (pulled * y).sum(axis=0)))
        gradient -= source.means @ (moving * by_delta) + by_variance @ (moving * by_eta)
        gradient -= counts * self.usual / mix
        return value, gradient, (energy, Map(log_gain, location - gain * mean), delta, eta)

    def _estimated(self) -> Double:
        """A mix by label shift, with Gaussian classes in the discriminant space around the last map."""
        source, before = self.source, self.state.map
        z = np.where(self.alive, (self.sample - before.offset) / before.gain, 0.0) @ source.directions
        apart = ((z[:, None, :] - (source.means @ source.directions)[None]) ** 2).sum(axis=2)
        proba = softmax(np.log(source.shares) - 0.5 * apart, axis=1)
        return estimated_mix(proba, source.shares, self.usual, 0.5 * MIX_COUNTS)


def _task(hypothesis: Sensors, state: SensorState, batch: Double) -> _Task:
    source, size = hypothesis.source, len(batch)
    spread = batch.std(axis=0)
    gains = [np.ones_like(spread), state.map.gain, *(before.gain for before in state.before_jumps)]
    alive = (spread > DEAD * np.min(gains, axis=0)) | ~source.movable
    if np.mean(~alive) > MOST_DEAD:
        alive = np.ones_like(alive)
    steps = state.steps if hypothesis.moves else Steps(1e-8, 1e-8)
    return _Task(
        hypothesis=hypothesis,
        state=state,
        sample=thinned(batch),
        mean=batch.mean(axis=0),
        log_spread=np.log(np.where(alive, np.maximum(spread, 1e-3), 1.0)),
        alive=alive,
        moving=alive & source.movable,
        prior=Prior(source, steps, size),
        nats=0.5 * min(size, MOST_EVIDENCE) * source.near.spread,
        usual=0.5 * (source.shares + state.mix),
    )


def _full_energy(source: SourceClasses, z: Double, mix: Double, size: int) -> float:
    """The energy distance in the whole space, in units of the batch's own spread, times twice its size."""
    energies = source.full.energies(np.clip(z, -REACH, REACH))
    return 2.0 * min(size, MOST_EVIDENCE) * max(energies(mix), 0.0) / max(energies.among, 1e-9)


def _proper(mix: Double) -> Double:
    """A mix without zeros."""
    mix = np.maximum(mix, LEAST_SHARE)
    return mix / mix.sum()
