"""Common base of the classes for domain adaptation: costs and masses, maps of samples and of labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from driftway.arrays.interchange import Kind, kind_of, on_host
from driftway.arrays.parameters import Parameter, checked
from driftway.arrays.validation import finite_array, positive_integer
from driftway.arrays.validation import points as as_points
from driftway.geometry.costs import PointCloudCost
from driftway.pot.parameters import Estimation
from driftway.pot.supervision import forbid, normalized, one_hot

Double = npt.NDArray[np.float64]


class Transport(BaseEstimator):
    """Common base of the classes for domain adaptation: cost, masses, maps of samples and of labels.

    Attributes
    ----------
    coupling_, cost_ : array of shape (n_source, n_target)
        The plan, and the cost that it was computed for.
    mu_s, mu_t : array
        The masses of the samples.
    xs_, xt_ : array
        The samples of `fit`.
    norm_cost_ : float or None
        The divisor of the cost, if `norm` is "median" or "max".
    limit_max_ : float
        The cost of pairs with different known labels, if both sides had labels.
    log_ : dict
        The log of the solver if `log`, else empty.

    """

    _parameters: ClassVar[tuple[Parameter, ...]]
    metric: Any
    norm: str | None
    log: bool
    limit_max: float
    distribution_estimation: Estimation

    def fit(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None) -> Self:
        """Computes the coupling of source samples with target samples.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        Xs : array of shape (n_source, d)
            The source samples.
        ys : array of shape (n_source,), optional
            Their labels.
        Xt : array of shape (n_target, d)
            The target samples.
        yt : array of shape (n_target,), optional
            Their labels, −1 where one is unknown. With labels on both sides, pairs with different known labels cost at
            least `limit_max` times the largest cost.

        Returns
        -------
        self

        """
        checked(self)
        source, target = as_samples("Xs", Xs), as_samples("Xt", Xt)
        self._couple(Xs, Xt, source, source, target, ys, yt)
        return self

    def fit_transform(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None) -> Any:
        """Fits, and maps the source samples to the target.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        Xs, ys, Xt, yt : as for `fit`

        Returns
        -------
        array of shape (n_source, d)

        """
        return self.fit(Xs, ys, Xt, yt).transform(Xs, ys, Xt, yt)

    def transform(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128) -> Any:
        """Maps source samples to the target: those of `fit` by the coupling, new ones like their nearest neighbour.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        Xs : array of shape (k, d)
        ys, Xt, yt : ignored
        batch_size : int
            The number of new samples that are mapped at a time.

        Returns
        -------
        array of shape (k, d)

        """
        check_is_fitted(self, "coupling_")
        return self._moved("Xs", Xs, on_host(self.xs_), on_host(self.xt_), on_host(self.coupling_), batch_size)

    def inverse_transform(
        self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128
    ) -> Any:
        """Maps target samples to the source: those of `fit` by the coupling, new ones like their nearest neighbour.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        Xt : array of shape (k, d)
        Xs, ys, yt : ignored
        batch_size : int
            The number of new samples that are mapped at a time.

        Returns
        -------
        array of shape (k, d)

        """
        check_is_fitted(self, "coupling_")
        return self._moved("Xt", Xt, on_host(self.xt_), on_host(self.xs_), on_host(self.coupling_).T, batch_size)

    def transform_labels(self, ys: Any = None) -> Any:
        """Computes the share of each label in the mass that each target sample receives.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        ys : array of shape (n_source,)
            The labels of the source samples.

        Returns
        -------
        array of shape (n_target, number of labels)
            One column per label, sorted.

        """
        check_is_fitted(self, "coupling_")
        return self._kind.wrap(conditional(on_host(self.coupling_).T) @ one_hot("ys", ys, self.coupling_.shape[0]))

    def inverse_transform_labels(self, yt: Any = None) -> Any:
        """Computes the share of each label in the mass that each source sample sends.

        See the example of `SinkhornTransport`.

        Parameters
        ----------
        yt : array of shape (n_target,)
            The labels of the target samples.

        Returns
        -------
        array of shape (n_source, number of labels)
            One column per label, sorted.

        """
        check_is_fitted(self, "coupling_")
        return self._kind.wrap(conditional(on_host(self.coupling_)) @ one_hot("yt", yt, self.coupling_.shape[1]))

    @abstractmethod
    def _solved(self, cost: Any, ys: Any, positions: Double, target: Double) -> Any:
        """The coupling and its log."""

    def _couple(self, Xs: Any, Xt: Any, source: Double, positions: Double, target: Double, ys: Any, yt: Any) -> None:
        """Computes the coupling of source and target, with costs from the present positions of the source."""
        self._kind: Kind = kind_of(Xs, Xt)
        matrix = PointCloudCost(positions, target, self.metric).rows(slice(None))
        matrix, self.norm_cost_ = normalized(matrix.astype(np.float64), self.norm)
        if ys is not None and yt is not None:
            matrix, self.limit_max_ = forbid(matrix, on_host(ys), on_host(yt), self.limit_max)
        self.cost_ = self._kind.wrap(matrix)
        self.mu_s, self.mu_t = self.distribution_estimation(Xs), self.distribution_estimation(Xt)
        self.xs_, self.xt_ = Xs, Xt
        coupling, log = self._solved(matrix, ys, positions, target)
        self.coupling_ = self._kind.wrap(coupling)
        self.log_ = log if self.log else {}

    def _moved(self, name: str, samples: Any, own: Double, other: Double, coupling: Double, batch_size: int) -> Any:
        """The barycentric map of fitted samples; a new sample moves like its nearest fitted one (Ferradans 2014)."""
        new = as_points(name, samples, (None, own.shape[1]))
        mapped = conditional(coupling) @ other
        if np.array_equal(new, own):
            return kind_of(samples).wrap(mapped)
        moved = np.empty_like(new)
        size = positive_integer("batch_size", batch_size)
        for low in range(0, len(new), size):
            block = slice(low, low + size)
            nearest = PointCloudCost(new[block], own, "sqeuclidean").rows(slice(None)).argmin(axis=1)
            moved[block] = new[block] + mapped[nearest] - own[nearest]
        return kind_of(samples).wrap(moved)


def as_samples(name: str, value: Any) -> Double:
    """Samples as a float64 matrix."""
    if value is None:
        raise ValueError(f"{name} must be given")
    return finite_array(name, value, ndim=2).astype(np.float64)


def conditional(coupling: Double) -> Double:
    """Rows divided by their sums; rows without mass are zero."""
    sums = coupling.sum(axis=1, keepdims=True)
    return np.divide(coupling, sums, out=np.zeros_like(coupling), where=sums > 0)
