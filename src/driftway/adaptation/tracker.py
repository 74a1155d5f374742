"""One step of the tracker: every hypothesis is fitted to the batch, and the judge says what is believed of each.

In every view of the source (features as given, features on a logarithmic scale) the same hypotheses compete, and the
views answer with the weights that the labelled source gives them. The transported source is a hypothesis of its own:
it follows what no gain and no offset explains, such as rotations and classes that go their own ways, and answers only
when the judge says that it must.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.carried import Carried
from driftway.adaptation.energy import energies_to, energy_distance
from driftway.adaptation.hypotheses.hypothesis import Fit, Hypothesis
from driftway.adaptation.hypotheses.selected import Selected
from driftway.adaptation.hypotheses.sensors import Sensors
from driftway.adaptation.hypotheses.transport import Transported, TransportedSource
from driftway.adaptation.judge import (
    UNEXPLAINED,
    UNUSUAL,
    USUAL,
    Beliefs,
    Contest,
    Rivalry,
    credited,
    judged,
    unexplained,
)
from driftway.adaptation.source.classes import REACH
from driftway.adaptation.source.view import SourceView

Double = npt.NDArray[np.float64]

# A hypothesis that is believed less than this does not answer, which saves its time and changes nothing.
UNHEARD = 0.01
# A batch is a surprise if it is four times further from what was expected than usual; the usual is at first taken to be
# three times what chance explains, and then averaged with this weight of a batch.
SURPRISE, FIRST_USUAL, RATE = float(np.log(4.0)), float(np.log(3.0)), 0.2
# Another state is returned to if it expected a surprise clearly better: half as far.
RETURNED = float(np.log(2.0))
# While the transported source answers, a return to an older state needs a surprise so many times as large.
AMID_MOTION = 2.0
# States before surprises that are remembered, beside the source.
REMEMBERED = 2


@dataclass(frozen=True, eq=False)
class Panel:
    """Hypotheses that look at the same view of the source, and its share of the answer."""

    hypotheses: tuple[Hypothesis, ...]
    share: float

    @classmethod
    def of(cls, view: SourceView, stay: bool) -> Panel:
        """Nothing moves (if it may `stay`) or sensors age, each with the source's mix and with a free one.

        For a regression the inputs may be selected as well where nothing moves.
        """
        moving = Sensors(view, True, False), Sensors(view, True, True)
        if view.answers.classes is None:
            still: tuple[Hypothesis, ...] = (Selected(view, False, True),)
        else:
            still = Sensors(view, False, False), Sensors(view, False, True)
        return cls((*still, *moving) if stay else moving, view.share)


@dataclass(frozen=True, eq=False)
class TrackerState:
    """Where every hypothesis goes on from, what is believed of them, and whether the last batch was put aside.

    `usual` is how far batches usually are from what was expected, as the logarithm of a multiple of chance; `before`
    are the states before the last surprises, to which the stream may return; `surprised` says that the last batch was
    one.
    """

    panels: tuple[tuple[Any, ...], ...]
    beliefs: tuple[Beliefs, ...]
    carried: Any
    rivalry: Rivalry
    aside: int
    usual: float = FIRST_USUAL
    before: tuple[TrackerState, ...] = ()
    surprised: bool = False


@dataclass(frozen=True, eq=False)
class Voice:
    """A fitted hypothesis that answers, and its weight."""

    hypothesis: Hypothesis | TransportedSource
    fit: Fit
    weight: float


@dataclass(frozen=True, eq=False)
class Told:
    """What the tracker made of a batch.

    `voices` answer, the loudest first; `transported` is the transported source's fit if it was asked, and `fits` are
    those of the other hypotheses, view by view. `aside` says that no hypothesis explains the batch, so that it has
    changed no state, and `resampled` that hypotheses saw the batch's points as often as their weights say. `far` and
    `drift` are the energy distances between the batch and what was expected, and the source, in multiples of chance.
    """

    state: TrackerState
    voices: tuple[Voice, ...]
    transported: Transported | None
    fits: tuple[tuple[Fit, ...], ...]
    aside: bool
    resampled: bool = False
    far: float = np.nan
    drift: float = np.nan

    def of_batch(self, batch: Double) -> Double:
        """The belief-weighted probabilities of the classes of the batch's points, or their values."""
        if self.resampled:
            return mixed(self.voices, batch)
        return np.sum([voice.weight * voice.fit.of_batch() for voice in self.voices], axis=0)


def mixed(voices: tuple[Voice, ...], X: Double) -> Double:
    """What hypotheses say, by their weights."""
    told = [voice.weight * voice.fit.posteriors(X) for voice in voices]
    return np.sum(told, axis=0)


@dataclass(frozen=True, eq=False)
class Tracker:
    """All hypotheses; `carried` is the source at rest, for states where nothing is transported, `unit` its units."""

    panels: tuple[Panel, ...]
    transport: TransportedSource | None
    carried: Carried
    unit: Double

    def start(self) -> TrackerState:
        return TrackerState(
            panels=tuple(tuple(each.start() for each in panel.hypotheses) for panel in self.panels),
            beliefs=tuple(Beliefs.first(len(panel.hypotheses)) for panel in self.panels),
            carried=self.carried if self.transport is None else self.transport.start(),
            rivalry=Rivalry(),
            aside=0,
        )

    def first_voices(self) -> tuple[Voice, ...]:
        """Who answers before any batch has come: the source's own estimators."""
        unmoved = [(panel.hypotheses[0], panel.share) for panel in self.panels]
        return tuple(Voice(each, each.answering(), share) for each, share in unmoved)

    def advance(self, state: TrackerState, batch: Double, b: Double) -> Told:
        """The step to a batch with weights b; the state itself is not changed."""
        if not self.panels:
            assert self.transport is not None
            only = self.transport.fit(state.carried, batch, b)
            after = TrackerState((), (), only.state, state.rivalry, 0)
            return Told(after, (Voice(self.transport, only, 1.0),), only, (), False)
        far = self.surprise(state, batch, b)
        moved = self.surprise(self.start(), batch, b)
        surprised = far > state.usual + SURPRISE
        usual = state.usual + RATE * min(far - state.usual, SURPRISE)
        begun, returns, before = state, False, state.before
        if surprised or state.surprised:
            begun, returns, before = self._begun(state, batch, b, far, moved, surprised)
        told = self._step(replace(begun, aside=state.aside), batch, b, surprised and not returns)
        # The batch may be as near as usual and all the same a fault: it is small, or in one feature only.
        startled = self._startled(begun, told)
        if startled or surprised:
            before = (replace(begun if startled else state, before=()), *before)[:REMEMBERED]
        surprised = startled or (surprised and not returns)
        after = replace(told.state, usual=usual, before=before, surprised=surprised)
        return replace(told, state=after, far=float(np.exp(far)), drift=float(np.exp(moved)))

    def _begun(
        self, state: TrackerState, batch: Double, b: Double, far: float, moved: float, surprised: bool
    ) -> tuple[TrackerState, bool, tuple[TrackerState, ...]]:
        """Where a stream goes on from after a fault, a jump, or a return: whether it is an older state, and the rest.

        Whichever it was, the state before is remembered; where another one expected this batch, the stream goes on from
        there, so that a fault has changed nothing. Right after a single surprise the state before it need be less
        clearly better, and no better where the transported source took over in it: one batch says little, and if it was
        right it takes over again. Several surprises in a row are no fault but a motion, so they are not gone back into.
        """
        others = [*state.before, self.start()]
        distances = np.array([*(self.surprise(other, batch, b) for other in state.before), moved])
        if state.surprised and len(state.before) == REMEMBERED and all(other.surprised for other in state.before):
            distances[:-1] = np.inf
        margins = np.full(len(others), RETURNED)
        single = state.surprised and not others[0].surprised
        if single:
            margins[0] = 0.0 if state.rivalry.overrules and not others[0].rivalry.overrules else 0.5 * RETURNED
        if state.rivalry.overrules and far < state.usual + AMID_MOTION * SURPRISE:
            # What turns comes by its old places, with other labels: only a fault just now may be undone.
            distances[int(state.surprised) :] = np.inf
        best = int(np.argmin(distances + margins))
        if single and not state.rivalry.overrules and self._explains_still(others[0], batch, b):
            return others[0], True, state.before[int(surprised) :]
        # A state to return to is one that is hardly surprised itself; the one before a fault may have grown old by it.
        hardly = distances[best] < state.usual + 0.5 * SURPRISE or (single and best == 0)
        if not (hardly and distances[best] < far - margins[best]):
            return state, False, state.before
        kept = tuple(other for number, other in enumerate(state.before) if not (surprised and number == best))
        return others[best], True, kept

    def _explains_still(self, before: TrackerState, batch: Double, b: Double) -> bool:
        """Whether nothing was believed to move in a state, and still nothing does.

        What a fault taught may expect the next batch by chance, with classes in each other's places. It is not asked
        where the transported source took over: a small batch that has turned a little is explained without motion, too.
        """
        believed = int(np.argmax(before.beliefs[0].shares))
        hypothesis = self.panels[0].hypotheses[believed]
        if hypothesis.moves or before.rivalry.overrules:
            return False
        fit = hypothesis.fit(before.panels[0][believed], resampled(batch, b))
        return bool(fit.misfit + fit.energy < USUAL)

    def _startled(self, before: TrackerState, told: Told) -> bool:
        """Whether others answer than before a batch, and did not by degrees.

        The hypothesis that was believed leaves more than may remain unexplained, or the transported source took over.
        """
        if told.aside or before.rivalry.overrules:
            return False
        believed = int(np.argmax(before.beliefs[0].shares))
        usual = before.beliefs[0].misfits[believed] + before.beliefs[0].energies[believed]
        fit = told.fits[0][believed]
        left = fit.misfit + fit.energy > max(UNEXPLAINED, UNUSUAL * usual)
        return bool(left or told.state.rivalry.overrules)

    def surprise(self, state: TrackerState, batch: Double, b: Double) -> float:
        """How far a batch is from what the answering hypothesis expects, as the logarithm of a multiple of chance.

        Features count in the units of the source, or by their spread in the batch where that is larger, and nothing is
        further away than `REACH` of these.
        """
        if self.transport is not None and state.rivalry.overrules:
            expected = self.transport.expect(state.carried)
        else:
            believed = int(np.argmax(state.beliefs[0].shares))
            expected = self.panels[0].hypotheses[believed].expect(state.panels[0][believed])
        centre, unit = b @ batch, np.maximum(batch.std(axis=0), self.unit)
        there, here = (np.clip((points - centre) / unit, -REACH, REACH) for points in (expected.points, batch))
        energy, chance = energy_distance(there, here, expected.masses, b)
        return float(np.log(max(energy, 1e-300) / max(chance, 1e-300)))

    def _step(self, state: TrackerState, batch: Double, b: Double, surprised: bool) -> Told:
        even = resampled(batch, b)
        fits = tuple(
            tuple(each.fit(own, even) for each, own in zip(panel.hypotheses, states, strict=True))
            for panel, states in zip(self.panels, state.panels, strict=True)
        )
        beliefs = tuple(
            judged(before, panel.hypotheses, found)
            for before, panel, found in zip(state.beliefs, self.panels, fits, strict=True)
        )
        voices = self._voices(beliefs, fits)
        transported, rivalry = self._rival(state, batch, b, fits, surprised)
        aside = not (state.aside or rivalry.overrules) and all(map(unexplained, state.beliefs, fits))
        if transported is not None and rivalry.overrules:
            assert self.transport is not None
            voices = (Voice(self.transport, transported, 1.0),)
        if aside:
            after = TrackerState(state.panels, state.beliefs, state.carried, state.rivalry, 1)
        else:
            carried = state.carried if transported is None else transported.state
            heard = {id(voice.fit) for voice in voices}
            states = tuple(tuple(fit.heard() if id(fit) in heard else fit.state for fit in own) for own in fits)
            after = TrackerState(states, beliefs, carried, rivalry, 0)
        return Told(after, voices, transported, fits, aside, even is not batch)

    def _voices(self, beliefs: tuple[Beliefs, ...], fits: tuple[tuple[Fit, ...], ...]) -> tuple[Voice, ...]:
        found = []
        shares = np.array([panel.share for panel in self.panels]) * credited(beliefs)
        shares /= shares.sum()
        for panel, share, believed, own in zip(self.panels, shares, beliefs, fits, strict=True):
            heard = np.where(believed.shares > UNHEARD, believed.shares, 0.0)
            heard *= share / heard.sum()
            found += [
                Voice(*each) for each in zip(panel.hypotheses, own, map(float, heard), strict=True) if each[2] > 0
            ]
        return tuple(sorted(found, key=lambda voice: -voice.weight))

    def _simply_left(self, fits: tuple[tuple[Fit, ...], ...]) -> float:
        """The nats that are left by those who have a map or a mix, but not both.

        Together these make nearly anything of a large jump, by maps that flatten features and mixes of few classes.
        """
        return min(
            each.misfit + each.energy
            for panel, own in zip(self.panels, fits, strict=True)
            for one, each in zip(panel.hypotheses, own, strict=True)
            if not (one.moves and one.freedom)
        )

    def _rival(
        self, state: TrackerState, batch: Double, b: Double, fits: tuple[tuple[Fit, ...], ...], surprised: bool
    ) -> tuple[Transported | None, Rivalry]:
        """The transported source's fit, and whether it answers."""
        if self.transport is None:
            return None, state.rivalry
        scaled, m, d = self.transport.scaling(batch), len(batch), batch.shape[1]
        freedom, rivalry, carried = d * d - d, state.rivalry, state.carried
        left = min(each.misfit + each.energy for own in fits for each in own)
        expected = [each.expect(own) for each, own in zip(self.panels[0].hypotheses, state.panels[0], strict=True)]
        if surprised and not rivalry.overrules and self._simply_left(fits) > UNEXPLAINED:
            turned = self.transport.jumped(batch, b)
            if turned is not None:  # the source as a whole, by a map that keeps distances
                return self.transport.fit(turned, batch, b), Rivalry(batches=1, overrules=True)
        if rivalry.rests(freedom, m):
            rivalry = rivalry.unheard(left)
            if rivalry.rests(freedom, m):
                return None, rivalry
            # It goes on from where the source is seen by the hypothesis that was believed until now.
            carried, rivalry = (
                self.transport.restarted(expected[int(np.argmax(state.beliefs[0].shares))]),
                Rivalry(left=left),
            )
        fit = self.transport.fit(carried, batch, b)
        # The transported source may know of a steady motion, which is no advantage over those who could know as well.
        expected += [
            each.expect(own, going_on=True)
            for each, own in zip(self.panels[0].hypotheses, state.panels[0], strict=True)
            if each.moves
        ]
        # In units in which no feature counts for more than it did at the source, whatever happened to its own units.
        usual = np.maximum(self.carried.source.std(axis=0), 1e-12)
        unit = np.maximum(scaled.std(axis=0) / usual, 1.0)
        energy = energies_to(scaled / unit, b)

        def distance(points: Double, masses: Double) -> tuple[float, float]:
            return energy(points / unit, masses)

        after = fit.state
        fitted, chance = distance(after.images, after.masses[after.chosen])
        contest = Contest(
            expected=min(distance(self.transport.scaling(each.points), each.masses)[0] for each in expected),
            own_expected=distance(carried.expected[after.chosen], carried.masses[after.chosen])[0],
            chance=chance,
            left=left,
            own_left=2.0 * max(fitted - chance, 0.0) / max(chance, 1e-300),
            moves=fit.step.moves,
            freedom=freedom,
            size=m,
        )
        return fit, rivalry.heard(contest)


def resampled(batch: Double, b: Double) -> Double:
    """The batch with equal weights: points as often as their weights say, by systematic resampling.

    It goes through the points in an order drawn at random, always the same one: weights that alternate with the rows
    would meet its levels in step, and rows of small weight would never be drawn.
    """
    if np.ptp(b) == 0:
        return batch
    order = np.random.default_rng(0).permutation(len(batch))
    levels = (np.arange(len(batch)) + 0.5) / len(batch)
    drawn = np.minimum(np.searchsorted(np.cumsum(b[order] / b.sum()), levels), len(batch) - 1)
    return batch[np.sort(order[drawn])]
