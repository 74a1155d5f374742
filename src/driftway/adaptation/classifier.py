"""The classifier for drifting data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation.estimator import ContinuousTransport
from driftway.adaptation.parameters import CLASSIFIER
from driftway.adaptation.resolution import hypotheses_of
from driftway.adaptation.source.automatic import AutomaticClassifier
from driftway.arrays.parameters import documented
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]

# That vote by their distance where the transported source answers beside other hypotheses.
NEIGHBOURS = 5


@documented
class ContinuousTransportClassifier(ClassifierMixin, ContinuousTransport):
    """A classifier for drifting data: `fit` it on a labelled source, then `partial_fit` it on unlabelled batches.

    The model is that a batch has the classes of the source in other proportions, and with features that have moved.
    Several hypotheses about the movement are fitted to it: nothing moved; sensors aged (a gain and an offset per
    feature); the proportions changed as well; or the source moved by optimal transport. Predictions are averages over
    the hypotheses, weighted by how well each has explained the batches (docs/adaptation.md). `history_` has the belief
    in them and warnings per step, and `explain()` says what moved. The method of the paper is::

        ContinuousTransportClassifier(
            metric="euclidean", epsilon=0.4, relative_epsilon=False, scale=None, time_weight=0.3,
            map="barycentric", motion=None, labels="classifier", stay=False,
        )

    Parameters
    ----------
    {parameters}

    Notes
    -----
    Features are numbers or texts. A category becomes a column of 0 and 1, and so do columns of a data frame whose type
    is categorical; missing numbers are replaced by medians (docs/adaptation.md). A feature with at most two values on
    the source counts as a code: it has no gain and offset as long as batches have no other value in it. `cost` to
    `motion`, `labels` to `scale`, `tol`, `solver_iterations` and `engine` are parameters of transport.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The class labels.
    batch_proba_ : array of shape (m, K)
        The probabilities of the classes for the points of the last batch; if the transported source predicts, the
        shares of the classes in the mass that every point received.
    estimator_ : estimator
        The fitted estimator that predicts: that of the source, or one trained on the transported source.
    images_, image_targets_ : array of shape (n, D), (n,)
        The present positions of the source points, and their labels; D = d for numbers, and a category has a column.
    columns_ : TableColumns
        What the columns of the source are: numbers or categories, and where values are missing.
    history_ : History
        One record per step, of the last 1,000 steps.
    n_steps_, n_seen_ : int
        The number of steps, and of batches with those that were skipped.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    The classes rotate until they have changed sides, without any label:

    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)) + [[-2, 0]], np.zeros(100, int)
    >>> X[50:], y[50:] = X[50:] + [4, 0], 1
    >>> model = ContinuousTransportClassifier().fit(X, y)
    >>> for angle in np.linspace(0.3, 3.0, 10):
    ...     turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    ...     model = model.partial_fit(X @ turn)
    >>> bool(model.score(X @ turn, y) > 0.95)
    True

    All methods, on a stream whose second feature drifts:

    >>> y = np.repeat(["low", "high"], 100)
    >>> X = rng.normal(size=(200, 2)) + np.where(y == "high", 5, 0)[:, None]
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y)
    >>> model.classes_.tolist(), model.n_steps_, model.explain()
    (['high', 'low'], 0, 'no batch has come since the source')
    >>> for shift in (1.0, 2.0, 3.0):
    ...     now = X + [0.0, shift]
    ...     model = model.partial_fit(now)
    >>> model.n_steps_, model.explain()
    (3, 'since the source, feature 1 rose by 1.0 standard deviations')
    >>> model.predict([[0.0, 3.0], [5.0, np.nan]]).tolist()
    ['low', 'high']
    >>> model.predict_proba(now).shape, model.batch_proba_.shape
    ((200, 2), (200, 2))
    >>> bool(abs(model.images_ - now).mean() < 0.3), bool((model.image_targets_ == y).all())
    (True, True)
    >>> bool(abs(model.transform(X) - now).mean() < 0.3), bool(abs(model.inverse_transform(now) - X).mean() < 0.3)
    (True, True)

    The state can be saved. `load` reads parameters and state from the file, `restore` the state only:

    >>> import tempfile
    >>> from pathlib import Path
    >>> lenient = ContinuousTransportClassifier(estimator=None, on_bad_batch="skip")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.npz")
    ...     same = ContinuousTransportClassifier.load(Path(folder) / "model.npz")
    ...     lenient = lenient.restore(Path(folder) / "model.npz")
    >>> same.on_bad_batch, lenient.on_bad_batch, lenient.n_steps_
    ('raise', 'skip', 3)
    >>> bool((same.predict(now) == model.predict(now)).all())
    True

    """

    _parameters = CLASSIFIER
    _groups_matter = True

    def predict_proba(self, X: Any) -> Double:
        """Predicts the probabilities of the classes for present points.

        They are averages over the hypotheses about the drift, weighted by the belief in each.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Missing numbers are replaced by the present median of the feature.

        Returns
        -------
        array of shape (m, K)
            One column per class, in the order of `classes_`.

        """
        check_is_fitted(self)
        if self._tracker.panels:
            return self._told(X)
        with single_blas():
            found: Double = self.estimator_.predict_proba(self._scaling(self._complete(X)))
        proba = np.zeros((len(found), self.classes_.size))
        proba[:, self.estimator_.classes_.astype(np.intp)] = found
        return proba

    @property
    def batch_proba_(self) -> Double:
        """The probabilities of the classes for the points of the last batch (m×K).

        If the transported source answers, they are the shares of the classes in the mass that every point received from
        the plan. They exist after the first `partial_fit`.

        See the example of the class.
        """
        check_is_fitted(self)
        if not len(self.history_):
            raise AttributeError("batch_proba_ exists after the first partial_fit")
        return self._received

    @property
    def _classes(self) -> int | None:  # type: ignore[override]
        return int(self.classes_.size)

    def _encode(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        check_classification_targets(y)
        encoder = LabelEncoder().fit(y)
        self.classes_ = encoder.classes_
        groups = encoder.transform(y).astype(np.intp)
        return groups, groups

    def _decode(self, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.classes_[predicted.astype(np.intp)]

    def _chosen(self, told: Double) -> npt.NDArray[Any]:
        return told.argmax(axis=1)

    def _default_estimator(self) -> Any:
        return KNeighborsClassifier(1)

    def _carried_estimator(self, size: int) -> Any:
        # As in the paper it is one neighbour where transport is alone. Images are a little off, which more even out.
        if not isinstance(self.estimator, str) or "sensors" not in hypotheses_of(self):
            return self._own_estimator()
        return KNeighborsClassifier(min(NEIGHBOURS, size), weights="distance")

    def _automatic_estimator(self) -> Any:
        return AutomaticClassifier()
