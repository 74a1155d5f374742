"""What happened at every step: a table to read, to plot and to alarm on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np
import numpy.typing as npt

# Steps before a signal is given, the least spread of a log-energy, and the memory of a spread.
FIRST, LEAST_SPREAD, WINDOW = 5, 0.3, 50
# Records that are kept: 200 bytes each in a saved state.
KEPT = 1000


@dataclass(frozen=True)
class Record:
    """One step.

    Attributes
    ----------
    step : its number, from 1
    size : points in the batch
    track : the hypothesis that was believed most
    answer : "adapted", or "source" while no drift has been seen
    belief : in that hypothesis, from 0 to 1
    misfit : the evidence against it in nats, which is what of the batch it leaves unexplained; NaN for the transported
        source
    transport : ⟨γ, C⟩, in units of the scaled features
    displacement : how far the source went, root mean square
    energy : the energy distance between what was expected and the batch, in multiples of what chance explains; in
        units of the scaled features where the transported source is the only hypothesis
    signal : how unusual that is beside the steps before, in standard deviations; NaN at first
    drift : the energy distance between source and batch, over what chance explains
    class_shift : how much of the mass seems to have changed class, from 0 to 1; NaN for a regression
    gap, converged : of the transport plan, certified; NaN and True where no plan answered
    seconds : that the step took
    warning : what looked unsafe, or ""
    missing : cells of the batch that were missing
    unseen : cells with categories that the source does not have

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from driftway import ContinuousTransportClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ContinuousTransportClassifier().fit(X[::2], y[::2]).partial_fit(X[1::2])
    >>> record = model.history_[-1]
    >>> record.step, record.size, 0.0 <= record.belief <= 1.0
    (1, 75, True)

    """

    step: int
    size: int
    track: str
    answer: str
    belief: float
    misfit: float
    transport: float
    displacement: float
    energy: float
    signal: float
    drift: float
    class_shift: float
    gap: float
    converged: bool
    seconds: float
    warning: str
    missing: int = 0
    unseen: int = 0


class History(Sequence[Record]):
    """The records of the last 1,000 steps; a column by its name, a record by its place.

    Older records are dropped, so that memory, saved states and the time of a step do not grow with the stream.
    `adapt_stream` yields every record, and the command line writes every one to `history.csv`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from driftway import ContinuousTransportClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ContinuousTransportClassifier().fit(X[::2], y[::2]).partial_fit(X[1::2]).partial_fit(X[1::2])
    >>> history = model.history_
    >>> len(history), history.steps, history["size"].tolist()
    (2, 2, [75, 75])
    >>> columns = history.to_dict()  # for `pandas.DataFrame(columns)`
    >>> history.from_dict(columns) == history
    True
    >>> history[:1].extended(history[1]) == history
    True

    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = list(records)[-KEPT:]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    @overload
    def __getitem__(self, key: str) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Record: ...
    @overload
    def __getitem__(self, key: slice) -> History: ...

    def __getitem__(self, key: str | int | slice) -> npt.NDArray[Any] | Record | History:
        if isinstance(key, str):
            if key not in COLUMNS:
                raise KeyError(f"{key!r} is no column of the history, which has {', '.join(COLUMNS)}")
            return np.array([getattr(record, key) for record in self._records])
        return History(self._records[key]) if isinstance(key, slice) else self._records[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and repr(self._records) == repr(other._records)

    __hash__ = None  # type: ignore[assignment]

    @property
    def steps(self) -> int:
        """How many steps were made, whether or not their records are still here."""
        return self._records[-1].step if self._records else 0

    def extended(self, record: Record) -> History:
        """This history and one more record, without the oldest if there are too many."""
        return History([*self._records, record])

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, as a data frame of any library takes them."""
        return {name: [getattr(record, name) for record in self._records] for name in COLUMNS}

    @classmethod
    def from_dict(cls, columns: dict[str, list[Any]]) -> History:
        """The history that `to_dict` described."""
        return cls([Record(*row) for row in zip(*(columns[name] for name in COLUMNS), strict=True)])

    def __str__(self) -> str:
        header = (
            f"{'step':>5} {'size':>6} {'track':<15} {'answer':<8} {'belief':>6} {'misfit':>7} "
            f"{'transport':>10} {'moved':>8} {'energy':>9} "
            f"{'signal':>7} {'drift':>7} {'shift':>6} {'gap':>8} {'seconds':>8}  warning"
        )
        lines = [
            f"{r.step:>5} {r.size:>6} {r.track:<15} {r.answer:<8} {r.belief:>6.2f} {r.misfit:>7.1f} "
            f"{r.transport:>10.4g} {r.displacement:>8.3g} "
            f"{r.energy:>9.3g} {r.signal:>7.1f} {r.drift:>7.1f} {r.class_shift:>6.2f} "
            f"{r.gap:>8.1e} {r.seconds:>8.3f}  {r.warning}"
            for r in self._records
        ]
        return "\n".join([header, *lines])

    def __repr__(self) -> str:
        return f"History(<{len(self)} steps>)"


COLUMNS = tuple(field.name for field in fields(Record))


def signal(history: History, energy: float) -> float:
    """How far a log-energy is from the median of those before, in robust standard deviations."""
    if len(history) < FIRST:
        return math.nan
    logs = np.log(np.maximum(history[-WINDOW:]["energy"], 1e-300))
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), LEAST_SPREAD)
    return (math.log(max(energy, 1e-300)) - middle) / spread
