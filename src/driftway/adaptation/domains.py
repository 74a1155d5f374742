"""Estimators for source and batches in one array, where `sample_domain` says which row belongs to which.

Labels follow the convention of domain adaptation libraries: a source has a label ≥ 0, a target a negative one. The
targets are a sequence of batches in the order of the magnitudes of their labels: −1, then −2, and so on.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing, check_consistent_length, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from driftway.adaptation.classifier import ContinuousTransportClassifier
from driftway.adaptation.estimator import ContinuousTransport
from driftway.adaptation.regressor import ContinuousTransportRegressor
from driftway.arrays.parameters import InstanceOf, Parameter, checked, documented

Labels = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]


def domain_labels(sample_domain: Any, rows: int) -> Labels:
    """One whole number per row; a single one is that of all rows."""
    found = np.asarray(sample_domain)
    if found.ndim == 0:
        found = np.full(rows, found)
    if found.shape != (rows,):
        raise ValueError(f"sample_domain must have one label for each of {rows} rows, got shape {found.shape}")
    if found.dtype.kind not in "iuf" or not np.array_equal(found, np.round(found)):
        raise ValueError(f"sample_domain must hold whole numbers, got dtype {found.dtype}")
    return found.astype(np.int64)


def in_order(labels: Labels) -> dict[int, Rows]:
    """The rows of every target domain, in the order of the magnitudes of the labels."""
    return {int(label): np.flatnonzero(labels == label) for label in np.unique(labels[labels < 0])[::-1]}


def adapt_domains(
    transport: ContinuousTransport, X: Any, labels: Labels, sample_weight: Any = None
) -> dict[int, ContinuousTransport]:
    """Adapts a fitted transport to the targets one after another; by label, what it was after each."""
    after = {}
    for label, rows in in_order(labels).items():
        weights = None if sample_weight is None else _safe_indexing(sample_weight, rows)
        if weights is not None and not np.any(weights):  # those of a source alone
            weights = None
        transport.partial_fit(_safe_indexing(X, rows), sample_weight=weights)
        after[label] = copy(transport)  # a step replaces what it changes, so that a shallow copy stays as it is
    return after


def _declared(kind: type[ContinuousTransport]) -> tuple[Parameter, ...]:
    return (
        Parameter(
            "transport",
            None,
            InstanceOf(kind),
            "The estimator that follows the drift, with its parameters.",
            "None is one with default parameters.",
        ),
    )


class DomainTransport(MetaEstimatorMixin, BaseEstimator):
    """Common base of `DomainTransportClassifier` and `DomainTransportRegressor`."""

    __metadata_request__fit = {"sample_domain": True}  # noqa: RUF012 - scikit-learn reads it so
    __metadata_request__predict = {"sample_domain": True}  # noqa: RUF012
    __metadata_request__score = {"sample_domain": True}  # noqa: RUF012

    def __init__(self, transport: Any = None) -> None:
        self.transport = transport

    def fit(self, X: Any, y: Any, *, sample_domain: Any = None, sample_weight: Any = None) -> Self:
        """Fits the source and adapts to the targets, one after another.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Source and targets.
        y : array of shape (n,)
            The targets of the source. Those of other rows are ignored; they may be −1 or NaN.
        sample_domain : array of shape (n,) or int, optional
            ≥ 0 for the source, < 0 for targets, which are adapted to in the order −1, −2, …; by default all rows are
            the source.
        sample_weight : array of shape (n,), optional
            The masses of the rows, non-negative; equal by default.

        Returns
        -------
        self

        """
        checked(self)
        transport = self._default() if self.transport is None else clone(self.transport)
        if sample_domain is None:
            self.source_ = transport.fit(X, y, sample_weight=sample_weight)
            self.transports_: dict[int, ContinuousTransport] = {}
            return self
        check_consistent_length(X, y, sample_weight)
        labels = domain_labels(sample_domain, _num_samples(X))
        source = np.flatnonzero(labels >= 0)
        if source.size == 0:
            raise ValueError("sample_domain must have a source, with labels ≥ 0, got only targets")
        weights = None if sample_weight is None else _safe_indexing(sample_weight, source)
        transport.fit(_safe_indexing(X, source), _source_targets(y, source), sample_weight=weights)
        fitted = copy(transport)
        self.transports_ = adapt_domains(transport, X, labels, sample_weight)
        self.source_ = fitted
        return self

    def predict(self, X: Any, *, sample_domain: Any = None) -> npt.NDArray[Any]:
        """Predicts the targets of rows, each by the estimator of its domain.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
        sample_domain : array of shape (m,) or int, optional
            The domains of the rows: ≥ 0 for the source, else a target of `fit`. By default all rows belong to the last
            target.

        Returns
        -------
        array of shape (m,)

        """
        return self._by_domain("predict", X, sample_domain)

    @property
    def transport_(self) -> ContinuousTransport:
        """The fitted estimator after the last target, or that of the source if there is no target.

        See the example of the class.
        """
        check_is_fitted(self)
        return list(self.transports_.values())[-1] if self.transports_ else self.source_

    @property
    def domains_(self) -> list[int]:
        """The labels of the targets, in the order in which they were adapted to.

        See the example of the class.
        """
        check_is_fitted(self)
        return list(self.transports_)

    @property
    def n_features_in_(self) -> int:
        """The number of features seen by `fit`.

        See the example of the class.
        """
        return self._of_source("n_features_in_")

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features seen by `fit`; they exist if all of them are strings.

        See the example of the class.
        """
        return self._of_source("feature_names_in_")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "source_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._default()).input_tags
        return tags

    # What the two estimators do differently.

    _parameters: ClassVar[tuple[Parameter, ...]]
    _kind: type[ContinuousTransport]

    def _default(self) -> ContinuousTransport:
        return self._kind()

    # Details.

    def _of_source(self, name: str) -> Any:
        if not hasattr(self, "source_"):
            raise AttributeError(f"{name} exists after fit")
        return getattr(self.source_, name)

    def _by_domain(self, method: str, X: Any, sample_domain: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        if sample_domain is None:
            return getattr(self.transport_, method)(X)
        labels = domain_labels(sample_domain, _num_samples(X))
        labels[labels >= 0] = 0
        unknown = sorted(set(labels.tolist()) - {0, *self.transports_}, reverse=True)
        if unknown:
            raise ValueError(f"sample_domain has targets {unknown} that were not in fit, which had {self.domains_}")
        parts = {label: np.flatnonzero(labels == label) for label in np.unique(labels).tolist()}
        if not parts:  # which says what is wrong with no rows at all
            return getattr(self.transport_, method)(X)
        found = {
            label: getattr(self.transports_.get(label, self.source_), method)(_safe_indexing(X, rows))
            for label, rows in parts.items()
        }
        first = next(iter(found.values()))
        merged = np.empty((len(labels), *first.shape[1:]), dtype=first.dtype)
        for label, rows in parts.items():
            merged[rows] = found[label]
        return merged


def _source_targets(y: Any, source: Rows) -> Any:
    """The targets of the source; objects, as a missing label made them, are numbers or strings again."""
    found = _safe_indexing(y, source)
    return np.array(found.tolist()) if getattr(found, "dtype", None) == np.dtype(object) else found


@documented
class DomainTransportClassifier(ClassifierMixin, DomainTransport):
    """A classifier for a labelled source and a sequence of unlabelled targets in one array.

    It is `ContinuousTransportClassifier` with the interface of pipelines, searches and domain adaptation libraries: one
    `fit(X, y, sample_domain=…)`, which requests `sample_domain` from scikit-learn's metadata routing.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (K,)
        The class labels.
    source_ : ContinuousTransportClassifier
        The estimator before any target.
    transports_ : dict
        By label of a target, the estimator as it was after adapting to that target.
    transport_ : ContinuousTransportClassifier
        The estimator after the last target.
    domains_ : list of int
        The labels of the targets, in order.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.adaptation import ContinuousTransportClassifier, DomainTransportClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 150)
    >>> domain = np.repeat([1, -1, -2, -3, -4], 60)                      # a source and four targets
    >>> time = np.where(domain < 0, -domain, 0)
    >>> X = rng.normal(size=(300, 2)) + np.outer(y, [5, 0]) + np.outer(time, [2, 1])    # which drift away
    >>> masked = np.where(domain < 0, -1, y)                             # targets have no labels
    >>> model = DomainTransportClassifier(ContinuousTransportClassifier(estimator=None))
    >>> model = model.fit(X, masked, sample_domain=domain)
    >>> bool(model.score(X, y, sample_domain=domain) > 0.95)
    True
    >>> model.classes_.tolist(), model.domains_, model.transport_.n_steps_
    ([0, 1], [-1, -2, -3, -4], 4)
    >>> model.predict([[5.0, 0.0], [8.0, 4.0]], sample_domain=[1, -4]).tolist()  # each as its domain is
    [1, 0]
    >>> model.predict_proba(X, sample_domain=domain).shape
    (300, 2)
    >>> model.n_features_in_, hasattr(model, "feature_names_in_")  # an array has no names
    (2, False)

    """

    __metadata_request__predict_proba = {"sample_domain": True}  # noqa: RUF012

    _parameters = _declared(ContinuousTransportClassifier)
    _kind = ContinuousTransportClassifier

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> npt.NDArray[np.float64]:
        """Predicts the probabilities of the classes, for each row by the estimator of its domain.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
        sample_domain : array of shape (m,), or a number, optional
            As for `predict`.

        Returns
        -------
        array of shape (m, K)
            One column per class, in the order of `classes_`.

        """
        return self._by_domain("predict_proba", X, sample_domain)

    def score(self, X: Any, y: Any, *, sample_domain: Any = None, sample_weight: Any = None) -> float:
        """The accuracy of the predictions, each by the estimator of its domain.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
        y : array of shape (m,)
            The true labels.
        sample_domain : array of shape (m,), or a number, optional
            As for `predict`.
        sample_weight : array of shape (m,), optional

        Returns
        -------
        float

        """
        return float(accuracy_score(y, self.predict(X, sample_domain=sample_domain), sample_weight=sample_weight))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The class labels of the source, sorted.

        See the example of the class.
        """
        return self._of_source("classes_")


@documented
class DomainTransportRegressor(RegressorMixin, DomainTransport):
    """A regressor for a labelled source and a sequence of unlabelled targets in one array.

    It is `ContinuousTransportRegressor` with the interface of pipelines, searches and domain adaptation libraries: one
    `fit(X, y, sample_domain=…)`, which requests `sample_domain` from scikit-learn's metadata routing.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    source_ : ContinuousTransportRegressor
        The estimator before any target.
    transports_ : dict
        By label of a target, the estimator as it was after adapting to that target.
    transport_ : ContinuousTransportRegressor
        The estimator after the last target.
    domains_ : list of int
        The labels of the targets, in order.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from driftway.adaptation import ContinuousTransportRegressor, DomainTransportRegressor
    >>> domain = np.repeat([1, -1, -2, -3], 100)  # a source and three targets
    >>> Z = np.random.default_rng(0).normal(size=(400, 2))
    >>> X, y = Z + np.outer(np.maximum(-domain, 0), [4, 0]), Z[:, 0] - Z[:, 1]  # whose first feature drifts
    >>> masked = np.where(domain < 0, np.nan, y)  # targets have no values
    >>> model = DomainTransportRegressor(ContinuousTransportRegressor(LinearRegression()))
    >>> bool(model.fit(X, masked, sample_domain=domain).score(X, y, sample_domain=domain) > 0.9)
    True

    """

    _parameters = _declared(ContinuousTransportRegressor)
    _kind = ContinuousTransportRegressor

    def score(self, X: Any, y: Any, *, sample_domain: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions, each by the estimator of its domain.

        See the example of the class.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
        y : array of shape (m,)
            The true values.
        sample_domain : array of shape (m,), or a number, optional
            As for `predict`.
        sample_weight : array of shape (m,), optional

        Returns
        -------
        float

        """
        return float(r2_score(y, self.predict(X, sample_domain=sample_domain), sample_weight=sample_weight))
