"""The judge: which hypothesis is believed, from evidence that needs no label.

Between hypotheses of one view there are two kinds of evidence, both energy distances *after* a hypothesis was fitted,
in nats:

- `misfit`, in the discriminant space. Where the mix changed, a map with the mix of the source leaves a misfit of 6 to
  50 nats and one with a free mix none; where it did not, neither does. So it decides between mixes.
- `energy`, in the full space. It sees whether anything moved at all, to which the discriminant space is nearly blind
  when there are two classes. So misfit and energy together decide between standing still and moving.

Evidence is averaged over time, since single batches deceive. A stream in which even the best hypothesis misfits is
over-dispersed: all evidence is divided by that, so that a wrong model is not sure of itself.

Between these and the transported source there is a third: the energy distance between what was expected and what came.
It prefers whoever moved last, so it decides only where none of the others explains the batches, and with hysteresis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from driftway.adaptation.hypotheses.hypothesis import Fit, Hypothesis

Double = npt.NDArray[np.float64]

# The weight of the past in the running averages.
MEMORY = 0.6
# The evidence in nats against the best hypothesis that is usual: in the discriminant space, and in all.
USUAL_MISFIT, USUAL = 5.0, 4.0
# How much faster than its misfit a model's ability to tell mixes and views apart is lost: what a wrong map leaves looks
# like a mix.
DISTRUST = 1.5

# A batch is unexplained if every hypothesis leaves this many nats, and this many times what is usual in the stream.
UNEXPLAINED, UNUSUAL = 30.0, 5.0
# The transported source answers if the others leave this many nats unexplained and it expected batches better by this
# much in log-energy (a fifth); or without a misfit if it was clearly better (half the energy) and expected them within
# three times of chance. It must have moved in most steps, and goes on until it expects batches worse than others and
# three times as badly as by chance while others explain them, or has moved in less than half of them.
MISFITS, BETTER, CLEARLY, KEPT, LOST, MOSTLY, HALF = 3.0, 0.2, 0.7, -0.3, 1.1, 0.85, 0.5
# The same where a batch has too few points for the numbers of its map, so that it follows chance as well.
LARGE_MISFITS = 10.0
# A single batch says no more than this: turned by half, symmetric data look as if nothing had happened.
MOST = 1.0
# Points of a batch for every number of an affine map that it must determine.
PER_NUMBER = 3
# The transported source is asked for so many batches before it may rest.
WATCHED = 5
# The weight of a batch in the averages that this is decided by.
RIVALRY_RATE = 0.2


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Running averages of the evidence against every hypothesis, and what is believed of each."""

    misfits: Double
    energies: Double
    shares: Double
    heard: int

    @classmethod
    def first(cls, hypotheses: int) -> Beliefs:
        zero = np.zeros(hypotheses)
        return cls(zero, zero, np.full(hypotheses, 1.0 / hypotheses), 0)


def credited(beliefs: Sequence[Beliefs]) -> Double:
    """The credit of every view, from 0 to 1: little where all hypotheses leave more unexplained than in another one.

    Misfits are in nats, so odds fall by a factor of e per nat, beyond what differs by chance. A view loses its voice
    for instance where values that span powers of ten get noise of their own: their logarithms then say nothing. Where
    all views misfit, nats tell views apart as little as mixes: classes may only be further apart in one of them.
    """
    left = np.array([each.misfits.min() for each in beliefs])
    return np.asarray(np.exp(-np.maximum(left - left.min() - USUAL_MISFIT, 0.0) / _distrust(left.min())))


def judged(beliefs: Beliefs, hypotheses: Sequence[Hypothesis], fits: Sequence[Fit]) -> Beliefs:
    """Beliefs after a batch to which all hypotheses were fitted."""
    memory = MEMORY if beliefs.heard else 0.0
    misfits = memory * beliefs.misfits + (1.0 - memory) * np.array([fit.misfit for fit in fits])
    energies = memory * beliefs.energies + (1.0 - memory) * np.array([fit.energy for fit in fits])
    return Beliefs(misfits, energies, _shares(hypotheses, misfits + energies), beliefs.heard + 1)


def _shares(hypotheses: Sequence[Hypothesis], totals: Double) -> Double:
    """A quasi-likelihood ratio, less the prices: between mixes, and between standing still and moving."""
    moves = np.array([hypothesis.moves for hypothesis in hypotheses])
    price = np.array([hypothesis.price for hypothesis in hypotheses])
    costs = totals / max(1.0, totals.min() / USUAL) + price
    stays = expit(costs[moves].min(initial=np.inf) - costs[~moves].min(initial=np.inf)) if (~moves).any() else 0.0
    shares = np.zeros(len(hypotheses))
    for group, share in ((moves, 1.0 - stays), (~moves, stays)):
        if group.any():
            shares[group] = share * softmax(-(totals[group] / _distrust(totals[group].min()) + price[group]))
    return shares


def _distrust(misfit: float) -> float:
    """What differences of misfits are divided by where even the best is so much."""
    return float(max(1.0, misfit / USUAL_MISFIT) ** DISTRUST)


def unexplained(beliefs: Beliefs, fits: Sequence[Fit]) -> bool:
    """Whether no hypothesis explains a batch, beside what it usually leaves unexplained."""
    usual = float((beliefs.misfits + beliefs.energies).min()) if beliefs.heard else 0.0
    now = min(fit.misfit + fit.energy for fit in fits)
    return now > max(UNEXPLAINED, UNUSUAL * usual)


@dataclass(frozen=True)
class Contest:
    """One batch, as the transported source and the others saw it.

    `expected` and `own_expected` are the energy distances between what was expected and what came, by the best of the
    others and by the transported source, and `chance` what they would be by chance; `left` and `own_left` are the
    nats that they leave after they were fitted; and `moves` says whether the transported source moved. `freedom` is
    how many numbers more its map has.
    """

    expected: float
    own_expected: float
    chance: float
    left: float
    own_left: float
    moves: bool
    freedom: int
    size: int

    @property
    def better(self) -> float:
        """By how much the transported source expected the batch better, in log-energy; single batches count little."""
        ratio = np.log(max(self.expected, 1e-300)) - np.log(max(self.own_expected, 1e-300))
        return float(np.clip(ratio, -MOST, MOST))

    @property
    def surprise(self) -> float:
        """How much further the batch was from what the transported source expected than by chance, as a logarithm."""
        return float(np.log(max(self.own_expected, 1e-300)) - np.log(max(self.chance, 1e-300)))

    @property
    def determined(self) -> bool:
        """Whether the batch has enough points for the numbers of the map."""
        return self.size >= PER_NUMBER * self.freedom

    @property
    def explains(self) -> bool:
        """Whether it alone explains the batch, beyond what its greater freedom buys."""
        return self.determined and self.left - self.own_left > MISFITS + self.freedom


@dataclass(frozen=True)
class Rivalry:
    """The transported source against the others.

    `advantage` is by how much it expected batches better, in log-energy, averaged; `surprise` how much further they
    were from what it expected than by chance, as a logarithm, averaged; `adapting` how often it moved; `left` the
    nats that the others leave, averaged; and `overrules` says whether it answers.
    """

    advantage: float = 0.0
    surprise: float = 0.0
    adapting: float = 1.0
    left: float = 0.0
    batches: int = 0
    overrules: bool = False

    @property
    def expected_better(self) -> bool:
        """Whether the transported source has a point, though it may not have earned the answer."""
        return self.batches > 2 and self.advantage > 0.0 and self.adapting > MOSTLY

    def rests(self, freedom: int, size: int) -> bool:
        """Whether the transported source need not be asked: others explain the batches, and it expected none better.

        Where a batch has enough points for the numbers of its map it is always asked, since it may be needed at once.
        """
        idle = not self.overrules and self.batches >= WATCHED and self.advantage <= 0.0 and self.left <= MISFITS
        return idle and size < PER_NUMBER * freedom

    def unheard(self, left: float) -> Rivalry:
        """After a batch for which the transported source was not asked."""
        return replace(self, left=self.left + RIVALRY_RATE * (left - self.left), batches=self.batches + 1)

    def heard(self, contest: Contest) -> Rivalry:
        """After a batch."""
        first = self.batches == 0
        rate = max(RIVALRY_RATE, 1.0 / max(self.batches, 1))
        # At the first batch all expect the source, which says nothing.
        advantage = 0.0 if first else self.advantage + rate * (contest.better - self.advantage)
        rate = max(RIVALRY_RATE, 1.0 / (self.batches + 1))
        adapting = self.adapting + rate * (float(contest.moves) - self.adapting)
        left = self.left + rate * (contest.left - self.left)
        surprise = self.surprise + rate * (contest.surprise - self.surprise)
        if self.overrules:
            # That others expect as well is no reason to leave it: what turns comes by its old place, with other labels.
            expects = advantage > KEPT or surprise < LOST
            overrules = (expects or left > LARGE_MISFITS) and adapting > HALF
        else:
            clearly = contest.determined and advantage > CLEARLY and surprise < LOST
            lost = left > (MISFITS if contest.determined else LARGE_MISFITS)
            overrules = adapting > MOSTLY and (contest.explains or clearly or (lost and advantage > BETTER))
        return Rivalry(advantage, surprise, adapting, left, self.batches + 1, bool(overrules and contest.moves))
