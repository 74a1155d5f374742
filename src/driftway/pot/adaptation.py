"""Domain adaptation as POT's classes do it: fit, transform, inverse_transform, transform_labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from driftway.arrays.interchange import Kind, kind_of, on_host
from driftway.arrays.parameters import Parameter, checked, documented
from driftway.arrays.validation import finite_array, positive_integer
from driftway.arrays.validation import points as as_points
from driftway.geometry.costs import PointCloudCost
from driftway.pot.entropic import sinkhorn
from driftway.pot.parameters import CONTINUOUS_MAP, GROUP_LASSO, SINKHORN, TIME_SMOOTH, Estimation, uniform
from driftway.pot.regularized import sinkhorn_l1l2_gl, time_smooth
from driftway.pot.supervision import forbid, normalized, one_hot

Double = npt.NDArray[np.float64]


class Transport(BaseEstimator):
    """What the classes have in common: cost, masses, the maps of both sides and of labels.

    Attributes
    ----------
    coupling_, cost_ : array (n_source, n_target)
    mu_s, mu_t : masses
    xs_, xt_ : the samples of `fit`
    norm_cost_ : what the cost was divided by, if `norm` is "median" or "max"
    limit_max_ : the cost of pairs whose labels contradict each other, if both sides had labels
    log_ : what the solver reported if `log`, else empty

    """

    _parameters: ClassVar[tuple[Parameter, ...]]
    metric: Any
    norm: str | None
    log: bool
    limit_max: float
    distribution_estimation: Estimation

    def fit(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None) -> Self:
        """Finds the coupling of the source samples Xs with the target samples Xt.

        Parameters
        ----------
        Xs : array (n_source, d)
        ys : array (n_source,), optional
        Xt : array (n_target, d)
        yt : array (n_target,), optional
            With labels on both sides (−1 is "unknown") pairs whose labels contradict each other cost at least
            `limit_max` times the largest cost.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> SinkhornTransport(reg_e=0.1).fit(Xs=X, Xt=X + 0.1).coupling_.argmax(axis=1).tolist()
        [0, 1, 2]

        """
        checked(self)
        source, target = _samples("Xs", Xs), _samples("Xt", Xt)
        self._couple(Xs, Xt, source, source, target, ys, yt)
        return self

    def fit_transform(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None) -> Any:
        """Fits, and maps Xs to the target.

        Parameters
        ----------
        Xs, ys, Xt, yt : as for `fit`

        Returns
        -------
        array (n_source, d)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> SinkhornTransport(reg_e=0.01).fit_transform(Xs=X, Xt=X + 0.1).round(2).tolist()
        [[0.1], [1.1], [5.1]]

        """
        return self.fit(Xs, ys, Xt, yt).transform(Xs, ys, Xt, yt)

    def transform(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128) -> Any:
        """Maps source samples to the target: those of `fit` by the coupling, new ones as their nearest neighbour.

        Parameters
        ----------
        Xs : array (k, d)
        ys, Xt, yt : ignored
        batch_size : int
            New samples that are mapped at a time.

        Returns
        -------
        array (k, d)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> transport = SinkhornTransport(reg_e=0.01, out_of_sample_map="ferradans").fit(Xs=X, Xt=X + 0.1)
        >>> transport.transform(Xs=np.array([[4.0]])).round(2).tolist()
        [[4.1]]

        """
        check_is_fitted(self, "coupling_")
        return self._moved("Xs", Xs, on_host(self.xs_), on_host(self.xt_), on_host(self.coupling_), batch_size)

    def inverse_transform(
        self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128
    ) -> Any:
        """Maps target samples to the source, as `transform` does the other way.

        Parameters
        ----------
        Xt : array (k, d)
        Xs, ys, yt : ignored
        batch_size : int
            New samples that are mapped at a time.

        Returns
        -------
        array (k, d)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> transport = SinkhornTransport(reg_e=0.01, out_of_sample_map="ferradans").fit(Xs=X, Xt=X + 0.1)
        >>> transport.inverse_transform(Xt=np.array([[4.1]])).round(2).tolist()
        [[4.0]]

        """
        check_is_fitted(self, "coupling_")
        return self._moved("Xt", Xt, on_host(self.xt_), on_host(self.xs_), on_host(self.coupling_).T, batch_size)

    def transform_labels(self, ys: Any = None) -> Any:
        """The share of each label, in sorted order, in the mass that each target sample receives.

        Parameters
        ----------
        ys : array (n_source,)

        Returns
        -------
        array (n_target, number of labels)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> SinkhornTransport(reg_e=0.01).fit(Xs=X, Xt=X + 0.1).transform_labels([1, 1, 0]).round(2).tolist()
        [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]

        """
        check_is_fitted(self, "coupling_")
        return self._kind.wrap(_conditional(on_host(self.coupling_).T) @ one_hot("ys", ys, self.coupling_.shape[0]))

    def inverse_transform_labels(self, yt: Any = None) -> Any:
        """The share of each label, in sorted order, in the mass that each source sample sends.

        Parameters
        ----------
        yt : array (n_target,)

        Returns
        -------
        array (n_source, number of labels)

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import SinkhornTransport
        >>> X = np.array([[0.0], [1.0], [5.0]])
        >>> SinkhornTransport(reg_e=0.01).fit(Xs=X, Xt=X + 0.1).inverse_transform_labels([0, 1, 1]).round(2).tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]

        """
        check_is_fitted(self, "coupling_")
        return self._kind.wrap(_conditional(on_host(self.coupling_)) @ one_hot("yt", yt, self.coupling_.shape[1]))

    @abstractmethod
    def _solved(self, cost: Any, ys: Any, positions: Double, target: Double) -> Any:
        """The coupling and its log."""

    def _couple(self, Xs: Any, Xt: Any, source: Double, positions: Double, target: Double, ys: Any, yt: Any) -> None:
        """The coupling of source samples, whose costs are taken from where they are by now, with the target."""
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
        """The barycentric map of fitted samples; a new one moves as its nearest fitted neighbour (Ferradans 2014)."""
        new = as_points(name, samples, (None, own.shape[1]))
        mapped = _conditional(coupling) @ other
        if np.array_equal(new, own):
            return kind_of(samples).wrap(mapped)
        moved = np.empty_like(new)
        size = positive_integer("batch_size", batch_size)
        for low in range(0, len(new), size):
            block = slice(low, low + size)
            nearest = PointCloudCost(new[block], own, "sqeuclidean").rows(slice(None)).argmin(axis=1)
            moved[block] = new[block] + mapped[nearest] - own[nearest]
        return kind_of(samples).wrap(moved)


@documented
class SinkhornTransport(Transport):
    """`ot.da.SinkhornTransport`: domain adaptation by entropic transport.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coupling_, cost_ : array (n_source, n_target)
    mu_s, mu_t : masses
    xs_, xt_ : the samples of `fit`
    log_ : what the solver reported if `log`, else empty

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import SinkhornTransport
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 5.0
    >>> mapped = SinkhornTransport(reg_e=1.0).fit(Xs=source, Xt=target).transform(Xs=source)
    >>> bool(abs(mapped.mean(axis=0) - target.mean(axis=0)).max() < 1e-6)
    True

    """

    _parameters = SINKHORN

    def __init__(
        self,
        reg_e: float = 1.0,
        method: str = "sinkhorn_log",
        max_iter: int = 1000,
        tol: float = 10e-9,
        verbose: bool = False,
        log: bool = False,
        metric: Any = "sqeuclidean",
        norm: str | None = None,
        distribution_estimation: Estimation = uniform,
        out_of_sample_map: str = "continuous",
        limit_max: float = np.inf,
    ) -> None:
        CONTINUOUS_MAP.check(out_of_sample_map)  # as POT does, before any data is seen
        self.reg_e = reg_e
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.log = log
        self.metric = metric
        self.norm = norm
        self.distribution_estimation = distribution_estimation
        self.out_of_sample_map = out_of_sample_map
        self.limit_max = limit_max

    def transform(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128) -> Any:
        """Maps source samples to the target, by the potentials or as `out_of_sample_map` says."""
        check_is_fitted(self, "coupling_")
        if self.out_of_sample_map == "ferradans":
            return super().transform(Xs, ys, Xt, yt, batch_size)
        return self._continued("Xs", Xs, on_host(self.xt_), self._log_v, batch_size)

    def inverse_transform(
        self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128
    ) -> Any:
        """Maps target samples to the source, by the potentials or as `out_of_sample_map` says."""
        check_is_fitted(self, "coupling_")
        if self.out_of_sample_map == "ferradans":
            return super().inverse_transform(Xs, ys, Xt, yt, batch_size)
        return self._continued("Xt", Xt, on_host(self.xs_), self._log_u, batch_size)

    def _solved(self, cost: Any, ys: Any, positions: Double, target: Double) -> Any:
        masses = on_host(self.mu_s), on_host(self.mu_t)
        coupling, log = sinkhorn(
            *masses, cost, self.reg_e, self.method, self.max_iter, self.tol, self.verbose, log=True
        )
        self._log_u, self._log_v = log["log_u"], log["log_v"]
        return coupling, log

    def _continued(self, name: str, samples: Any, other: Double, potential: Double, batch_size: int) -> Any:
        """Σⱼ yⱼ exp(gⱼ − c(x, yⱼ)/ε) over the sum of the weights, for every sample x."""
        new = as_points(name, samples, (None, other.shape[1]))
        moved, size = np.empty_like(new), positive_integer("batch_size", batch_size)
        for low in range(0, len(new), size):
            block = slice(low, low + size)
            matrix = PointCloudCost(new[block], other, self.metric).rows(slice(None)).astype(np.float64)
            logs: Double = potential - normalized(matrix, self.norm, self.norm_cost_)[0] / self.reg_e
            moved[block] = np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) @ other
        return kind_of(samples).wrap(moved)


@documented
class SinkhornL1l2Transport(Transport):
    """`ot.da.SinkhornL1l2Transport`: domain adaptation by entropic transport with a group lasso over the source's
    labels.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coupling_, cost_ : array (n_source, n_target)
    mu_s, mu_t : masses
    xs_, xt_ : the samples of `fit`
    log_ : what the solver reported if `log`, else empty

    Examples
    --------
    The labels of the source are carried to the target:

    >>> import numpy as np
    >>> from driftway.pot import SinkhornL1l2Transport
    >>> ys = np.repeat([0, 1], 15)
    >>> source = np.random.default_rng(0).normal(size=(30, 2)) + 6.0 * ys[:, None]
    >>> transport = SinkhornL1l2Transport(reg_e=1.0, reg_cl=1.0, max_iter=100)
    >>> transport = transport.fit(Xs=source, ys=ys, Xt=source + 1.0)
    >>> bool((transport.transform_labels(ys).argmax(axis=1) == ys).all())
    True

    """

    _parameters = GROUP_LASSO

    def __init__(
        self,
        reg_e: float = 1.0,
        reg_cl: float = 0.1,
        max_iter: int = 10,
        max_inner_iter: int = 200,
        tol: float = 10e-9,
        verbose: bool = False,
        log: bool = False,
        metric: Any = "sqeuclidean",
        norm: str | None = None,
        distribution_estimation: Estimation = uniform,
        out_of_sample_map: str = "ferradans",
        limit_max: float = 10,
    ) -> None:
        self.reg_e = reg_e
        self.reg_cl = reg_cl
        self.max_iter = max_iter
        self.max_inner_iter = max_inner_iter
        self.tol = tol
        self.verbose = verbose
        self.log = log
        self.metric = metric
        self.norm = norm
        self.distribution_estimation = distribution_estimation
        self.out_of_sample_map = out_of_sample_map
        self.limit_max = limit_max

    def _solved(self, cost: Any, ys: Any, positions: Double, target: Double) -> Any:
        if ys is None:
            raise ValueError("ys must be given: the group lasso is over the labels of the source")
        return sinkhorn_l1l2_gl(
            on_host(self.mu_s),
            ys,
            on_host(self.mu_t),
            cost,
            self.reg_e,
            self.reg_cl,
            numItermax=self.max_iter,
            numInnerItermax=self.max_inner_iter,
            stopInnerThr=self.tol,
            verbose=self.verbose,
            log=True,
        )


@documented
class TimeSmoothTransport(Transport):
    """Entropic transport along a stream: the mapped source moves little from one target batch to the next.

    `fit` couples the source with the first batch, `partial_fit` with the next one, where costs are taken from where
    the source was mapped before and the map stays near it (the paper's time regulariser); `transform` always maps
    the source of `fit` to the latest batch.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    mapped_ : array (n_source, d)
        Where the source is by now.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import TimeSmoothTransport
    >>> rng = np.random.default_rng(0)
    >>> source, drifting = rng.normal(size=(30, 2)), [rng.normal(size=(20, 2)) + shift for shift in (1.0, 2.0)]
    >>> stream = TimeSmoothTransport(reg_e=0.1).fit(Xs=source, Xt=drifting[0]).partial_fit(Xt=drifting[1])
    >>> bool(abs(stream.transform(source).mean() - drifting[1].mean()) < 1e-6)
    True

    """

    _parameters = TIME_SMOOTH

    def __init__(
        self,
        reg_e: float = 1.0,
        reg_t: float = 1.0,
        reg_cl: float = 0.0,
        normalization: str = "mean",
        max_iter: int = 1000,
        tol: float = 1e-6,
        verbose: bool = False,
        log: bool = False,
        metric: Any = "sqeuclidean",
        norm: str | None = None,
        distribution_estimation: Estimation = uniform,
        out_of_sample_map: str = "ferradans",
        limit_max: float = 10,
    ) -> None:
        self.reg_e = reg_e
        self.reg_t = reg_t
        self.reg_cl = reg_cl
        self.normalization = normalization
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.log = log
        self.metric = metric
        self.norm = norm
        self.distribution_estimation = distribution_estimation
        self.out_of_sample_map = out_of_sample_map
        self.limit_max = limit_max

    def fit(self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None) -> Self:
        """Couples the source with the first batch; the map stays near where the source is."""
        super().fit(Xs, ys, Xt, yt)
        self._ys = ys
        return self

    def partial_fit(self, Xt: Any = None, yt: Any = None) -> Self:
        """Couples the source, where it was mapped before, with the next batch.

        Parameters
        ----------
        Xt : array (n_target, d)
            The next batch.
        yt : array (n_target,), optional
            Its labels, if they are known; −1 is "unknown".

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from driftway.pot import TimeSmoothTransport
        >>> X = np.random.default_rng(0).normal(size=(20, 2))
        >>> stream = TimeSmoothTransport(reg_e=0.1).fit(Xs=X, Xt=X + 1.0)
        >>> for shift in (2.0, 3.0):
        ...     stream = stream.partial_fit(Xt=X + shift)
        >>> bool(abs(stream.mapped_.mean(axis=0) - X.mean(axis=0) - 3.0).max() < 1e-6)
        True

        """
        check_is_fitted(self, "coupling_")
        source = _samples("Xs", self.xs_)
        target = as_points("Xt", Xt, (None, source.shape[1]))
        self._couple(self.xs_, Xt, source, on_host(self.mapped_), target, self._ys, yt)
        return self

    def _solved(self, cost: Any, ys: Any, positions: Double, target: Double) -> Any:
        coupling, log = time_smooth(
            on_host(self.mu_s),
            on_host(self.mu_t),
            cost,
            self.reg_e,
            (target, positions, self.reg_t, self.normalization),
            None if ys is None else on_host(ys),
            self.reg_cl,
            self.max_iter,
            self.tol,
            self.verbose,
        )
        self.mapped_ = self._kind.wrap(_conditional(coupling) @ target)
        return coupling, log


def _samples(name: str, value: Any) -> Double:
    if value is None:
        raise ValueError(f"{name} must be given")
    return finite_array(name, value, ndim=2).astype(np.float64)


def _conditional(coupling: Double) -> Double:
    """Rows divided by their sums; rows without mass are zero."""
    sums = coupling.sum(axis=1, keepdims=True)
    return np.divide(coupling, sums, out=np.zeros_like(coupling), where=sums > 0)
