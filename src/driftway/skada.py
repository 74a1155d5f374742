"""Adapter for skada: continuous adaptation in its pipelines. Needs the extra `driftway[skada]`.

Target domains are a sequence: they are adapted to in the order −1, −2, … of their labels. Importing this module imports
skada, which enables scikit-learn's metadata routing.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation.domains import Labels, adapt_domains, domain_labels, in_order
from driftway.adaptation.estimator import ContinuousTransport as Transport
from driftway.arrays.parameters import Flag, InstanceOf, Parameter, checked, documented

try:
    from skada import make_da_pipeline
    from skada.base import BaseTestTimeAdapter
    from skada.utils import check_X_domain, check_X_y_domain
except ImportError as error:
    raise ImportError("driftway.skada needs skada ≥ 0.6: pip install 'driftway[skada]'") from error

__all__ = ["ContinuousTransport", "ContinuousTransportAdapter"]

Double = npt.NDArray[np.float64]


PARAMETERS = (
    Parameter(
        "transport",
        None,
        InstanceOf(ContinuousTransportClassifier, ContinuousTransportRegressor),
        "The estimator that follows the drift, with its parameters.",
        'None is one with `hypotheses="transport"`: a classifier if the labels are classes, else a regressor.',
    ),
    Parameter(
        "auto_fit_new_domain",
        False,
        Flag(),
        "Whether `transform` adapts to new target domains instead of raising.",
    ),
)


@documented
class ContinuousTransportAdapter(BaseTestTimeAdapter):
    """An adapter of skada that maps target domains back onto the source, along the drift from domain to domain.

    The source is not changed, so that the estimator after the adapter is trained once and stays valid. A domain that
    appears after `fit` is adapted to by `fit_new_domain`, without labels and without training again.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    transport_ : ContinuousTransportClassifier or ContinuousTransportRegressor
        The fitted estimator after the last domain, with its `history_`.
    transports_ : dict
        By label of a target domain, the estimator as it was after adapting to that domain.
    n_features_in_ : int
        The number of features seen by `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skada import make_da_pipeline
    >>> from driftway.skada import ContinuousTransportAdapter
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 150)
    >>> domain = np.repeat([1, -2, -3, -4, -5], 60)
    >>> time = np.where(domain < 0, -domain - 1, 0)
    >>> X = rng.normal(size=(300, 2)) + np.outer(y, [5, 0]) + np.outer(time, [2, 1])
    >>> pipeline = make_da_pipeline(ContinuousTransportAdapter(), LogisticRegression())
    >>> masked = np.where(domain < 0, -1, y)
    >>> pipeline = pipeline.fit(X, masked, sample_domain=domain)
    >>> target = domain < 0
    >>> bool(pipeline.score(X[target], y[target], sample_domain=domain[target]) > 0.95)
    True

    A domain that comes later is adapted to without labels:

    >>> adapter = pipeline.named_steps["continuoustransportadapter"].base_estimator_
    >>> later = rng.normal(size=(60, 2)) + np.outer(y[:60], [5, 0]) + [12, 6]
    >>> adapter = adapter.fit_new_domain(later, sample_domain=-6)
    >>> list(adapter.transports_)
    [-2, -3, -4, -5, -6]
    >>> mapped = adapter.transform(later, sample_domain=np.full(60, -6))
    >>> bool(abs(mapped.mean(axis=0) - X[domain > 0].mean(axis=0)).max() < 0.5)
    True

    """

    _parameters = PARAMETERS

    def __init__(self, transport: Any = None, auto_fit_new_domain: bool = False) -> None:
        super().__init__(auto_fit_new_domain=auto_fit_new_domain)
        self.transport = transport

    def fit(self, X: Any, y: Any = None, *, sample_domain: Any = None, **params: Any) -> Self:
        """Fits the source and adapts to the target domains, in the order −1, −2, … of their labels.

        See the example of the class.

        Parameters
        ----------
        X : array of shape (n, d)
            Source and targets.
        y : array of shape (n,), optional
            Labels of the source; those of targets are ignored. Without labels all points are one class.
        sample_domain : array of shape (n,), optional
            ≥ 0 for sources, which are merged into one, < 0 for targets. Without it, rows whose label is masked (−1, or
            NaN for a regression) are the target, as everywhere in skada.
        **params : ignored

        Returns
        -------
        self

        """
        checked(self)
        if y is None:
            X, sample_domain = check_X_domain(X, sample_domain, allow_auto_sample_domain=False)
        else:
            X, y, sample_domain = check_X_y_domain(X, y, sample_domain)
        labels = domain_labels(sample_domain, len(X))
        source = labels >= 0
        if not source.any():
            raise ValueError("sample_domain must have a source, with labels ≥ 0, got only targets")
        known = np.zeros(int(source.sum())) if y is None else y[source]
        transport = _default(known, y is not None) if self.transport is None else clone(self.transport)
        transport.fit(X[source], known)
        self.n_features_in_ = X.shape[1]
        self.transport_, self.transports_ = transport, adapt_domains(transport, X, labels)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_domain: Any = None, **params: Any) -> Double:
        """Fits, and returns the source unchanged and the targets mapped back onto it.

        Parameters
        ----------
        X, y, sample_domain : as for `fit`
        **params : ignored

        Returns
        -------
        array of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.skada import ContinuousTransportAdapter
        >>> rng = np.random.default_rng(0)
        >>> domain, y = np.repeat([1, -1], 50), np.tile([0, 1], 50)
        >>> target = domain < 0
        >>> X = rng.normal(size=(100, 2)) + np.outer(y, [8.0, 0.0]) + np.outer(target, [0.0, 2.0])
        >>> mapped = ContinuousTransportAdapter().fit_transform(X, y, sample_domain=domain)
        >>> bool((mapped[~target] == X[~target]).all()), bool(abs(mapped[target, 1].mean()) < 0.5)
        (True, True)

        """
        if sample_domain is None and y is not None:
            X, y, sample_domain = check_X_y_domain(X, y, None)
        return self.fit(X, y, sample_domain=sample_domain).transform(X, sample_domain=sample_domain, allow_source=True)

    def transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, allow_source: bool = False, **params: Any
    ) -> Double:
        """Maps target rows back onto the source, each as its domain was.

        See the example of the class.

        Parameters
        ----------
        X : array of shape (m, d)
        y : ignored
        sample_domain : array of shape (m,), optional
            The domains of the rows. By default all belong to the last domain that was adapted to.
        allow_source : bool
            Whether rows may belong to the source; they are returned unchanged.
        **params : ignored

        Returns
        -------
        array of shape (m, d)

        """
        check_is_fitted(self)
        if sample_domain is None and self.transports_:
            sample_domain = next(reversed(self.transports_))
        X, sample_domain = check_X_domain(X, sample_domain, allow_source=allow_source)
        labels = domain_labels(sample_domain, len(X))
        self._adapt_to_new(X, labels)
        carried = X.astype(np.float64)
        for label, rows in in_order(labels).items():
            transport = self.transports_[label]
            if transport.n_steps_ and transport.history_[-1].answer == "adapted":  # else nothing has moved
                carried[rows] = transport.inverse_transform(X[rows])
        return carried

    def fit_new_domain(self, X: Any, y: Any = None, *, sample_domain: Any = None, **params: Any) -> Self:
        """Adapts to further target domains. Rows of a known domain are one more step of it.

        See the example of the class.

        Parameters
        ----------
        X : array of shape (m, d)
        y : ignored
        sample_domain : array of shape (m,) or int, optional
            The domains of the rows, all < 0; −1 by default.
        **params : ignored

        Returns
        -------
        self

        """
        check_is_fitted(self)
        X, sample_domain = check_X_domain(X, sample_domain, allow_source=False)
        transport = copy(self.transport_)  # so that an error leaves the adapter as it was
        after = adapt_domains(transport, X, domain_labels(sample_domain, len(X)))
        # The last key is the present domain, so known domains move to the end.
        known = {label: earlier for label, earlier in self.transports_.items() if label not in after}
        self.transport_, self.transports_ = transport, known | after
        return self

    def _adapt_to_new(self, X: Double, labels: Labels) -> None:
        new = [label for label in in_order(labels) if label not in self.transports_]
        if not new:
            return
        if not self.auto_fit_new_domain:
            raise ValueError(
                f"sample_domain has the new target domains {new} (known: {list(self.transports_)}); "
                "call fit_new_domain first, or set auto_fit_new_domain=True"
            )
        rows = np.isin(labels, new)
        self.fit_new_domain(X[rows], sample_domain=labels[rows])


def _default(known: npt.NDArray[Any], labelled: bool) -> Transport:
    classes = labelled and np.array_equal(known, np.round(known))
    kind = ContinuousTransportClassifier if classes else ContinuousTransportRegressor
    # Only transport maps rows back; the estimator of the pipeline predicts.
    return kind(None, hypotheses="transport")


def ContinuousTransport(  # noqa: N802 - skada names its pipelines so
    base_estimator: Any = None, transport: Any = None, auto_fit_new_domain: bool = False
) -> Any:
    """Makes a skada pipeline of `ContinuousTransportAdapter` and an estimator.

    Parameters
    ----------
    base_estimator : scikit-learn estimator, optional
        The estimator that is trained on the source; 1-nearest-neighbour by default, as in the paper.
    transport, auto_fit_new_domain
        As for `ContinuousTransportAdapter`.

    Returns
    -------
    scikit-learn Pipeline

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.skada import ContinuousTransport
    >>> rng = np.random.default_rng(0)
    >>> domain, y = np.repeat([1, -1], 100), np.tile([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + np.outer(y, [5, 0]) + np.outer(domain < 0, [1, 1])
    >>> pipeline = ContinuousTransport().fit(X, np.where(domain < 0, -1, y), sample_domain=domain)
    >>> target = domain < 0
    >>> bool(pipeline.score(X[target], y[target], sample_domain=domain[target]) > 0.95)
    True

    """
    adapter = ContinuousTransportAdapter(transport, auto_fit_new_domain=auto_fit_new_domain)
    return make_da_pipeline(adapter, KNeighborsClassifier(1) if base_estimator is None else base_estimator)
