"""Smoothness in time in an optimal-transport metric: the mapped cloud as a whole should move little."""

from __future__ import annotations

import copy
import warnings
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from driftway.arrays.rowwise import is_remote
from driftway.arrays.validation import flag, points, real_number, weights
from driftway.engines.engine import Engine, Request
from driftway.engines.threads.engine import Threads
from driftway.geometry.costs import PointCloudCost
from driftway.geometry.matrices import Factored
from driftway.plan.plan import Plan
from driftway.plan.sinkhorn import balance
from driftway.regularizers.moment_regularizer import MomentRegularizer
from driftway.regularizers.time_smoothness import check_fit, check_masses, radius

Double = npt.NDArray[np.float64]


class WassersteinTime(MomentRegularizer):
    """Smoothness in time of the cloud as a whole: the mapped source should be near the previous cloud.

    J(γ) = weight · S_δ(T(X), Z), the Sinkhorn divergence between the mapped cloud T(X) and the previous cloud Z. It is
    the metric that the paper names as future work. Unlike `TimeSmoothness` it compares clouds, not points one by one:
    the mapped points may change places at no cost. With squared Euclidean cost,

        S_δ(T, Z) = W_δ(T, Z) − ½ W_δ(T, T) − ½ W_δ(Z, Z),   W_δ(T, Z) = min over π of ⟨π, D⟩ + δ KL(π | a ⊗ a'),

    which is zero at T = Z (Feydy et al. 2019). It is not convex in the plan, so a solve ends at a stationary
    point and reports no lower bound.

    Parameters
    ----------
    Y : array (m, d)
        The target points.
    previous : array (k, d)
        The previous cloud Z; k may differ from the number of source points.
    weight : float
        A non-negative multiple.
    blur : float, optional
        δ in units of squared distance; by default a twentieth of the mean squared distance within `previous`.
    debias : bool
        Whether to subtract the self-terms. Without them, S_δ = W_δ, which draws the cloud together, but is
        smooth relative to the entropy with a known constant.
    a : array (n,), optional
        Row masses, for use outside a problem; a problem uses its own.
    previous_masses : array (k,), optional
        Masses of the previous cloud; uniform by default. They are scaled to the total of `a`.

    Examples
    --------
    Points that change places cost nothing here, but do in `TimeSmoothness`:

    >>> import numpy as np
    >>> from driftway import TimeSmoothness, WassersteinTime
    >>> Y = np.array([[0.0], [1.0]])
    >>> stay, swap = np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> clouds, points = WassersteinTime(Y, previous=Y), TimeSmoothness(Y, previous=Y)
    >>> bool(abs(clouds.value(stay)) < 1e-9), bool(abs(clouds.value(swap)) < 1e-9)
    (True, True)
    >>> points.value(stay), points.value(swap)
    (0.0, 1.0)

    """

    minimum = 0.0

    def __init__(
        self,
        Y: npt.ArrayLike,
        previous: npt.ArrayLike,
        weight: float = 1.0,
        blur: float | None = None,
        debias: bool = True,
        a: npt.ArrayLike | None = None,
        previous_masses: npt.ArrayLike | None = None,
    ) -> None:
        self.Y = points("Y", Y)
        self.previous = points("previous", previous, (None, self.Y.shape[1]))
        self.weight = real_number("weight", weight, minimum=0.0)
        if blur is None:
            blur = 0.1 * float(self.previous.var(axis=0).sum()) or 1.0
        self.blur = real_number("blur", blur, minimum=0.0, strict=True)
        self.debias = flag("debias", debias)
        self._own_masses = a is not None
        self.a = None if a is None else weights("a", a, None)
        masses = weights("previous_masses", previous_masses, len(self.previous))
        self.previous_masses = masses if self.a is None else masses * (self.a.sum() / masses.sum())
        # The last divergence and its potentials, where the next one starts; the numbers do not depend on them.
        self._last: tuple[Double, _Transport] | None = None
        self._warm: tuple[Double | None, Double | None] = (None, None)
        self._engine: Engine = Threads()  # outside of a solve
        self._constant = 0.0
        if self.debias:
            self._constant = (
                0.5
                * _transport(
                    self._engine, self.previous, self.previous_masses, self.previous, self.previous_masses, self.blur
                ).value
            )

    def __repr__(self) -> str:
        return f"WassersteinTime(weight={self.weight:g}, blur={self.blur:g}, debias={self.debias})"

    def on(self, a: Double, b: Double) -> Self:
        if is_remote(a):
            raise TypeError(
                "WassersteinTime solves a transport problem with all images and needs the source as an array, but its "
                "rows are with the workers of a cluster; use PointCloudCost(X, Y), or TimeSmoothness"
            )
        if self._own_masses:
            assert self.a is not None
            check_fit("a", self.a, "Y", self.Y, a, b)
            check_masses("a", self.a, a)
            return self
        check_fit("a", a, "Y", self.Y, a, b)
        return type(self)(self.Y, self.previous, self.weight, self.blur, self.debias, a, self.previous_masses)

    def with_engine(self, engine: Engine) -> Self:
        other = copy.copy(self)
        other._engine = engine.holding(self.previous_masses)
        return other

    @property
    def right_basis(self) -> Double:
        return self.Y

    @property
    def left_basis(self) -> Double:
        return np.empty((0 if self.a is None else self.a.size, 0))

    @property
    def smoothness(self) -> float | None:
        """As for `TimeSmoothness`, since W_δ is Σ aᵢ‖T(xᵢ)‖² plus a concave function; unknown if debiased."""
        return None if self.debias else 2.0 * self.weight * radius(self.Y) ** 2

    def value(self, gamma: Double) -> float:
        return self._with_masses(gamma).phi(gamma @ self.Y, gamma.T[:, :0])

    def gradient(self, gamma: Double) -> Double:
        right, _ = self._with_masses(gamma).phi_gradient(gamma @ self.Y, gamma.T[:, :0])
        return right @ self.Y.T

    def phi(self, right: Double, left: Double) -> float:
        return self.weight * self._divergence(right).value

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        return self.weight * self._divergence(right).gradient, left

    def _with_masses(self, gamma: Double) -> Self:
        n, m = gamma.shape
        return self if self.a is not None else self.on(np.full(n, 1.0 / n), np.full(m, 1.0 / m))

    def _divergence(self, right: Double) -> _Transport:
        """S_δ and its gradient in γY; the last one is kept, since a value is asked for before its gradient."""
        last = self._last  # of this thread, whatever others put in its place meanwhile
        if last is None or not np.array_equal(last[0], right):
            assert self.a is not None
            inverse = np.divide(1.0, self.a, out=np.zeros_like(self.a), where=self.a > 0)[:, None]
            mapped = inverse * right
            if not np.isfinite(mapped).all():  # no fault of this J, whatever else is in the sum
                raise FloatingPointError("the images came out beyond the range of float64")
            c, engine = self.previous_masses, self._engine
            there = _transport(engine, mapped, self.a, self.previous, c, self.blur, self._warm[0])
            value, gradient, own_start = there.value, there.gradient, None
            if self.debias:
                own = _transport(engine, mapped, self.a, mapped, self.a, self.blur, self._warm[1])
                value, gradient = value - 0.5 * own.value - self._constant, gradient - own.gradient
                own_start = own.start
            self._warm = (there.start, own_start)
            self._last = last = (right.copy(), there._replace(value=value, gradient=inverse * gradient))
        return last[1]

    def partials(self, plan: Plan) -> dict[str, Double]:
        assert self.a is not None
        a, c, Z, blur, engine = self.a, self.previous_masses, self.previous, self.blur, plan.engine
        right = plan.sweep(right=self.Y).right
        pull = self.with_engine(engine)._divergence(right).gradient
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)[:, None]
        mapped = inverse * right
        there, back = _transport(engine, mapped, a, Z, c, blur), _transport(engine, Z, c, mapped, a, blur)
        # dW = ⟨f, da⟩ + ⟨g, dc⟩ − δ dm, where m is the mass of both, and c grows in proportion to m.
        masses = there.f + np.dot(there.g, c) / a.sum() - blur
        moved = back.gradient
        if self.debias:
            own = _transport(engine, mapped, a, mapped, a, blur)
            previous = _transport(engine, Z, c, Z, c, blur)
            masses -= 0.5 * (own.f + own.g - blur) + 0.5 * (np.dot(previous.f + previous.g, c) / a.sum() - blur)
            moved = moved - previous.gradient
        masses = np.where(a > 0, masses - (pull * mapped).sum(axis=1), 0.0)
        return {
            "Y": self.weight * plan.sweep(left=pull).left,
            "previous": self.weight * moved,
            "a": self.weight * masses,
        }


class _Transport(NamedTuple):
    """W_δ, its gradient in the positions X, its potentials in units of cost, and a warm start for the next solve."""

    value: float
    gradient: Double
    f: Double
    g: Double
    start: Double


def _transport(
    engine: Engine, X: Double, a: Double, Z: Double, c: Double, blur: float, start: Double | None = None
) -> _Transport:
    """W_δ(X, Z) and its gradient 2 (diag(a) X − π Z) in the positions X, by the envelope theorem."""
    cost = PointCloudCost(X, Z, "sqeuclidean")
    log = Factored.of_cost(cost, np.empty((len(Z), 0)), np.empty((len(X), 0))) / -blur
    log_a, log_c = (np.log(np.where(mass > 0, mass, 1.0)) for mass in (a, c))
    solved = balance(log, a, c, log_a, log_c if start is None else start, tol=1e-11, max_iter=10_000, engine=engine)
    if solved.error > max(1e-6, 100.0 * engine.precision):  # in float32 rounding leaves more
        from sklearn.exceptions import ConvergenceWarning  # here, for its import takes longer than most solves

        warnings.warn(
            f"WassersteinTime's own transport problem ended with marginal error {solved.error:.1e}; increase blur",
            ConvergenceWarning,
            stacklevel=2,
        )
    f, start = (np.where(mass > 0, potential, 0.0) for mass, potential in ((a, solved.f), (c, solved.g)))
    f, g = blur * (f - log_a), blur * (start - log_c)
    images = engine.sweep(Request(log, solved.f, solved.g, right=Z)).right
    return _Transport(float(np.dot(f, a) + np.dot(g, c)), 2.0 * (a[:, None] * X - images), f, g, start)
