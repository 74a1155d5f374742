"""The prior of drift in time: small steps, of a size that is learned from the stream, and now and then a jump.

Innovations are Student-t with `NU` degrees of freedom, so that a jump costs its logarithm and then passes. The sizes of
ordinary steps are running geometric means of innovations less what chance explains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from driftway.adaptation.source.classes import SourceClasses

Double = npt.NDArray[np.float64]

# Heavy tails, with a variance that just exists.
NU = 4.0
# A squared innovation this many times larger than expected is a jump.
JUMP = 6.0
# Batches that the size of a step is averaged over, and how much less a jump counts.
WINDOW, OF_A_JUMP = 5, 0.3
# Squared steps before any was seen: 14 % of a deviation in the offset and 7 % in the gain; and the least ones.
FIRST_SHIFT, FIRST_GAIN, LEAST = 0.02, 0.005, 1e-4


@dataclass(frozen=True)
class Steps:
    """How far this stream goes in a step, squared: offsets and log-gains, in units of the source."""

    shift: float = FIRST_SHIFT
    gain: float = FIRST_GAIN
    seen: int = 0

    def learned(self, delta: Double, eta: Double, noise: Noise, jump: bool) -> Steps:
        """After innovations of the features that moved."""
        rate = (OF_A_JUMP if jump else 1.0) / min(self.seen + 2, WINDOW)
        return replace(
            self,
            shift=_mean(self.shift, rate, _excess(delta, noise.shift)),
            gain=_mean(self.gain, rate, _excess(eta, noise.gain)),
            seen=self.seen + 1,
        )


@dataclass(frozen=True, eq=False)
class Noise:
    """What chance explains of innovations in a batch: squared, per feature."""

    shift: Double
    gain: Double


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of one step of innovations (δ of offsets, η of log-gains) for batches of one size.

    With sampling noise included δ is Student-t with scale q²I + C/m, and the effective dimension counts, not the number
    of features: correlated ones tell the same thing many times.
    """

    source: SourceClasses
    steps: Steps
    size: int

    @cached_property
    def noise(self) -> Noise:
        shift = (self.source.axes**2 @ self.source.spectrum) / self.size
        return Noise(shift, (self.source.kurtosis - 1.0) / (4.0 * self.size))

    def squares(self, delta: Double, eta: Double) -> tuple[float, float, Double, Double]:
        """Mahalanobis squares of δ and η per effective dimension, and half their gradients."""
        source, share = self.source, self.source.dimension / len(delta)
        turned = source.axes.T @ delta
        by_shift = source.axes @ (turned / (self.steps.shift + source.spectrum / self.size))
        by_gain = eta / (self.steps.gain + self.noise.gain)
        return share * float(delta @ by_shift), share * float(eta @ by_gain), share * by_shift, share * by_gain

    def cost(self, delta: Double, eta: Double) -> tuple[float, Double, Double]:
        """The negative log-prior in nats, and its gradients; gains are known half as well as offsets and count half."""
        d = self.source.dimension
        shift, gain, by_shift, by_gain = self.squares(delta, eta)
        cost = 0.5 * (NU + d) * np.log1p(shift / NU) + 0.25 * (NU + d) * np.log1p(gain / NU)
        return float(cost), (NU + d) / (NU + shift) * by_shift, 0.5 * (NU + d) / (NU + gain) * by_gain

    def trust(self, delta: Double, eta: Double) -> tuple[Double, Double]:
        """The share of the innovations to believe (Kalman's gains): all of a jump, little of noise.

        It is told along the axes of what chance does to means and spreads, since that moves correlated features
        together: where it moves them little, a small difference is known to be a step of the sensors.
        """
        source, d = self.source, self.source.dimension
        shift, gain, *_ = self.squares(delta, eta)
        step = self.steps.shift * (NU + shift) / (NU + d)
        stretch = self.steps.gain * (NU + gain) / (NU + d)
        chance = source.spectrum / self.size, np.maximum(source.gain_spectrum, 0.0) / self.size
        return step / (step + chance[0]), stretch / (stretch + chance[1])

    def is_jump(self, delta: Double, eta: Double) -> bool:
        """Whether the offsets went further than steps of this stream do."""
        return self.squares(delta, eta)[0] > JUMP * (NU + self.source.dimension)


def _mean(old: float, rate: float, new: float) -> float:
    return float(np.exp((1.0 - rate) * np.log(old) + rate * np.log(new)))


def _excess(innovations: Double, noise: Double) -> float:
    """The mean square beyond chance, with single features held to three times the usual size."""
    squares = innovations**2
    if not squares.size:
        return LEAST
    return max(float(np.mean(np.minimum(squares, 9.0 * np.median(squares) + 1e-9) - noise)), LEAST)
