"""Replacements for POT's classes of domain adaptation, and one for streams."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from driftway.arrays.interchange import kind_of, on_host
from driftway.arrays.parameters import documented
from driftway.arrays.validation import points as as_points
from driftway.arrays.validation import positive_integer
from driftway.geometry.costs import PointCloudCost
from driftway.pot.entropic import sinkhorn
from driftway.pot.parameters import CONTINUOUS_MAP, GROUP_LASSO, SINKHORN, TIME_SMOOTH, Estimation, uniform
from driftway.pot.regularized import sinkhorn_l1l2_gl, time_smooth
from driftway.pot.supervision import normalized
from driftway.pot.transport import Transport, as_samples, conditional

Double = npt.NDArray[np.float64]


@documented
class SinkhornTransport(Transport):
    """Replacement for `ot.da.SinkhornTransport`: domain adaptation by entropic transport.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coupling_, cost_ : array of shape (n_source, n_target)
        The plan, and the cost that it was computed for.
    mu_s, mu_t : array
        The masses of the samples.
    xs_, xt_ : array
        The samples of `fit`.
    log_ : dict
        The log of the solver if `log`, else empty.

    Examples
    --------
    Samples are mapped both ways, and so are labels:

    >>> import numpy as np
    >>> from driftway.pot import SinkhornTransport
    >>> source = np.array([[0.0], [1.0], [5.0]])
    >>> target = source + 0.1
    >>> transport = SinkhornTransport(reg_e=0.01).fit(Xs=source, Xt=target)
    >>> transport.coupling_.argmax(axis=1).tolist()
    [0, 1, 2]
    >>> transport.transform(Xs=source).round(2).ravel().tolist()
    [0.1, 1.1, 5.1]
    >>> transport.inverse_transform(Xt=target).round(2).ravel().tolist()
    [0.0, 1.0, 5.0]
    >>> transport.transform_labels([1, 1, 0]).round(2).tolist()  # shares of the labels 0 and 1
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> transport.inverse_transform_labels([0, 1, 1]).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]

    A new sample is mapped by the potentials, or moves like its nearest neighbour:

    >>> nearest = SinkhornTransport(reg_e=0.01, out_of_sample_map="ferradans")
    >>> nearest.fit_transform(Xs=source, Xt=target).round(2).ravel().tolist()
    [0.1, 1.1, 5.1]
    >>> nearest.transform(Xs=[[4.0]]).round(2).tolist(), transport.transform(Xs=[[4.0]]).round(2).tolist()
    ([[4.1]], [[5.1]])

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
        CONTINUOUS_MAP.check(out_of_sample_map)  # POT checks it here, too
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
        """Maps source samples to the target, by the potentials or by `out_of_sample_map="ferradans"`.

        See the example of the class.

        Parameters
        ----------
        Xs : array of shape (k, d)
        ys, Xt, yt : ignored
        batch_size : int
            The number of samples that are mapped at a time.

        Returns
        -------
        array of shape (k, d)

        """
        check_is_fitted(self, "coupling_")
        if self.out_of_sample_map == "ferradans":
            return super().transform(Xs, ys, Xt, yt, batch_size)
        return self._continued("Xs", Xs, on_host(self.xt_), self._log_v, batch_size)

    def inverse_transform(
        self, Xs: Any = None, ys: Any = None, Xt: Any = None, yt: Any = None, batch_size: int = 128
    ) -> Any:
        """Maps target samples to the source, by the potentials or by `out_of_sample_map="ferradans"`.

        See the example of the class.

        Parameters
        ----------
        Xt : array of shape (k, d)
        Xs, ys, yt : ignored
        batch_size : int
            The number of samples that are mapped at a time.

        Returns
        -------
        array of shape (k, d)

        """
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
        """The map  x ↦ Σⱼ wⱼ yⱼ / Σⱼ wⱼ  with  wⱼ = exp(gⱼ − c(x, yⱼ)/ε)."""
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
    """Replacement for `ot.da.SinkhornL1l2Transport`: entropic transport with a group lasso over the source's labels.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coupling_, cost_ : array of shape (n_source, n_target)
        The plan, and the cost that it was computed for.
    mu_s, mu_t : array
        The masses of the samples.
    xs_, xt_ : array
        The samples of `fit`.
    log_ : dict
        The log of the solver if `log`, else empty.

    Examples
    --------
    The labels of the source are transferred to the target:

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
            raise ValueError("ys must be given: the group lasso needs the labels of the source")
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
    """Entropic transport along a stream of batches, with the time regulariser of the paper; POT has no such class.

    `fit` couples the source with the first batch, and `partial_fit` with the next one. There the cost is taken from the
    last images of the source, and the regulariser keeps the new images near them. `transform` always maps the source
    of `fit` to the latest batch.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    mapped_ : array of shape (n_source, d)
        The images of the source in the latest batch.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.pot import TimeSmoothTransport
    >>> rng = np.random.default_rng(0)
    >>> source, drifting = rng.normal(size=(30, 2)), [rng.normal(size=(20, 2)) + shift for shift in (1.0, 2.0)]
    >>> stream = TimeSmoothTransport(reg_e=0.1).fit(Xs=source, Xt=drifting[0]).partial_fit(Xt=drifting[1])
    >>> bool(abs(stream.transform(source).mean() - drifting[1].mean()) < 1e-6)
    True
    >>> bool((stream.mapped_ == stream.transform(source)).all())
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
        """Couples the source with the first batch; the regulariser keeps the images near the source.

        See the example of the class.

        Parameters
        ----------
        Xs, ys, Xt, yt : as for `SinkhornTransport.fit`

        Returns
        -------
        self

        """
        super().fit(Xs, ys, Xt, yt)
        self._ys = ys
        return self

    def partial_fit(self, Xt: Any = None, yt: Any = None) -> Self:
        """Couples the last images of the source with the next batch.

        See the example of the class.

        Parameters
        ----------
        Xt : array of shape (n_target, d)
            The next batch.
        yt : array of shape (n_target,), optional
            Its labels, −1 where one is unknown.

        Returns
        -------
        self

        """
        check_is_fitted(self, "coupling_")
        source = as_samples("Xs", self.xs_)
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
        self.mapped_ = self._kind.wrap(conditional(coupling) @ target)
        return coupling, log
