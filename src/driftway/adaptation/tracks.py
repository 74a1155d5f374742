"""Tracks: hypotheses of how the source moves. Each carries the source on its own, and the batches judge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from driftway.adaptation.carried import Carried
from driftway.adaptation.gaussians import parameters
from driftway.adaptation.heaps import Heaps
from driftway.adaptation.maps import AffineMap, BarycentricMap, MapModel
from driftway.adaptation.motion import AffineMotion, MotionModel
from driftway.adaptation.registration import registered
from driftway.adaptation.rigid import RIDGE, turned
from driftway.adaptation.transport import Transport
from driftway.problem.solution import Solution

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]


class Caution(NamedTuple):
    """The evidence that a track must have over one without caution, in units of the log of the energy distance.

    Freedom buys some by chance, the more the smaller the batch and the more features it has; and raw images, which
    shrink, are further from the batch than they deserve.
    """

    always: float = 0.0
    per_point: float = 0.0
    per_feature: float = 0.0

    def of(self, size: int, features: int) -> float:
        return self.always + (self.per_point + self.per_feature * features) / size


NONE = Caution()


class Followed(NamedTuple):
    """What a track made of a batch.

    `images` are where the source is now (n×d), `masses` those of its points (n), `ahead` where it is expected next
    (n×d), `transport` what the move cost. A track that solved a transport problem has its `solution`; one that did
    not has `received`, the shares of the classes in every target point (m×K), `heaps` and the `members` of these (n).
    """

    images: Double
    masses: Double
    ahead: Double
    transport: float
    solution: Solution | None = None
    received: Double | None = None
    heaps: Heaps | None = None
    members: Groups | None = None


class Track(Protocol):
    """A hypothesis and one method.

    `keeps_shape` says whether its images are fit to train a classifier on, `harmless` that the labelled data have
    shown it to be as good as the source where nothing drifts.
    """

    @property
    def name(self) -> str: ...
    @property
    def caution(self) -> Caution: ...
    @property
    def keeps_shape(self) -> bool: ...
    @property
    def harmless(self) -> bool: ...

    def follow(self, carried: Carried, own: int, batch: Double, b: Double, transport: Transport) -> Followed:
        """The move to a batch with weights b, where `own` is the track's number in what is carried."""


@dataclass(frozen=True)
class TransportTrack:
    """Transport to the batch, a model of the map, and one of the motion.

    `registers` says whether an affine map that makes the batch unlikely is looked for anew, by likelihood.
    """

    name: str
    map: MapModel
    motion: MotionModel
    keeps_shape: bool = True
    caution: Caution = NONE
    harmless: bool = False
    registers: bool = False

    def follow(self, carried: Carried, own: int, batch: Double, b: Double, transport: Transport) -> Followed:
        now, expected, groups, size = carried.now[own], carried.expected[own], carried.groups, len(batch)
        start = carried.source if transport.static else expected
        solution, masses = transport.solve(start, expected, carried.weights, groups, batch, b, not carried.steps)
        barycentric = np.asarray(solution.plan.barycentric_map(batch), dtype=np.float64)
        images = self.map.images(start, barycentric, masses, size)
        if self.registers:
            images = registered(images, start, masses, batch, b)
        ahead = self.motion.predict(now, images, expected - now, groups, masses, size)
        return Followed(images, masses, ahead, transport.cost_of(solution, start, batch), solution)


@dataclass(frozen=True)
class TurnTrack:
    """Transport to the batch, and the turn and shift that bring the carried source nearest to its images.

    The last images are turned, not the expected ones, so distances between points stay those of the source.
    """

    name: str
    motion: MotionModel
    ridge: float = RIDGE
    caution: Caution = NONE
    keeps_shape: bool = True
    harmless: bool = False

    def follow(self, carried: Carried, own: int, batch: Double, b: Double, transport: Transport) -> Followed:
        now, expected, size = carried.now[own], carried.expected[own], len(batch)
        start = carried.source if transport.static else expected
        solution, masses = transport.solve(
            start, expected, carried.weights, carried.groups, batch, b, not carried.steps
        )
        barycentric = np.asarray(solution.plan.barycentric_map(batch), dtype=np.float64)
        images = turned(now, barycentric, masses, expected, self.ridge * now.shape[1] / size)
        going_on = self.motion.predict(now, images, expected - now, carried.groups, masses, size)
        ahead = turned(images, going_on, masses, images, 0.0)
        return Followed(images, masses, ahead, transport.cost_of(solution, start, batch), solution)


@dataclass(frozen=True)
class ClusterTrack:
    """The classes as heaps with free masses, each moved by the optimal map between Gaussians."""

    name: str
    caution: Caution = NONE
    keeps_shape: bool = False
    harmless: bool = True  # by the trial that every source must pass

    def follow(self, carried: Carried, own: int, batch: Double, b: Double, transport: Transport) -> Followed:
        assert carried.heaps is not None
        before, expected = carried.heaps.ahead(), carried.expected[own]
        after = before.adapted(batch, b)
        images, members = before.carry(expected, carried.members, after)
        shares = np.bincount(members, carried.weights, len(after.masses))
        masses = carried.weights * after.masses[members] / shares[members]
        masses = masses / masses.sum()
        moved = float(masses @ ((images - expected) ** 2).sum(axis=1))
        ahead, received = images + after.velocities[members], after.posteriors(batch)
        return Followed(images, masses, ahead, moved, received=received, heaps=after, members=members)


def default_tracks(heaps: Heaps | None) -> tuple[Track, ...]:
    """Fast and slow affine drift, classes that go their own ways, a turn of all, and heaps if the classes are such."""
    tracks: tuple[Track, ...] = (
        TransportTrack("affine", AffineMap(), AffineMotion(1.0), registers=True),
        TransportTrack("slow affine", AffineMap(), AffineMotion(0.3), caution=Caution(per_point=10.0), registers=True),
        TransportTrack(
            "free",
            BarycentricMap(),
            AffineMotion(0.1, by_class=True),
            keeps_shape=False,
            caution=Caution(-0.3, 20.0, 1.2),
        ),
        TurnTrack("turn", AffineMotion(0.3)),
    )
    if heaps is None:
        return tracks
    # Heaps beyond one a class may be parts of a shape, of which each is free to go its own way.
    surplus = float((len(heaps.means) - heaps.classes) * parameters(heaps.means.shape[1]))
    return (*tracks, ClusterTrack("clusters", Caution(per_point=surplus)))
