"""Alignment: a jump that keeps distances, such as a turn of images, found from the distances alone.

Transport compares places, so after a large turn it has nothing to go by. Distances within the source and within the
batch are still the same, and Gromov-Wasserstein couplings compare those: Mémoli, "Gromov-Wasserstein distances and the
metric approach to object matching" (2011); entropic by Peyré, Cuturi & Solomon (2016). From such a coupling on, optimal
plans and orthogonal maps alternate: Grave, Joulin & Berthet, "Unsupervised alignment of embeddings with Wasserstein
Procrustes" (2019).

No label tells whether this went well, so an answer is given only where nothing simpler explains the batch, the map that
was found explains it as well as one half of the source explains the other, and no other map does so too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from driftway.solvers.silence import quietly
from driftway.solvers.solve import sinkhorn

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Larger samples are thinned to this many points, evenly in their order. With half of 500 and of 800 digits the turn is
# found in 27 of 40 trials, with all of them in 10 of 10.
SAMPLE = 800
# Fewer points in half of the source or in the batch than this tell no turn from chance: with 150 or 200 labelled digits
# 2 of 7 false turns were believed, with 300 and more 1 of 22. A map of c components has c²/2 free numbers; with PER
# points for every component there are ten coordinates to fit for each of them.
FEWEST, PER = 150, 5
# Variances λ are worth (Σλ)²/Σλ² dimensions. In fewer than this, shapes are too simple to tell turns apart: moons fit
# as well after half a turn more. Turned digits have 9, the tables of wines and tumours 4 to 5.
SIMPLE = 5.0
COMPONENTS = 30  # principal components that are looked at; with all 64 of the digits the answers are the same

# Entropies are relative: to the mean cost of a plan, and to the variance of distances where these are matched.
PROFILES = (
    32  # quantiles of the distances from a point, by which points are first compared; no finer than few points have
)
RESEMBLANCE = 0.02  # the entropy of that comparison; 0.1 does as well
# Without the profiles and from 0.3 downwards, 4 of 10 trials with half of the digits fail instead of 2.
MATCHING = (0.05, 0.02, 0.01)
MATCHING_ROUNDS, SETTLED = 15, 0.01  # at most so many per entropy, and the mass that moves where more are in vain
ALTERNATION = (0.1, 0.05, 0.02)  # from the default of transport to where a plan has a handful of partners for a point
REPEATS = 3  # maps per entropy: from a good start the third changes nothing that counts
TOLERANCE, UPDATES = 1e-2, 60  # of plans, since the next round replaces them

# Costs relative to that between two halves of the source. Digits turned by 10° cost 1.1 once every feature has its own
# unit, where 96 % are still right, and 1.5 from 20° on, where a quarter is lost; other gains and offsets of tables cost
# up to 1.15.
DOUBT = 1.4
# Where 1 is what halves cost that may be turned as well, true turns cost 0.93 to 1.15. False ones of most samples of
# digits cost 1.18 and more, but of small ones 1.1 and of many round clusters 1: finding these is left to the rivals.
EXPLAINED = 1.15
# Another map that costs less and changes the classes of this share of the batch shows that the answer is not the best.
BETTER = 0.1
# One that explains the batch too and changes this share shows that there is no telling. Exchanges of two of ten classes
# change 0.2, which is not worth a refusal, and of two of five 0.4.
DIFFERENT = 0.35
EXCHANGES = 45  # all pairs of ten classes; of more classes, the pairs that are nearest
FLIPPED = 3  # principal axes along which mirror images are tried, beside that through the centre


class Sample(NamedTuple):
    """Points (n×d) and their masses, of total 1."""

    points: Double
    masses: Double

    def halves(self) -> tuple[Sample, Sample]:
        """Every other point."""
        first, second = (Sample(self.points[k::2], self.masses[k::2]) for k in (0, 1))
        return first.normed(), second.normed()

    def normed(self) -> Sample:
        return Sample(self.points, self.masses / self.masses.sum())

    def thinned(self, count: int) -> Sample:
        """At most so many of the points, evenly in their order."""
        if len(self.points) <= count:
            return self
        kept = np.linspace(0, len(self.points) - 1, count).round().astype(int)
        return Sample(self.points[kept], self.masses[kept]).normed()


def carried_through(source: Double, groups: Groups, weights: Double, batch: Double, b: Double) -> Double | None:
    """Where the labelled source is now (n×d) if it jumped by an orthogonal map, a common gain and a shift; else None.

    `groups` (n) numbers the classes from 0; `weights` (n) and `b` (m) are masses. None also says that the batch needs
    no such jump, or that there is no telling which. Features are in units in which distances mean something.
    """
    if min(len(source) // 2, len(batch)) < FEWEST or np.unique(groups).size < 2:
        return None
    first, second = Sample(source, weights).normed(), Sample(batch, b).normed()
    if not (np.ptp(source, axis=0).any() and np.ptp(batch, axis=0).any()):  # a single place
        return None
    frame = _Frame.of(first, second)
    if min(_dimension(frame.X), _dimension(frame.Y)) < SIMPLE or _explained(first, second):
        return None
    X, Y = frame.X.thinned(SAMPLE), frame.Y.thinned(SAMPLE)
    turn = alternated(X, Y, matched(X, Y))
    return frame.placed(turn.Q) if _trusted(turn.Q, frame, groups) else None


# Distances alone


def matched(X: Sample, Y: Sample) -> Double:
    """A coupling of points that have the same distances,  min Σ (D_ik − D'_jl)² γ_ij γ_kl + ε H(γ)  by mirror descent.

    The start couples points with similar quantiles of distances, the third lower bound of Mémoli.
    """
    (D, first), (E, second) = _distances(X), _distances(Y)
    unit = float(np.sqrt((X.masses @ D**2 @ X.masses - 1.0) * (Y.masses @ E**2 @ Y.masses - 1.0)))
    C = cdist(first, second, "sqeuclidean")
    gamma = _plan(C, X.masses, Y.masses, RESEMBLANCE * float(X.masses @ C @ Y.masses))
    constant = np.add.outer(D**2 @ X.masses, E**2 @ Y.masses)
    for epsilon in MATCHING:
        for _ in range(MATCHING_ROUNDS):
            before, gamma = gamma, _plan(constant - 2.0 * D @ gamma @ E, X.masses, Y.masses, epsilon * unit)
            if np.abs(gamma - before).sum() < SETTLED:
                break
    return gamma


def _distances(X: Sample) -> tuple[Double, Double]:
    """Distances between the points of a sample, of mean 1, and their quantiles for every point."""
    D = cdist(X.points, X.points)
    D /= float(X.masses @ D @ X.masses)
    return D, np.quantile(D, (np.arange(PROFILES) + 0.5) / PROFILES, axis=1).T


def _plan(C: Double, a: Double, b: Double, epsilon: float) -> Double:
    with quietly():
        return sinkhorn(C, a, b, epsilon=epsilon, tol=TOLERANCE, max_iter=UPDATES).plan.array()


# Plans and maps in turns


class Turn(NamedTuple):
    """An orthogonal map Q, the plan γ from X Q to Y, and its cost ⟨γ, C⟩."""

    Q: Double
    gamma: Double
    cost: float


def procrustes(X: Double, Y: Double, gamma: Double) -> Double:
    """The orthogonal Q that minimises  Σ γ_ij ‖x_i Q − y_j‖²."""
    U, _, V = np.linalg.svd(X.T @ gamma @ Y)
    Q: Double = U @ V
    return Q


def alternated(X: Sample, Y: Sample, gamma: Double, repeats: int = REPEATS) -> Turn:
    """Maps and plans in turns, from a plan on; both minimise the cost, at entropies that fall."""
    for epsilon in ALTERNATION:
        for _ in range(repeats):
            Q = procrustes(X.points, Y.points, gamma)
            gamma, cost = _transported(X.points @ Q, X.masses, Y, epsilon)
    return Turn(Q, gamma, cost)


def _transported(points: Double, a: Double, Y: Sample, epsilon: float = ALTERNATION[-1]) -> tuple[Double, float]:
    C = cdist(points, Y.points, "sqeuclidean")
    gamma = _plan(C, a, Y.masses, epsilon * float(a @ C @ Y.masses))
    return gamma, float((gamma * C).sum())


class _Frame(NamedTuple):
    """Source and batch by their principal components, of mean 0 and total variance 1 each."""

    X: Sample
    Y: Sample
    axes: Double
    centre: Double
    size: float

    @classmethod
    def of(cls, source: Sample, batch: Sample) -> _Frame:
        n, d = source.points.shape
        count = min(COMPONENTS, min(n, len(batch.points)) // PER, d)
        (X, _, _, unit), (Y, axes, centre, size) = _components(source, count), _components(batch, count)
        return cls(Sample(X / unit, source.masses), Sample(Y / size, batch.masses), axes, centre, size)

    def placed(self, Q: Double) -> Double:
        """Images of the source in the space of the batch."""
        return self.centre + self.size * (self.X.points @ Q) @ self.axes


def _components(sample: Sample, count: int) -> tuple[Double, Double, Double, float]:
    """Principal components (n×count), their axes (count×d), the centre, and the root of the total variance."""
    centre, spread = _moments(sample)
    centred = sample.points - centre
    axes = np.linalg.svd(np.sqrt(sample.masses)[:, None] * centred, full_matrices=False)[2][:count]
    return centred @ axes.T, axes, centre, float(np.sqrt((spread**2).sum()))


def _dimension(components: Sample) -> float:
    """How many dimensions the variances of principal components are worth."""
    variances = components.masses @ components.points**2
    return float(variances.sum() ** 2 / (variances**2).sum())


def _moments(sample: Sample) -> tuple[Double, Double]:
    """Mean and standard deviation of every feature."""
    centre = sample.masses @ sample.points
    return centre, np.sqrt(sample.masses @ (sample.points - centre) ** 2)


# What to believe


def _explained(source: Sample, batch: Sample) -> bool:
    """Whether the source explains the batch as it is, with a gain and a shift, or with a gain and a shift per feature.

    Either by the plan or by the distance to the nearest point, which does not mind if the mix of classes is another.
    """
    count = min(len(source.points) // 2, len(batch.points), SAMPLE)
    first, second = (half.thinned(count) for half in source.halves())
    (here, spread), (there, spreads) = _moments(source), _moments(batch)
    usual = _costs(first.points, first.masses, second) / (spread**2).sum()
    gains = np.divide(spreads, spread, out=np.ones_like(spread), where=spread > 0)
    common = np.sqrt((spreads**2).sum() / (spread**2).sum())
    centred, Y = first.points - here, batch.thinned(count)
    simple = first.points, there + common * centred, there + gains * centred
    costs = np.array([_costs(points, first.masses, Y) for points in simple]) / (spreads**2).sum()
    return bool((costs <= DOUBT * usual).any())


def _costs(points: Double, a: Double, Y: Sample) -> Double:
    """Mean squared distances to Y: along the plan, and from the nearest point."""
    nearest = cdist(points, Y.points, "sqeuclidean").min(axis=0)
    return np.array([_transported(points, a, Y)[1], nearest @ Y.masses])


def _trusted(Q: Double, frame: _Frame, groups: Groups) -> bool:
    """Whether the map leaves no more than halves of the source do that are turned as well, and has no rivals.

    All samples compared are of one size, so that maps fit what is accidental in them equally well.
    """
    count = min(len(frame.X.points) // 2, len(frame.Y.points), SAMPLE)
    (X, rest), Y = (half.thinned(count) for half in frame.X.halves()), frame.Y.thinned(count)
    found, usual = _settled(X, Y, Q), _settled(X, rest, np.eye(len(Q)))
    enough = EXPLAINED * usual.cost
    if found.cost > enough:
        return False
    classes = Sample(np.eye(groups.max() + 1)[groups], frame.X.masses).halves()[0].thinned(count).points
    return not any(_rivals(other, found, enough, classes) for other in _others(X, Y, found, classes))


def _settled(X: Sample, Y: Sample, Q: Double) -> Turn:
    """The best map near Q."""
    gamma, cost = _transported(X.points @ Q, X.masses, Y)
    for _ in range(REPEATS):
        Q = procrustes(X.points, Y.points, gamma)
        gamma, cost = _transported(X.points @ Q, X.masses, Y)
    return Turn(Q, gamma, cost)


def _rivals(other: Turn, found: Turn, enough: float, classes: Double) -> bool:
    """Whether another map is better, or costs not more than enough, and gives other classes to much of the batch.

    `classes` (n×K) has a one where a point of the source is of a class.
    """
    answers = [(classes.T @ turn.gamma).argmax(axis=0) for turn in (other, found)]
    differs = float(np.mean(answers[0] != answers[1]))
    return (other.cost < found.cost and differs > BETTER) or (other.cost < enough and differs > DIFFERENT)


def _others(X: Sample, Y: Sample, found: Turn, classes: Double) -> Iterator[Turn]:
    """Where maps settle that begin with a mirror image of the one found, or with two classes exchanged."""
    yield _settled(X, Y, -found.Q)
    axes = range(min(FLIPPED, X.points.shape[1]))
    for flips in (flips for size in axes for flips in combinations(axes, size + 1)):
        mirror = np.ones(X.points.shape[1])
        mirror[list(flips)] = -1.0
        yield _settled(X, Y, mirror[:, None] * found.Q)
    shares = classes.T @ found.gamma
    total = shares.sum(axis=1)
    present = np.flatnonzero(total > 0)  # a rare class may have been thinned away
    means = (shares @ Y.points) / np.where(total > 0, total, 1.0)[:, None]
    apart = cdist(means, means)
    for one, two in sorted(combinations(present, 2), key=lambda pair: apart[pair])[:EXCHANGES]:
        gamma = found.gamma.copy()
        for k, other in ((one, two), (two, one)):
            members = classes[:, k] > 0
            gamma[members] = np.outer(X.masses[members], shares[other] / total[other])
        yield alternated(X, Y, gamma, 1)
