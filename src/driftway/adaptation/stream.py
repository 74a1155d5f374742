"""Adapting to a stream of batches."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.adaptation.estimator import ContinuousTransport
from driftway.adaptation.history import Record


class Adapted(NamedTuple):
    """What `adapt_stream` yields for each batch.

    Attributes
    ----------
    key : object
        The key of the batch, or its number from 0.
    predicted : array
        The predictions for its rows; empty if it was skipped.
    record : Record or None
        The record of the step, as in `history_`; None if the batch was skipped.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier, adapt_stream
    >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
    >>> key, predicted, record = next(adapt_stream(model, [("Monday", X)]))
    >>> key, predicted.shape, record.step, record.size
    ('Monday', (20,), 1, 20)

    """

    key: Any
    predicted: npt.NDArray[Any]
    record: Record | None


def adapt_stream(
    estimator: ContinuousTransport,
    batches: Iterable[Any],
    *,
    state: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Iterator[Adapted]:
    """Adapts a fitted estimator to batches one after another, and predicts each after adapting to it.

    Parameters
    ----------
    estimator : ContinuousTransportClassifier or ContinuousTransportRegressor
        Fitted on the labelled source. It is changed by every batch.
    batches : iterable
        Arrays or data frames, or pairs (key, batch) as a grouped data frame yields them.
    state : path, optional
        The file in which the estimator is saved after every batch, before its predictions are yielded. If the file
        exists, the stream resumes: the estimator takes that state, and skips the batches that it has seen. So no batch
        is adapted to twice, and lost predictions are not yielded again.
    progress : bool
        Whether to show a progress bar; needs the extra `driftway[progress]`.

    Yields
    ------
    Adapted
        The tuple (key, predicted, record). Keys are numbers from 0 if the batches have none.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier, adapt_stream
    >>> y = np.repeat([0, 1], 30)
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 5 * y[:, None]
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
    >>> batches = [(day, X + shift) for day, shift in [("Monday", 1.5), ("Tuesday", 3.0), ("Wednesday", 4.5)]]
    >>> for day, predicted, record in adapt_stream(model, batches):
    ...     print(day, record.step, bool((predicted == y).mean() > 0.95))
    Monday 1 True
    Tuesday 2 True
    Wednesday 3 True

    """
    if not isinstance(estimator, ContinuousTransport):
        raise TypeError(f"estimator must be one of driftway's continuous estimators, got {type(estimator).__name__}")
    seen = 0
    if state is not None and Path(state).exists():
        seen = estimator.restore(state).n_seen_
    for number, item in enumerate(_shown(batches, progress)):
        key, batch = item if isinstance(item, tuple) and len(item) == 2 else (number, item)
        if number < seen:
            continue
        before = estimator.n_steps_
        estimator.partial_fit(batch)
        adapted = estimator.n_steps_ > before
        if state is not None:
            estimator.save(state)
        predicted = estimator.predict(batch) if adapted else np.empty(0, dtype=object)
        yield Adapted(key, predicted, estimator.history_[-1] if adapted else None)


def _shown(batches: Iterable[Any], progress: bool) -> Iterable[Any]:
    if not progress:
        return batches
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install 'driftway[progress]'") from error
    return tqdm(batches, desc="adapting", unit="batch")
