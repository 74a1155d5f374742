"""The search for the map and the mix that explain a batch.

For every mix the map is known in closed form (moments, filtered by the prior in time), so that only the mix is
searched for:

    J(w) = log(1 + exp((m ρ / 2φ) · Energy(mapped back, Σ w_k P_k)))  +  prior in time  +  prior of the mix

The energy has no bias and so may be negative by chance; below zero it is no further evidence, or the mix of the fewest
points would be found. From the source's mix to the best one the posterior is averaged.

The prior of the mix is a mixture: near the usual one (α KL(w̄ ‖ w) with w̄ = ½(π + last mix)), near the last one, or now
and then any mix at all, for a price. Otherwise a class that leaves is cheaper to explain by a map that stretches the
others, and one that is away seems to come back. The last mix is known as well as the classes are told apart, and counts
so much beside the source's: where they overlap a mix would run away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from driftway.adaptation.hypotheses.mix import estimated_mix
from driftway.adaptation.hypotheses.sensor_state import Map, SensorState
from driftway.adaptation.hypotheses.time_prior import Prior, Steps
from driftway.adaptation.source.classes import SourceClasses
from driftway.adaptation.source.clouds import thinned

Double = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The anchors other than the last map cost this many nats: odds of one in twenty.
RETURN = 3.0
# A jump that the tails of the prior do not let pass costs as many nats as a batch may at most leave unexplained.
SUDDEN = 30.0
# The prior of a mix near another one counts as so many points; any mix at all costs `RETURN` nats and so many log m for
# each free share, as in the Bayesian information criterion.
MIX_COUNTS, FREE_SHARE = 3.0, 0.5
# A feature whose spread falls below this share of the usual is dead, unless it is a code, which may be the same in all
# rows; if nearly all are dead, it is the batch that is small.
DEAD, MOST_DEAD = 0.02, 0.75
# Points of a batch beyond these add no evidence: by then the model's own errors outweigh chance.
MOST_EVIDENCE = 300
# Steps of the search for a mix, from each of two starts, with the gains renewed between two rounds of it.
SEARCH, GAIN_ROUNDS = 12, 2
LEAST_SHARE = 1e-4
# The posterior is averaged over these points of the way from the source's mix to the best one.
PARTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# A mix that explains the batch worse than the best one by more nats is ruled out (odds of ten to one).
RULED_OUT = 2.3
# The part of a class's share that is left when it is asked whether the class could be gone.
GONE = 0.02


@dataclass(frozen=True, eq=False)
class Anchor:
    """A map that a batch may have come from, and what that costs in nats; in a jump innovations are believed whole."""

    name: str
    map: Map
    cost: float = 0.0
    jump: bool = False


@dataclass(frozen=True, eq=False)
class Found:
    """A value of the objective, and what it was for; `rival` is another one that the batch does not rule out."""

    value: float
    energy: float
    mix: Double
    map: Map
    delta: Double
    eta: Double
    anchor: Anchor
    rival: Found | None = None


@dataclass(frozen=True, eq=False)
class Search:
    """One batch to be explained from one state, by a map that moves or not and a mix that is free or not."""

    source: SourceClasses
    moves: bool
    free_mix: bool
    state: SensorState
    sample: Double
    mean: Double
    log_spread: Double
    alive: Flags
    moving: Flags
    prior: Prior
    nats: float
    usual: Double

    def anchors(self) -> Iterator[Anchor]:
        """Maps that the batch may have come from."""
        state = self.state
        yield Anchor("last", state.map)
        if self.moves:
            yield Anchor("jump", state.map, SUDDEN, jump=True)
        if self.moves and state.steps.seen:
            yield Anchor("source", Map.identity(len(self.mean)), RETURN)
            for before in state.before_jumps:
                yield Anchor("before a jump", before, RETURN)

    def mixes(self) -> Iterator[tuple[str, Double]]:
        """Mixes to start from."""
        yield "source", self.source.shares
        if self.free_mix:
            yield "last", proper(self.state.mix)
            yield "estimated", proper(self._estimated())

    def best(self) -> Found:
        """The best explanation over anchors and mixes."""
        found = [
            (self.objective(mix, anchor.map, self.trust(mix, anchor))[0] + anchor.cost, start, anchor, mix)
            for anchor in self.anchors()
            for start, mix in self.mixes()
        ]
        found.sort(key=lambda each: each[0])
        _, start, anchor, mix = found[0]
        if not self.free_mix:
            return self.found(mix, anchor)
        second = next((each for each in found if each[1] != start), found[0])
        best = min((self.searched(*each[2:]) for each in (found[0], second)), key=lambda each: each.value)
        return self.averaged(best)

    def searched(self, anchor: Anchor, mix: Double) -> Found:
        """The best mix from one start."""
        for _ in range(GAIN_ROUNDS if self.moves else 1):
            trust = self.trust(mix, anchor)

            def objective(logits: Double, trust: tuple[Double, Double] = trust) -> tuple[float, Double]:
                mix = softmax(logits)
                value, gradient, _ = self.objective(mix, anchor.map, trust)
                return value, mix * (gradient - mix @ gradient)

            options: Any = {"maxiter": SEARCH, "maxfun": SEARCH + 8}
            mix = proper(softmax(minimize(objective, np.log(mix), jac=True, method="L-BFGS-B", options=options).x))
        return self.found(mix, anchor)

    def averaged(self, best: Found) -> Found:
        """The mean of the posterior between the source's mix and the best one, with the map that belongs to it.

        Where classes overlap many mixes explain a batch as well, each with a map of its own, and the best one is an
        accident of the batch.
        """
        way = best.mix - self.source.shares
        between = [self.found(proper(self.source.shares + part * way), best.anchor) for part in PARTS]
        mean = float(softmax([-each.value for each in between]) @ PARTS)
        least = min(each.value for each in between) + RULED_OUT
        distances = [abs(part - mean) * (each.value < least) for part, each in zip(PARTS, between, strict=True)]
        found = self.found(proper(self.source.shares + mean * way), best.anchor)
        return replace(found, rival=between[int(np.argmax(distances))])

    def found(self, mix: Double, anchor: Anchor) -> Found:
        value, _, (energy, after, delta, eta) = self.objective(mix, anchor.map, self.trust(mix, anchor))
        return Found(value + anchor.cost, energy, mix, after, delta, eta, anchor)

    def without(self, best: Found, group: int) -> float:
        """How many nats worse the batch would be explained if a class were gone and the map made up for it.

        That the mix would be unusual does not count: the question is what the batch itself tells.
        """
        left = best.mix.copy()
        left[group] *= GONE
        told = [
            self.found(mix, best.anchor).value - self.mix_prior(mix)[0] for mix in (proper(left / left.sum()), best.mix)
        ]
        return told[0] - told[1]

    def innovations(self, mix: Double, before: Map) -> tuple[Double, Double, Double, Double]:
        """How far offsets and log-gains seem to have gone from a map, and the moments of the mix."""
        mean, variance = self.source.moments(mix)
        delta = np.where(self.moving, (self.mean - before.offset) / before.gain - mean, 0.0)
        eta = np.where(self.moving, self.log_spread - 0.5 * np.log(variance) - before.log_gain, 0.0)
        return delta, eta, mean, variance

    def trust(self, mix: Double, anchor: Anchor) -> tuple[Double, Double]:
        """The share of the innovations to believe."""
        d = len(self.mean)
        if not self.moves:
            return np.zeros(d), np.zeros(d)
        if anchor.jump:
            return np.ones(d), np.ones(d)
        delta, eta, *_ = self.innovations(mix, anchor.map)
        return self.prior.trust(delta, eta)

    def believed(self, axes: Double, trust: Double, changes: Double) -> Double:
        """The share of changes that is believed, which is told along some axes; a symmetric map."""
        return np.where(self.moving, axes @ (trust * (axes.T @ np.where(self.moving, changes, 0.0))), 0.0)

    def objective(
        self, mix: Double, before: Map, trust: tuple[Double, Double]
    ) -> tuple[float, Double, tuple[float, Map, Double, Double]]:
        """J(w), its gradient, and (energy, map, δ, η)."""
        source = self.source
        delta, eta, mean, variance = self.innovations(mix, before)
        log_gain = before.log_gain + self.believed(source.gain_axes, trust[1], eta)
        gain, stretch = np.exp(log_gain), np.exp(before.log_gain - log_gain)
        location = before.gain * (mean + self.believed(source.axes, trust[0], delta)) + before.offset
        y = np.where(self.alive, (self.sample - location) / gain, 0.0)
        energy, by_mix, by_point = source.near.energy_with_gradients((y + mean) @ source.directions, mix)
        cost, by_delta, by_eta = self.prior.cost(delta, eta)
        nats = self.nats / self.state.overdispersion
        mix_cost, by_prior = self.mix_prior(mix)
        value = float(np.logaddexp(0.0, nats * energy)) + cost + mix_cost
        nats *= float(expit(nats * energy))
        # The chain rule: the mix moves the mean and the spread that the batch is matched to.
        pulled = by_point @ source.directions.T
        by_variance = (source.variances + source.means**2 - 2.0 * mean * source.means) / (2.0 * variance)
        alive, moving = self.alive, self.moving
        placed = alive * stretch * pulled.sum(axis=0)
        gradient = by_mix + source.means @ (pulled.sum(axis=0) - placed + self.believed(source.axes, trust[0], placed))
        stretched = alive * (pulled * y).sum(axis=0)
        gradient = nats * (gradient + by_variance @ self.believed(source.gain_axes, trust[1], stretched))
        gradient += by_prior - source.means @ (moving * by_delta) - by_variance @ (moving * by_eta)
        return value, gradient, (energy, Map(log_gain, location - gain * mean), delta, eta)

    def mix_prior(self, mix: Double) -> tuple[float, Double]:
        """The negative log-prior of the mix in nats, and its gradient."""
        known = self.source.apart
        last = known * self.state.mix + (1.0 - known) * self.source.shares
        near = np.stack([self.usual, last])
        any_mix = RETURN + FREE_SHARE * (len(mix) - 1) * np.log(self.prior.size)
        prices = np.append(MIX_COUNTS * (near * np.log(near / mix)).sum(axis=1), any_mix)
        gradient = -MIX_COUNTS * (softmax(-prices)[:-1] @ near) / mix
        return -float(logsumexp(-prices)), gradient

    def _estimated(self) -> Double:
        """A mix by label shift, with Gaussian classes in the discriminant space around the last map."""
        source, before = self.source, self.state.map
        z = np.where(self.alive, (self.sample - before.offset) / before.gain, 0.0) @ source.directions
        apart = ((z[:, None, :] - (source.means @ source.directions)[None]) ** 2).sum(axis=2)
        proba = softmax(np.log(source.shares) - 0.5 * apart, axis=1)
        return estimated_mix(proba, source.shares, self.usual, 0.5 * MIX_COUNTS)


def search_of(source: SourceClasses, moves: bool, free_mix: bool, state: SensorState, batch: Double) -> Search:
    """The search for what explains a batch, in units of the source."""
    size, movable = len(batch), source.movable(batch)
    if not movable.all():  # what is a code here is where it began
        before = tuple(each.only(movable) for each in state.before_jumps)
        state = replace(state, map=state.map.only(movable), before_jumps=before)
    spread = batch.std(axis=0)
    gains = [np.ones_like(spread), state.map.gain, *(before.gain for before in state.before_jumps)]
    alive = (spread > DEAD * np.min(gains, axis=0)) | ~movable
    if np.mean(~alive) > MOST_DEAD:
        alive = np.ones_like(alive)
    steps = state.steps if moves else Steps(1e-8, 1e-8)
    return Search(
        source=source,
        moves=moves,
        free_mix=free_mix,
        state=state,
        sample=thinned(batch),
        mean=batch.mean(axis=0),
        log_spread=np.log(np.where(alive, np.maximum(spread, 1e-3), 1.0)),
        alive=alive,
        moving=alive & movable,
        prior=Prior(source, steps, size),
        nats=0.5 * min(size, MOST_EVIDENCE) * source.near.spread,
        usual=0.5 * (source.shares + state.mix),
    )


def proper(mix: Double) -> Double:
    """A mix without zeros."""
    mix = np.maximum(mix, LEAST_SHARE)
    return mix / mix.sum()
