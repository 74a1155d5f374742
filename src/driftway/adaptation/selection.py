"""Choosing hyper-parameters without target labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from driftway.adaptation.estimator import ContinuousTransport

TIE = 0.01  # accuracy that an energy distance of one costs


class CircularScore:
    """A scorer for scikit-learn's searches that needs no target labels: circular validation.

    The estimator adapts from the source through all batches. Then a copy is fitted on the last batch with its predicted
    labels, and adapts back through the batches to the source, whose labels are known. The score is the accuracy there:
    settings that lose the classes on the way score low (Bruzzone & Marconcini 2010). To decide between settings that do
    not, a hundredth of the mean energy distance between expected and real batches is subtracted.

    Parameters
    ----------
    batches : sequence of arrays
        The unlabelled batches, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from driftway import CircularScore, ContinuousTransportClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 2)) + 3 * y[:, None]
    >>> batches = [X + 0.2 * t for t in range(1, 4)]
    >>> everything = np.arange(len(X))
    >>> search = GridSearchCV(
    ...     ContinuousTransportClassifier(estimator=None, hypotheses="transport"),
    ...     {"epsilon": [0.03, 0.1]},
    ...     scoring=CircularScore(batches),
    ...     cv=[(everything, everything)],
    ... )
    >>> bool(search.fit(X, y).best_score_ > 0.9)
    True

    """

    def __init__(self, batches: Sequence[Any]) -> None:
        if len(batches) == 0:
            raise ValueError("batches must hold at least one batch, got none")
        self.batches = batches

    def __call__(self, estimator: ContinuousTransport | Pipeline, X: Any, y: Any) -> float:
        """Computes the score of an estimator.

        See the example of the class.

        Parameters
        ----------
        estimator : ContinuousTransportClassifier, ContinuousTransportRegressor or Pipeline
            The last step of a pipeline adapts; the steps before it are fitted on the source.
        X : array of shape (n, d)
            The source points.
        y : array of shape (n,)
            Their targets.

        Returns
        -------
        float

        """
        if isinstance(estimator, Pipeline):
            before = clone(estimator[:-1]).fit(X, y)
            return CircularScore([before.transform(batch) for batch in self.batches])(
                estimator[-1], before.transform(X), y
            )
        there = clone(estimator).fit(X, y)
        for batch in self.batches:
            there.partial_fit(batch)
        last = self.batches[-1]
        guessed = there.predict(last)
        if np.unique(guessed).size < np.unique(y).size and hasattr(there, "classes_"):
            return 0.0  # a class was lost
        back = clone(estimator).fit(last, guessed)
        for batch in reversed(self.batches[:-1]):
            back.partial_fit(batch)
        surprise = np.mean([np.mean(way.history_["energy"]) for way in (there, back.partial_fit(X))])
        return float(back.score(X, y) - TIE * surprise)
