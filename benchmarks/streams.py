"""Data that drifts, for scoring a classifier that is labelled once and then has to keep up without labels.

Made here: rotating moons, rotated digits, and stand-ins for streams of the verification-latency literature. The
stand-ins are written from what the streams are said to do; they are not those streams, and neither are their numbers.

Real data are not shipped. Set the environment variable DRIFTWAY_DATA to a folder that has

- `verification_latency/NAME.txt`: the streams of Souza, Silva, Gama and Batista, "Data stream classification guided by
  clustering on nonstationary environments and extreme verification latency" (SCARGC, SDM 2015), from their
  nonstationary archive, https://sites.google.com/site/nonstationaryarchive;
- `gas_sensor_drift/batchK.dat`: the Gas Sensor Array Drift data of the UCI repository,
  https://archive.ics.uci.edu/dataset/224, or the same at different concentrations, https://archive.ics.uci.edu/dataset/270;
- `tables/`: `weather_data.csv` and `weather_class.csv` (daily weather of NOAA, rain or not, 50 years), `luxembourg.csv`
  (a social survey), `moving_squares.data` and `.labels`, `sea_data.csv` and `sea_class.csv` (the SEA concepts, where
  what a class is changes and the inputs do not: nothing can be followed, and no harm be done).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Sample = tuple[Double, Labels]

LATENCY = ("1CDT", "1CSurr", "2CDT", "4CR", "4CRE-V1", "FG_2C_2D", "MG_2C_2D", "UG_2C_2D", "keystroke")
GAS_BATCHES = (2, 3, 4, 5, 6, 8, 9)


@dataclass(frozen=True)
class Stream:
    """A labelled source (X, y), then unlabelled batches in the order in which they arrive.

    The labels of a batch are for scoring only. `tests` has a fresh sample of every step's distribution; where it is
    None, the batch itself is what gets scored. `mixed_units` says that features are measured in different units, so
    that a distance between points means nothing before every feature is standardised. `told` has another labelled
    sample of every step's distribution where one can be had, for an oracle to learn from.
    """

    name: str
    X: Double
    y: Labels
    batches: list[Sample]
    tests: list[Sample] | None = None
    mixed_units: bool = False
    told: list[Sample] | None = None

    @property
    def shares(self) -> list[Double]:
        """The true shares of the source's classes in every batch, for those who are told them."""
        classes = np.unique(self.y)
        counts = [(y[:, None] == classes).sum(axis=0) for _, y in self.batches]
        return [count / max(1, count.sum()) for count in counts]


def find_data() -> Path | None:
    """The folder that DRIFTWAY_DATA names, or None where it is not set."""
    named = os.environ.get("DRIFTWAY_DATA")
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise ValueError(f"DRIFTWAY_DATA has to name a folder; got {named!r}")
    return folder


# Real streams


def latency_stream(name: str, folder: Path) -> Stream:
    """`verification_latency/NAME.txt`: the first 300 rows labelled, then batches of 300; keystroke has sessions of 200.

    Rows that do not fill a last batch are left out.
    """
    table = np.loadtxt(folder / "verification_latency" / f"{name}.txt", delimiter=",")
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    size = 200 if name == "keystroke" else 300
    return _chunked(name, X, y, size, size)


def gas_sensor(folder: Path) -> Stream:
    """Gas Sensor Array Drift: batch 1 labelled, then 2, 3, 4, 5, 6, 8 and 9; 128 features, 6 gases."""
    batches = [_gas_batch(folder, number) for number in GAS_BATCHES]
    return Stream("gas", *_gas_batch(folder, 1), batches=batches, mixed_units=True)


def weather(folder: Path) -> Stream:
    """Daily weather: a year labelled, then years; 8 features in units of their own, rain or not."""
    X, y = _pair(folder, "weather_data.csv", "weather_class.csv", ",")
    return _chunked("weather", X, y, 365, 365, mixed_units=True)


def luxembourg(folder: Path) -> Stream:
    """A survey over years: 300 answers labelled, then batches of 100; 31 features, two classes."""
    table = np.loadtxt(folder / "tables" / "luxembourg.csv", delimiter=",", skiprows=1)
    return _chunked("luxembourg", table[:, :-1], table[:, -1].astype(np.int64), 300, 100, mixed_units=True)


def moving_squares(folder: Path) -> Stream:
    """Four squares that move along a line: 300 points labelled, then batches of 100."""
    return _chunked("moving squares", *_pair(folder, "moving_squares.data", "moving_squares.labels", None), 300, 100)


def sea(folder: Path) -> Stream:
    """SEA: 500 points labelled, then batches of 500; the rule that makes a class changes, the inputs do not."""
    return _chunked("SEA", *_pair(folder, "sea_data.csv", "sea_class.csv", ","), 500, 500)


TABLES: dict[str, Callable[[Path], Stream]] = {
    "weather": weather,
    "luxembourg": luxembourg,
    "moving squares": moving_squares,
    "SEA": sea,
}


def _pair(folder: Path, data: str, labels: str, delimiter: str | None) -> Sample:
    """Features in one file, classes in another."""
    X = np.loadtxt(folder / "tables" / data, delimiter=delimiter)
    return X, np.loadtxt(folder / "tables" / labels).astype(np.int64)


def _chunked(name: str, X: Double, y: Labels, first: int, size: int, *, mixed_units: bool = False) -> Stream:
    """The first rows as source, then batches in the order of the file; an incomplete last one is left out."""
    batches = [(X[at : at + size], y[at : at + size]) for at in range(first, len(y) - size + 1, size)]
    return Stream(name, X[:first], y[:first], batches, mixed_units=mixed_units)


def _gas_batch(folder: Path, number: int) -> Sample:
    """Rows of `class;concentration 1:value … 128:value`; the concentration may be missing."""
    rows = [line.split() for line in (folder / "gas_sensor_drift" / f"batch{number}.dat").read_text().splitlines()]
    X = np.array([[float(entry.partition(":")[2]) for entry in row[1:]] for row in rows])
    return X, np.array([int(row[0].partition(";")[0]) for row in rows], dtype=np.int64)


# Rotations


def rotating_moons(
    seed: int, *, steps: int = 20, degrees: float = 18.0, n: int = 500, m: int = 50, noise: float = 0.05
) -> Stream:
    """Two moons that turn about the point between them, by `degrees` more in every step; m points in a batch."""
    from sklearn.datasets import make_moons

    rng = np.random.default_rng(seed)

    def sample(count: int, angle: float) -> Sample:
        X, y = make_moons(count, noise=noise, random_state=int(rng.integers(2**31)))
        centre = np.array([0.5, 0.25])
        return centre + (X - centre) @ _rotation(angle).T, y.astype(np.int64)

    source = sample(n, 0.0)
    angles = [degrees * step for step in range(1, steps + 1)]
    batches, tests = [sample(m, angle) for angle in angles], [sample(1000, angle) for angle in angles]
    return Stream("rotating moons", *source, batches=batches, tests=tests)


def rotated_digits(seed: int, *, n: int = 500, m: int = 150, degrees: float = 5.0, steps: int = 18) -> Stream:
    """Handwritten digits, 8 × 8 pixels in [0, 1], that turn by `degrees` more in every step.

    No image of the source comes back; in every step the other images are dealt anew into a batch of m and a test.
    """
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    images, labels = load_digits().images / 16.0, load_digits().target.astype(np.int64)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    source, pool = order[:n], order[n:]

    def turned(chosen: npt.NDArray[np.intp], angle: float) -> Sample:
        X = rotate(images[chosen], angle, axes=(1, 2), reshape=False, order=1)
        return X.reshape(len(chosen), -1), labels[chosen]

    batches, tests = [], []
    for step in range(1, steps + 1):
        dealt = rng.permutation(pool)
        batches.append(turned(dealt[:m], degrees * step))
        tests.append(turned(dealt[m:], degrees * step))
    return Stream("rotated digits", *turned(source, 0.0), batches=batches, tests=tests)


def digits_at_once(seed: int, *, degrees: float, n: int = 500, m: int = 800) -> Stream:
    """Handwritten digits turned by `degrees` in one jump: a single large batch, which is also what is scored."""
    stream = rotated_digits(seed, n=n, m=m, degrees=degrees, steps=1)
    return Stream(f"digits, {degrees:g}° at once", stream.X, stream.y, stream.batches, told=stream.tests)


def _rotation(degrees: float) -> Double:
    """The matrix that turns a column vector counterclockwise."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[c, -s], [s, c]])


# Stand-ins for the streams of the literature. Time runs from 0, the source, to 1, the last batch; classes are Gaussians
# of unit variance where nothing else is said, so that lengths are in standard deviations.


def two_crossing(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """Like 2CHT: two classes trade places horizontally, and pass each other at a distance of 2.5."""
    ends = np.array([[-5.0, -1.25], [5.0, 1.25]])
    return _moving_gaussians("2CHT-like", seed, lambda time: ends * [1.0 - 2.0 * time, 1.0], steps, m)


def five_vertical(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """Like 5CVT: five columns of which the middle one stays; the others go up and down in turns and so cross."""
    starts = np.array([[-6.0, -5.0], [-3.0, 5.0], [0.0, 0.0], [3.0, -5.0], [6.0, 5.0]])
    return _moving_gaussians("5CVT-like", seed, lambda time: starts * [1.0, 1.0 - 2.0 * time], steps, m)


def four_rotating_expanding(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """Like 4CRE: four classes on a circle that turns three times while its radius grows from 2 to 6."""
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])

    def centres(time: float) -> Double:
        return (2.0 + 4.0 * time) * corners @ _rotation(1080.0 * time).T

    return _moving_gaussians("4CRE-like", seed, centres, steps, m)


def four_expanding_one_fixed(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """Like 4CE1CF by its name: four classes move outwards from around one that stays in the middle."""
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    return _moving_gaussians("4CE1CF-like", seed, lambda time: (2.0 + 6.0 * time) * corners, steps, m)


def one_passing_around(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """One class walks once around four that stay."""
    fixed = np.array([[2.5, 2.5], [-2.5, 2.5], [-2.5, -2.5], [2.5, -2.5]])

    def centres(time: float) -> Double:
        return np.vstack([fixed, _rotation(360.0 * time) @ [7.0, 0.0]])

    return _moving_gaussians("one passing around", seed, centres, steps, m)


def crossing_gaussians(seed: int, *, dimensions: int = 3, steps: int = 100, m: int = 300) -> Stream:
    """Like UG_2C_3D and UG_2C_5D: two classes trade places along half an ellipse, 3 apart where they are closest.

    The plane in which they move is drawn from the seed.
    """
    plane = np.linalg.qr(np.random.default_rng([seed, dimensions]).normal(size=(dimensions, 2)))[0].T

    def centres(time: float) -> Double:
        place = np.array([5.0 * np.cos(np.pi * time), 1.5 * np.sin(np.pi * time)]) @ plane
        return np.stack([place, -place])

    return _moving_gaussians(f"UG_2C_{dimensions}D-like", seed, centres, steps, m)


def gears(seed: int, *, teeth: int = 5, steps: int = 100, m: int = 300) -> Stream:
    """Like GEARS_2C_2D: two stars side by side that turn against each other, each with its teeth in the other's gaps.

    In its own frame a star has the radius 1 + 0.4 cos(teeth·θ) in the direction θ. They turn by two teeth in all.
    """

    def points(rng: np.random.Generator, time: float, y: Labels) -> Double:
        side = 2.0 * y - 1.0  # −1 on the left, 1 on the right
        theta = rng.uniform(0.0, 2.0 * np.pi, len(y))
        turn = side * 2.0 * np.pi * (2.0 * time) / teeth
        # To the right of the left star is a tooth when time is 0, to the left of the right star a gap.
        phase = np.where(y == 0, 0.0, np.pi * (teeth + 1))
        reach = 1.0 + 0.4 * np.cos(teeth * (theta - turn) + phase)
        radius = reach * np.sqrt(rng.uniform(size=len(y)))
        return np.column_stack([1.05 * side + radius * np.cos(theta), radius * np.sin(theta)])

    return _stream("GEARS_2C_2D-like", seed, 2, points, steps, m)


def stationary(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """No drift: three classes that overlap a little and stay. Whoever adapts should do no harm."""
    return _moving_gaussians("stationary", seed, lambda time: _TRIANGLE, steps, m)


def label_shift(seed: int, *, steps: int = 100, m: int = 300) -> Stream:
    """The classes of `stationary`, whose proportions drift from equal to (.15, .03, .82) and back."""
    phases = 2.0 * np.pi * np.arange(3) / 3.0

    def proportions(time: float) -> Double:
        weights = np.exp(np.sin(2.0 * np.pi * time + phases) - np.sin(phases))
        return weights / weights.sum()

    return _moving_gaussians("label shift", seed, lambda time: _TRIANGLE, steps, m, proportions)


_TRIANGLE = np.array([[0.0, 2.0], [-1.75, -1.0], [1.75, -1.0]])

SYNTHETIC: tuple[Callable[[int], Stream], ...] = (
    two_crossing,
    five_vertical,
    four_rotating_expanding,
    four_expanding_one_fixed,
    one_passing_around,
    lambda seed: crossing_gaussians(seed, dimensions=3),
    lambda seed: crossing_gaussians(seed, dimensions=5),
    gears,
    stationary,
    label_shift,
)


def _moving_gaussians(
    name: str,
    seed: int,
    centres: Callable[[float], Double],
    steps: int,
    m: int,
    proportions: Callable[[float], Double] | None = None,
) -> Stream:
    """One Gaussian of unit variance per class, around the rows of `centres(time)`."""

    def points(rng: np.random.Generator, time: float, y: Labels) -> Double:
        means = centres(time)[y]
        return means + rng.normal(size=means.shape)

    return _stream(name, seed, len(centres(0.0)), points, steps, m, proportions)


def _stream(
    name: str,
    seed: int,
    classes: int,
    points: Callable[[np.random.Generator, float, Labels], Double],
    steps: int,
    m: int,
    proportions: Callable[[float], Double] | None = None,
) -> Stream:
    """m labelled points at time 0, then `steps` batches of m; labels are drawn first, equally likely by default."""
    rng = np.random.default_rng(seed)

    def sample(time: float) -> Sample:
        y = rng.choice(classes, size=m, p=None if proportions is None else proportions(time)).astype(np.int64)
        return points(rng, time, y), y

    return Stream(name, *sample(0.0), batches=[sample(step / steps) for step in range(1, steps + 1)])
