"""One step of adaptation: several tracks expect the source somewhere, follow it to the batch, and are judged.

Each expects a cloud of points where the next batch comes; the energy distance between the two, averaged over time,
says which track is believed. Nothing here needs a label of the batch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from driftway.adaptation.carried import Carried
from driftway.adaptation.energy import energies_to
from driftway.adaptation.marginals import Balanced, reweighted, shares
from driftway.adaptation.tracks import Track
from driftway.adaptation.transport import Transport
from driftway.plan.plan import Plan
from driftway.problem.solution import Solution

Double = npt.NDArray[np.float64]

MEMORY = 0.8  # the weight of the past in the running averages
# By this much in log-energy the source where it began must lose to a track for drift to be certain.
LOST = 0.4
# The gain in log-likelihood by which another mix of classes is more than chance, the share of the mass that must then
# seem to have changed class for a warning, and the share beyond which a plan that denies it is not believed.
EVIDENT, SHIFTED, MOST = 10.0, 0.25, 0.6


@dataclass(frozen=True)
class Settings:
    """How a step is made."""

    tracks: tuple[Track, ...]
    stay: bool
    transport: Transport


@dataclass(frozen=True, eq=False)
class Step:
    """What a step found.

    `solution` is the plan of the believed track, or if that has none of the most believed one that has; `received`
    the shares of the classes that the believed track itself gives the target points, if it has no plan.
    `class_shift` is how much of the mass seems to have changed class, `shift_evidence` the gain in log-likelihood, and
    `balanced` says that the believed track denies it; `stay` is the user's leave to answer by the source.
    """

    carried: Carried
    solution: Solution
    track: Track
    received: Double | None
    energy: float
    drift: float
    masses: Double
    stay: bool
    balanced: bool
    class_shift: float
    shift_evidence: float
    transport: float
    displacement: float
    seconds: float

    @property
    def plan(self) -> Plan:
        return self.solution.plan

    def denies(self, share: float) -> bool:
        """Whether the classes evidently have other masses, by more than this share, and the plan says they have not."""
        return self.balanced and self.class_shift > share and self.shift_evidence > EVIDENT

    @property
    def believed(self) -> bool:
        """Whether the plan is: not if most of the mass seems to have changed class and it denies that."""
        return not (self.stay and self.denies(MOST))

    @property
    def moves(self) -> bool:
        """Whether adaptation is the better answer: drift is certain, the track harmless, or better at expecting."""
        carried = self.carried
        if not self.believed:
            return False
        known = carried.drifting or carried.steps < 2 or self.track.harmless
        return known or bool(carried.still > carried.scores.min())


def advance(carried: Carried, batch: Double, b: Double, settings: Settings) -> Step:
    """The step to a batch; the carried state itself is not changed."""
    began = time.perf_counter()
    tracks, transport, weights = settings.tracks, settings.transport, carried.weights
    b = b / b.sum()
    expectations = zip(carried.expected, carried.masses, strict=True)
    energy = energies_to(batch, b)
    distances = np.array([energy(places, masses)[0] for places, masses in expectations])
    # The source where it began is a hypothesis too, with the class masses that suit it: another mix is no drift.
    suited = transport.class_masses(carried.source, weights, carried.groups, batch, b)[0]
    unmoved, usual = energy(carried.source, reweighted(weights, carried.groups, suited))
    # At the first step all expect the same, which says nothing.
    memory = MEMORY if carried.steps > 1 else 0.0
    scores = memory * carried.scores + (1.0 - memory) * np.log(np.maximum(distances, 1e-300))
    still = memory * carried.still + (1.0 - memory) * float(np.log(max(unmoved, 1e-300)))
    caution = np.array([track.caution.of(*batch.shape) for track in tracks])
    order = np.argsort(scores + caution, kind="stable") if carried.steps else np.arange(len(tracks))
    found = [track.follow(carried, k, batch, b, transport) for k, track in enumerate(tracks)]
    chosen = int(order[0])
    believed, solution = found[chosen], next(found[k].solution for k in order if found[k].solution is not None)
    moved = believed.images - carried.now[chosen]
    heaped = next((each for each in found if each.heaps is not None), None)
    start = carried.source if transport.static else carried.expected[chosen]
    mass, gain = transport.class_masses(start, weights, carried.groups, batch, b)
    return Step(
        carried=replace(
            carried,
            now=np.stack([each.images for each in found]),
            expected=np.stack([each.ahead for each in found]),
            masses=np.stack([each.masses for each in found]),
            heaps=None if heaped is None else heaped.heaps,
            members=carried.members if heaped is None or heaped.members is None else heaped.members,
            scores=scores,
            still=still,
            drifting=carried.drifting or not settings.stay or bool(still > scores.min() + LOST),
            chosen=chosen,
            steps=carried.steps + 1,
        ),
        solution=solution,
        track=tracks[chosen],
        received=believed.received,
        energy=float(distances[chosen]),
        drift=unmoved / max(usual, 1e-300),
        masses=believed.masses,
        stay=settings.stay,
        balanced=believed.received is None and isinstance(transport.marginals, Balanced),
        class_shift=0.5 * float(np.abs(mass - shares(weights, carried.groups)).sum()),
        shift_evidence=gain * len(batch),
        transport=believed.transport,
        displacement=float(np.sqrt(believed.masses @ (moved**2).sum(axis=1) / believed.masses.sum())),
        seconds=time.perf_counter() - began,
    )
