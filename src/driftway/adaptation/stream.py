"""A stream of batches, adapted to one after another."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from driftway.adaptation.estimator import ContinuousTransport
from driftway.adaptation.history import Record


class Adapted(NamedTuple):
    """One batch: its key, what is predicted for it, and the record of the step; `None` if it was skipped."""

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
    """Adapts a fitted estimator to batch after batch, and predicts each after adapting to it.

    Parameters
    ----------
    estimator : ContinuousTransportClassifier or ContinuousTransportRegressor
        Fitted on the labelled source. It is changed as the stream goes.
    batches : iterable of arrays or data frames, or of pairs (key, batch) as a grouped data frame yields
    state : path, optional
        Where the estimator is saved after every batch, before its predictions are yielded. If the file is there
        already the stream resumes: the estimator takes that state, and the batches it has seen are passed over. So
        no batch is adapted to twice, and predictions that were lost on the way are not yielded again.
    progress : bool
        Whether to show a progress bar; needs the extra `driftway[progress]`.

    Yields
    ------
    Adapted : (key, predicted, record); keys are numbers from 0 if the batches have none.

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
