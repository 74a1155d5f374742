"""Kinds of drift: each is a function of one name that says how every step differs from the source.

Lengths are in standard deviations of the source, per feature. A sensor that ages has its own gain and offset, and each
walks at random: the gain by factors exp(0.05 N), the offset by 0.2 N, with N standard normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.streams import Double

Rng = np.random.Generator


@dataclass(frozen=True)
class Now:
    """The present: z, a row of the source's distribution, is seen as gain · A(z + noise) + offset.

    `odds` has how much more likely a row of each class is drawn than in the source, and exp(tilt · z) how much more
    likely a row z is. `broken` features read as 15; `garbage` takes the place of whatever is seen; `unit` multiplies in
    the table's own units.
    """

    gain: Double | float = 1.0
    offset: Double | float = 0.0
    mixing: Double | None = None
    odds: Double | None = None
    tilt: Double | None = None
    noise: float = 0.05
    broken: tuple[int, ...] = ()
    garbage: str | None = None
    unit: Double | float = 1.0


Kind = Callable[[Rng, int, int, int], list[Now]]  # of d features, K classes and T steps


def still(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Nothing changes."""
    return [Now()] * steps


def mix(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Only the mix of the classes changes."""
    return [Now(odds=odds) for odds in _odds(rng, classes, steps, 0.9)]


def ageing(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Every sensor ages."""
    return [Now(gain=gain, offset=offset) for gain, offset in _aged(rng, d, steps)]


def slow_ageing(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Every sensor ages, by a third to a quarter of the steps of the others."""
    return [Now(gain=gain, offset=offset) for gain, offset in _aged(rng, d, steps, 0.015, 0.05)]


def ageing_mix(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Sensors age while the mix of the classes changes."""
    together = zip(_aged(rng, d, steps), _odds(rng, classes, steps), strict=True)
    return [Now(gain=gain, offset=offset, odds=odds) for (gain, offset), odds in together]


def seasons(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Offsets swing in a period of ten steps."""
    swing = 1.2 * rng.normal(size=d)
    return [Now(offset=swing * np.sin(2.0 * np.pi * step / 10.0)) for step in range(1, steps + 1)]


def recurrence(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Four steps as the source, four elsewhere, and so on in turns."""
    away = _jump(rng, d)
    return [away if step // 4 % 2 else Now() for step in range(steps)]


def replacement(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """All sensors are replaced at once, after a third of the steps."""
    away = _jump(rng, d)
    return [Now() if step < steps // 3 else away for step in range(steps)]


def faults(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Offsets walk by 0.08 N, and in every sixth batch a quarter of the sensors reads 15 throughout."""
    found = []
    offset = np.zeros(d)
    for step in range(steps):
        offset = offset + 0.08 * rng.normal(size=d)
        broken = rng.choice(d, max(1, d // 4), replace=False) if step % 6 == 3 else ()
        found.append(Now(offset=offset, broken=tuple(int(feature) for feature in broken)))
    return found


def garbage(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """One batch, after a third of the steps, is 20 away, ten times as wide or mere noise; the rest is still."""
    which = str(rng.choice(["away", "wide", "noise"]))
    return [Now(garbage=which) if step == steps // 3 else Now() for step in range(steps)]


def growing_noise(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Noise on every sensor grows from 0.05 by 0.06 per step."""
    return [Now(noise=0.05 + 0.06 * step) for step in range(steps)]


def vanish(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Sensors age, and a third of the classes leaves after a quarter of the steps, until five before the end."""
    gone = rng.permutation(classes)[: max(1, classes // 3)]
    found = []
    for step, (gain, offset) in enumerate(_aged(rng, d, steps)):
        odds = np.ones(classes)
        odds[gone] = 1e-3 if steps // 4 <= step < steps - 5 else 1.0
        found.append(Now(gain=gain, offset=offset, odds=odds))
    return found


def affine(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Features mix with each other, and offsets walk together along two directions."""
    return [Now(mixing=mixing, offset=offset) for mixing, offset in _mixed(rng, d, steps)]


def affine_mix(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """The same while the mix of the classes changes."""
    together = zip(_mixed(rng, d, steps), _odds(rng, classes, steps), strict=True)
    return [Now(mixing=mixing, offset=offset, odds=odds) for (mixing, offset), odds in together]


def units(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """From a third of the steps on, one column is told in units that are a thousand times smaller."""
    unit = np.where(np.arange(d) == rng.integers(d), 1000.0, 1.0)
    return [Now() if step < steps // 3 else Now(unit=unit) for step in range(steps)]


def selection(rng: Rng, d: int, classes: int, steps: int) -> list[Now]:
    """Only which rows are drawn changes, along one direction, as much as `mix` changes the classes."""
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    return [Now(tilt=float(strength) * direction) for strength in _autoregression(rng, 1, steps, 0.9)[:, 0]]


KINDS: dict[str, Kind] = {
    "still": still,
    "mix": mix,
    "ageing": ageing,
    "slow ageing": slow_ageing,
    "ageing+mix": ageing_mix,
    "seasons": seasons,
    "recurrence": recurrence,
    "replacement": replacement,
    "faults": faults,
    "garbage": garbage,
    "growing noise": growing_noise,
    "vanish": vanish,
    "affine": affine,
    "affine+mix": affine_mix,
    "units": units,
}

# A table without classes has no mix: rows are selected by their features instead.
OF_REGRESSION: dict[str, Kind] = {
    **{name: KINDS[name] for name in ("still", "ageing", "slow ageing")},
    "selection": selection,
    **{name: KINDS[name] for name in ("seasons", "recurrence")},
}


def _aged(
    rng: Rng, d: int, steps: int, gain_step: float = 0.05, offset_step: float = 0.2
) -> list[tuple[Double, Double]]:
    """Gain and offset of every sensor in every step: random walks."""
    gains = np.exp(np.cumsum(gain_step * rng.normal(size=(steps, d)), axis=0))
    offsets = np.cumsum(offset_step * rng.normal(size=(steps, d)), axis=0)
    return list(zip(gains, offsets, strict=True))


def _odds(rng: Rng, classes: int, steps: int, strength: float = 0.6) -> Double:
    """Odds of the classes whose logarithms are pulled back to 0 by a tenth in every step (T×K)."""
    return np.exp(_autoregression(rng, classes, steps, strength))


def _autoregression(rng: Rng, count: int, steps: int, strength: float) -> Double:
    """u ← 0.9 u + strength · N, from 0 (T×count)."""
    found, state = [], np.zeros(count)
    for _ in range(steps):
        state = 0.9 * state + strength * rng.normal(size=count)
        found.append(state)
    return np.array(found)


def _jump(rng: Rng, d: int) -> Now:
    """Other sensors: gains of exp(0.25 N), offsets of N."""
    return Now(gain=np.exp(0.25 * rng.normal(size=d)), offset=rng.normal(size=d))


def _mixed(rng: Rng, d: int, steps: int) -> list[tuple[Double, Double]]:
    """A matrix whose entries walk by 0.08 N/√d, and an offset that walks in a plane, by 0.12 per feature."""
    mixing, offset = np.eye(d), np.zeros(d)
    plane = np.linalg.qr(rng.normal(size=(d, d)))[0][:2]
    found = []
    for _ in range(steps):
        mixing = mixing + 0.08 / np.sqrt(d) * rng.normal(size=(d, d))
        offset = offset + 0.12 * np.sqrt(d) * rng.normal(size=len(plane)) @ plane
        found.append((mixing, offset))
    return found
