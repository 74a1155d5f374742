"""The transport plan as an operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.arrays.interchange import Kind
from driftway.arrays.validation import Array, real_array
from driftway.engines.engine import DOUBLE, Engine, Request, Sweep
from driftway.geometry.dense import LogOf
from driftway.geometry.matrices import Matrix
from driftway.plan.operands import as_columns, in_kind_of
from driftway.plan.rounding import rounded

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plan:
    """A transport plan γ as an operator: products, marginals and rows without the n×m matrix.

    γ = exp(log + f ⊕ g) + u vᵀ. `log` is dense or factored; the rank-one remainder u vᵀ is there only after `round`.
    Products, marginals and blocks come in the dtype of the problem. Solutions have one as `Solution.plan`.

    Attributes
    ----------
    log : the log-plan without the potentials, a `driftway.geometry.Matrix` (n×m)
    f, g : log-potentials (n), (m)
    a, b : the marginals that the plan is meant to have (n), (m)
    engine : what executes passes over the plan
    dtype : the dtype of results
    remainder : (u, v) or `None`
    values : the plan as an array, if the engine holds it
    kind : the library of `dense`, `rows` and `marginals`, if it is not NumPy

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import sinkhorn
    >>> plan = sinkhorn(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), a=[0.3, 0.3, 0.4], epsilon=0.5).plan
    >>> plan.shape, plan.T.shape
    ((3, 2), (2, 3))
    >>> plan.dense().round(3)
    array([[0.264, 0.036],
           [0.036, 0.264],
           [0.2  , 0.2  ]])
    >>> plan.rows(slice(0, 1)).round(3), plan.array().dtype  # `array` does not copy, and is of float64 always
    (array([[0.264, 0.036]]), dtype('float64'))

    Products are with the plan or its transpose, from both sides; one pass makes several of them:

    >>> (plan @ [1.0, 0.0]).round(3), (plan.T @ [1.0, 0.0, 0.0]).round(3), (np.array([1.0, 0.0, 0.0]) @ plan).round(3)
    (array([0.264, 0.036, 0.2  ]), array([0.264, 0.036]), array([0.264, 0.036]))
    >>> [sums.round(6).tolist() for sums in plan.marginals]
    [[0.3, 0.3, 0.4], [0.5, 0.5]]
    >>> sums = plan.sweep(right=np.array([[1.0], [0.0]]), entropy=True)
    >>> sums.right.round(3).ravel().tolist(), round(sums.entropy, 3)
    ([0.264, 0.036, 0.2], -2.585)

    The barycentric map sends each row to the mean of the targets under the plan:

    >>> plan.barycentric_map([[0.0], [1.0]]).round(3).ravel().tolist()
    [0.119, 0.881, 0.5]

    The same plan may be meant to have other marginals, onto which it can be rounded:

    >>> other = plan.on(np.array([0.4, 0.4, 0.2]), np.array([0.5, 0.5]))
    >>> bool(np.allclose(other.dense(), plan.dense())), other.round().marginals[0].round(6).tolist()
    (True, [0.4, 0.4, 0.2])

    """

    log: Matrix
    f: Double
    g: Double
    a: Double
    b: Double
    engine: Engine
    dtype: np.dtype[Any]
    remainder: tuple[Double, Double] | None = None
    values: Double | None = None
    """exp(log + f ⊕ g) + u vᵀ, where the engine holds it; only a faster way to the same numbers."""
    kind: Kind | None = None

    __array_ufunc__ = None  # an array on the left of @ leaves the product to __rmatmul__

    def __repr__(self) -> str:
        held = type(self.log).__name__.lower()
        return f"Plan(shape={self.shape}, {held}, dtype={self.dtype})"

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, m).

        See the example of the class.
        """
        return self.log.shape

    @property
    def T(self) -> TransposedPlan:  # noqa: N802 - NumPy's name
        """The transposed operator γᵀ.

        See the example of the class.
        """
        return TransposedPlan(self)

    def __matmul__(self, V: npt.ArrayLike) -> Array:
        """γ V for V of shape (m,) or (m, r)."""
        columns = as_columns("the right operand", V, self.shape[1])
        return in_kind_of(V, self.sweep(right=columns).right, self.dtype)

    def __rmatmul__(self, U: npt.ArrayLike) -> Array:
        """U γ for U of shape (n,) or (c, n)."""
        rows = real_array("the left operand", U)
        return (self.T @ rows.T).T

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self._dense().astype(self.dtype if dtype is None else dtype)

    @property
    def rounding(self) -> float:
        """The relative error of an entry of the plan that comes from rounding f and g to float64.

        Examples
        --------
        Potentials grow as ε falls, and so does the error:

        >>> import numpy as np
        >>> from driftway import sinkhorn
        >>> cost = np.array([[0.0, 1.0], [1.0, 3.0]])
        >>> coarse, fine = sinkhorn(cost, epsilon=1.0).plan.rounding, sinkhorn(cost, epsilon=0.01).plan.rounding
        >>> bool(1e-16 < coarse < fine < 1e-12)
        True

        """
        return DOUBLE * (1.0 + _magnitude(self.f) + _magnitude(self.g))

    @property
    def marginals(self) -> tuple[Array, Array]:
        """The row sums γ1 and the column sums γᵀ1.

        See the example of the class.
        """
        sums = self.sweep()
        return self._in_kind(sums.rows.astype(self.dtype)), self._in_kind(sums.columns.astype(self.dtype))

    def rows(self, block: slice) -> Array:
        """Some rows of the plan as an array; the others are not formed.

        See the example of the class.

        Parameters
        ----------
        block : slice
            Which rows.

        Returns
        -------
        array of shape (k, m)

        """
        if not isinstance(block, slice):
            raise TypeError(f"block must be a slice, got {type(block).__name__} {block!r}")
        return self._in_kind(self._rows(block).astype(self.dtype))

    def dense(self) -> Array:
        """The plan as an n×m array of the problem's dtype, which may be written to, in the library of its arrays.

        See the example of the class.
        """
        return self._in_kind(self._dense())

    def _dense(self) -> Array:
        gamma = self.array()
        return gamma.astype(self.dtype, copy=not gamma.flags.writeable)

    def barycentric_map(self, Y: npt.ArrayLike) -> Array:
        """The barycentric map T(xᵢ) = Σⱼ γᵢⱼ yⱼ / Σⱼ γᵢⱼ: for each row, the mean of the points Y under the plan.

        A row without mass is sent where its conditional distribution exp(log + g) sends it, or to the mean of
        Y under b where the plan has none.

        See the example of the class.

        Parameters
        ----------
        Y : array of shape (m,) or (m, d)
            The target points.

        Returns
        -------
        array of shape (n,) or (n, d)
            In the library of Y.

        """
        points = as_columns("Y", Y, self.shape[1])
        sums = self.sweep(right=points)
        empty = sums.rows <= 0
        images = sums.right / np.where(empty, 1.0, sums.rows)[:, None]
        if empty.any():
            request = Request(self.log, np.zeros_like(self.f), self.g, row_mass=np.ones_like(self.f), right=points)
            found = self.engine.sweep(request)
            known = np.isfinite(found.f)[:, None] & np.isfinite(found.right)
            conditional = np.where(known, found.right, self.b @ points / self.b.sum())
            images = np.where(empty[:, None], conditional, images)
        return in_kind_of(Y, images, self.dtype)

    def on(self, a: Double, b: Double) -> Plan:
        """The same plan with other marginals as those that it is meant to have.

        See the example of the class.

        Parameters
        ----------
        a, b : array (n,), (m,)
            The marginals that `round` gives it.

        Returns
        -------
        Plan

        """
        plain = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        if self.remainder is not None:  # a sum has no logarithm but that of its values
            return Plan(LogOf(self.array()), *plain, a, b, self.engine, self.dtype, None, self.array(), self.kind)
        return replace(self, a=a, b=b)

    def round(self, rows: Double | None = None, columns: Double | None = None) -> Plan:
        """Rounds the plan onto its exact marginals a and b (Altschuler, Weed & Rigollet 2017, Algorithm 2).

        Parameters
        ----------
        rows, columns : array (n,), (m,), optional
            The present row and column sums, if they are known already; this saves the pass that finds them.

        Returns
        -------
        Plan

        Examples
        --------
        A plan that is far from converged has wrong row or column sums. Rounded it has not:

        >>> import warnings
        >>> import numpy as np
        >>> from driftway import sinkhorn
        >>> cost = np.random.default_rng(0).random((20, 20))
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # it says that it has not converged
        ...     solution = sinkhorn(cost, epsilon=0.01, max_iter=2, scaling=None)
        >>> error = abs(solution.plan.marginals[1] - 1 / 20).sum()
        >>> rounded = abs(solution.plan.round().marginals[1] - 1 / 20).sum()
        >>> bool(error > 1e-3), bool(rounded < 1e-12)
        (True, True)

        """
        if self.remainder is not None:
            return self
        if rows is None or columns is None:
            rows, columns = self._marginals(self.f, self.g)
        # Lowered by a little more than needed, no sum ends above its mass, whatever exp rounds to.
        single = self.engine.precision if self.engine.precision > DOUBLE else 0.0
        margin = 1e-14 + 5.0 * self.rounding + single
        f, g, (u, v) = rounded(self._marginals, self.f, self.g, rows, columns, self.a, self.b, margin)
        values = None
        if self.values is not None:
            values = self.engine.scaled(self.values, *self._factors(f, g), u, v)
        remainder = (u, v) if v.any() else None
        return Plan(self.log, f, g, self.a, self.b, self.engine, self.dtype, remainder, values, self.kind)

    def _marginals(self, f: Double, g: Double) -> tuple[Double, Double]:
        """The row and column sums that the plan would have with other potentials."""
        if self.values is None:
            sums = self.engine.sweep(Request(self.log, f, g))
            return sums.rows, sums.columns
        s, t = self._factors(f, g)
        return s * (self.values @ t), t * (s @ self.values)

    def _factors(self, f: Double, g: Double) -> tuple[Double, Double]:
        """What other potentials multiply rows and columns by."""
        return np.exp(_difference(f, self.f)), np.exp(_difference(g, self.g))

    def sweep(
        self,
        right: Double | None = None,
        left: Double | None = None,
        inner: Matrix | None = None,
        entropy: bool = False,
    ) -> Sweep:
        """Computes marginals, products and sums of the plan in one pass, in float64.

        See the example of the class.

        Parameters
        ----------
        right : array (m, r), optional
            V of the product γV.
        left : array (n, c), optional
            U of the product γᵀU.
        inner : Matrix (n×m), optional
            M of the inner product ⟨γ, M⟩.
        entropy : bool
            Whether to compute H(γ) = Σ γ (log γ − 1).

        Returns
        -------
        Sweep
            `rows`, `columns`, and what was asked for in `right`, `left`, `inner` and `entropy`.

        """
        if self.values is None:
            return self.engine.sweep(
                Request(self.log, self.f, self.g, None, right, left, inner, self.remainder, entropy)
            )
        gamma = self.values
        n, m = gamma.shape
        other = None if inner is None else self.engine.assemble(inner)
        if entropy:
            rows, columns, product, spread = self.engine.sums(gamma, gamma if other is None else other)
        else:
            rows, columns = gamma @ np.ones(m), np.ones(n) @ gamma
            product, spread = 0.0 if other is None else float(np.vdot(gamma, other)), 0.0
        return Sweep(
            f=self.f,
            rows=rows,
            columns=columns,
            right=np.empty((n, 0)) if right is None else gamma @ right,
            left=np.empty((m, 0)) if left is None else gamma.T @ left,
            inner=product if other is not None else 0.0,
            entropy=spread,
        )

    def array(self) -> Double:
        """The plan as an n×m float64 array, which may be the one held and is then read-only.

        It does not copy where `dense` does.

        See the example of the class.
        """
        if self.values is not None:
            view = self.values.view()
            view.flags.writeable = False
            return view
        if self.log.exponential is not None:
            return np.vstack([self._rows(slice(low, low + 4096)) for low in range(0, self.shape[0], 4096)])
        gamma = self.engine.exponential(self.log, self.f, self.g)
        if self.remainder is not None:
            gamma += np.multiply.outer(*self.remainder)
        return gamma

    def _rows(self, block: slice) -> Double:
        if self.values is not None:
            return self.values[block]
        with np.errstate(under="ignore"):
            gamma: Double = np.exp(self.log.rows(block) + self.g + self.f[block, None])
        if self.remainder is not None:
            gamma += np.multiply.outer(self.remainder[0][block], self.remainder[1])
        return gamma

    def _in_kind(self, array: Array) -> Any:
        """A result in the library that the problem's arrays came from."""
        return array if self.kind is None else self.kind.wrap(array)


@dataclass(frozen=True, eq=False)
class TransposedPlan:
    """The operator γᵀ."""

    T: Plan

    @property
    def shape(self) -> tuple[int, int]:
        return self.T.shape[1], self.T.shape[0]

    def __matmul__(self, U: npt.ArrayLike) -> Array:
        """γᵀ U for U of shape (n,) or (n, c)."""
        columns = as_columns("the right operand", U, self.T.shape[0])
        return in_kind_of(U, self.T.sweep(left=columns).left, self.T.dtype)

    def dense(self) -> Array:
        """The transposed plan as an m×n array."""
        return self.T.dense().T


def _magnitude(potential: Double) -> float:
    """The largest finite magnitude."""
    return float(np.abs(potential[np.isfinite(potential)]).max(initial=0.0))


def _difference(new: Double, old: Double) -> Double:
    """new − old; zero where old is −∞, whose row or column is zero already."""
    return np.subtract(new, old, out=np.zeros_like(new), where=np.isfinite(old))
