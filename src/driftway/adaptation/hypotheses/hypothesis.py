"""What a hypothesis is: it expects a batch, is fitted to it, answers for it, and explains what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expectation:
    """A distribution before the batch is seen: points in the units of the data, and their masses."""

    points: Double
    masses: Double


@dataclass(frozen=True, eq=False)
class Moved:
    """What happened since the source, by one hypothesis.

    `shift` is how far the features went, in their own deviations; `gain` by which factor their spread changed; `mix`
    the shares of the classes now, and `usual` those that they had; `dead` are the features that were left out.
    """

    shift: Double
    gain: Double
    mix: Double
    usual: Double
    dead: npt.NDArray[np.bool_]


class Fit(Protocol):
    """A hypothesis after it has seen a batch.

    `misfit` and `energy` are the evidence against it in nats, see `driftway.adaptation.judge`; `state` is where it
    goes on from, with a method `arrays()` that `Hypothesis.state` reads; `displacement` is how far it moved the
    source's points, the root mean square in their units; and `estimator` is what answers.
    """

    @property
    def state(self) -> Any: ...
    @property
    def misfit(self) -> float: ...
    @property
    def energy(self) -> float: ...
    @property
    def displacement(self) -> float: ...
    @property
    def estimator(self) -> Any: ...

    def heard(self) -> Any:
        """The state after it has answered for the batch, which may have told it more than the fit did."""

    def posteriors(self, X: Double) -> Double:
        """Probabilities of the classes (m×K) for points of the present, or values (m) for a regression."""

    def of_batch(self) -> Double:
        """The same for the batch itself."""

    def images(self) -> Double:
        """Where the points of the source are now (n×d)."""

    def explain(self) -> Moved:
        """Which features and classes moved."""

    def without(self, group: int) -> float:
        """How many nats worse it would explain the batch if a class were gone; infinite if it cannot say."""

    def otherwise(self) -> Double | None:
        """What it would say of the batch with another mix that the batch does not rule out; None if there is none."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is needed to answer after the state was saved; `Hypothesis.restored` reads it."""


class Hypothesis(Protocol):
    """An idea of how batches come from the source.

    `moves` says whether it has a map, and `freedom` how many numbers it fits to each batch beside the map. `price` is
    the evidence in nats that it must have: if it moves, over the others that do; if not, over those that move, for whom
    doubt is no reason, so that it is negative.
    """

    @property
    def name(self) -> str: ...
    @property
    def moves(self) -> bool: ...
    @property
    def freedom(self) -> int: ...
    @property
    def price(self) -> float: ...

    def start(self) -> Any:
        """The state before the first batch."""

    def expect(self, state: Any, going_on: bool = False) -> Expectation:
        """What the next batch will look like: as the last one, or if the last step is repeated (`going_on`)."""

    def fit(self, state: Any, batch: Double) -> Fit:
        """Fits a batch, in the units of the data; the state is not changed."""

    def answering(self) -> Fit:
        """The source's own answer, before any batch has come."""

    def state(self, arrays: dict[str, npt.NDArray[Any]]) -> Any:
        """The state whose arrays were saved."""

    def restored(self, state: Any, arrays: dict[str, npt.NDArray[Any]]) -> Fit:
        """The fit whose arrays were saved, to go on answering."""
