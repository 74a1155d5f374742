"""Damped Newton steps for the column potential, on a stored kernel.

They take over where Sinkhorn's algorithm is slow.

With f eliminated the dual  D(g) = ⟨f(g), a⟩ + ⟨g, b⟩  is concave with gradient b − c and Hessian
−(diag(c) − γᵀ diag(a)⁻¹ γ), where c = γᵀ1. A step solves

    (diag(c) − γᵀ diag(a)⁻¹ γ + μ diag(c)) δ = b − c.

For large μ it is a short Sinkhorn step, for small μ a Newton step, and μ follows how well the last step was
predicted (Levenberg–Marquardt). The system has the size of the smaller side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from driftway.engines.engine import TINY, Kernel

Double = npt.NDArray[np.float64]

DAMPING = (1e-10, 1e-2, 1e8)  # smallest, first and largest μ
LONGEST_CHANGE = 50.0  # the largest change of a log-potential in one step
# A step is good if the error falls to this share, whatever the dual does; its rounding, relative to what it adds up.
CLEARLY_NEARER, DUAL_ROUNDING = 0.1, 1e-13


@dataclass(frozen=True, eq=False)
class Scaling:
    """log v, and all that follows from it when the rows of diag(u) K diag(v) are exact."""

    a: Double
    b: Double
    log_u: Double
    log_v: Double
    u: Double
    v: Double
    columns: Double
    error: float
    dual: float

    # What quasi-Newton ascent on the dual wants to know.
    @property
    def x(self) -> Double:
        return self.log_v

    @property
    def value(self) -> float:
        return self.dual

    @property
    def magnitude(self) -> float:
        return float(np.dot(np.abs(self.log_u), self.a) + np.dot(np.abs(self.log_v), self.b) + self.a.sum())

    @property
    def gradient(self) -> Double:
        return np.where(self.b > 0, self.b - self.columns, 0.0)

    def precondition(self, direction: Double) -> Double:
        return by_columns(direction, self.b, self.columns)

    @property
    def reach(self) -> float:
        """The largest magnitude of a log-scaling."""
        return float(max(np.abs(self.log_u).max(), np.abs(self.log_v).max()))

    @classmethod
    def of(cls, kernel: Kernel, a: Double, b: Double, log_v: Double) -> Scaling | None:
        """The scaling at log v, or `None` where it over- or underflows."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            v = np.exp(log_v)
            u, columns = kernel.scalings(v, a)
            log_u = np.log(u, out=np.zeros_like(a), where=a > 0)
            columns *= v
        if not (np.isfinite(log_u).all() and np.isfinite(columns).all() and (columns[b > 0] > 0).all()):
            return None
        error = float(np.abs(columns - b).sum() / b.sum())
        return cls(a, b, log_u, log_v, u, v, columns, error, float(np.dot(log_u, a) + np.dot(log_v, b)))


def by_columns(direction: Double, b: Double, columns: Double) -> Double:
    """A gradient in g divided by the column sums, Sinkhorn's own scaling; none of them is taken for much too small."""
    return direction / np.where(b > 0, np.maximum(columns, 1e-3 * b), 1.0)


def newton(
    kernel: Kernel, a: Double, b: Double, here: Scaling, *, tol: float, max_iter: int, reach: float
) -> tuple[Scaling, int]:
    """The scaling reached from another, and the steps taken.

    Stops at column error `tol`, after `max_iter` steps, when no step helps any more, or once a scaling leaves
    the range ±`reach`.
    """
    damping = DAMPING[1]
    for count in range(max_iter):
        if here.error <= tol or here.reach > reach:
            return here, count
        normal = _Normal(kernel, a, b, here)
        while (taken := _try(kernel, a, b, here, normal, damping)) is None:
            damping *= 8.0
            if damping > DAMPING[2]:
                return here, count
        here, gain = taken
        if gain > 0.5:
            damping = max(damping / 10.0, DAMPING[0])
    return here, max_iter


def _try(
    kernel: Kernel, a: Double, b: Double, here: Scaling, normal: _Normal, damping: float
) -> tuple[Scaling, float] | None:
    """The scaling after a step and the share of the promised rise of the dual that came true, or `None` if little."""
    delta = normal.solve(damping)
    if delta is None or np.abs(delta).max() > LONGEST_CHANGE:
        return None
    there = Scaling.of(kernel, a, b, here.log_v + delta)
    if there is None:
        return None
    predicted = normal.predicted(delta, damping)
    # Close to the optimum the rise is lost in rounding, the error is not.
    lost = predicted < DUAL_ROUNDING * here.magnitude
    if there.error < (1.0 if lost else CLEARLY_NEARER) * here.error:
        return there, 1.0
    gain = (there.dual - here.dual) / max(predicted, TINY)
    return (there, gain) if gain > 1e-3 else None


class _Normal:
    """The system of one step in the variables √c·δ:  ((1 + μ) I − BᵀB) y = r,  B = diag(a)^−½ γ diag(c)^−½."""

    def __init__(self, kernel: Kernel, a: Double, b: Double, at: Scaling) -> None:
        on = b > 0
        self.root = np.sqrt(np.where(on, at.columns, 1.0))
        self.residual = np.where(on, b - at.columns, 0.0)
        # Rows are exact, so diag(u) K diag(v) over √a is this:
        root_a = np.sqrt(a)
        over_rows = np.divide(at.u, root_a, out=np.zeros_like(a), where=a > 0)
        self.B, self.gram = kernel.normal(over_rows, np.where(on, at.v / self.root, 0.0))
        n, m = kernel.shape
        self.wide = n < m
        # B has the singular value 1 for (√a, √c), the free constant in g; the residual has no part in it.
        top = root_a if self.wide else np.where(on, self.root, 0.0)
        self.gram -= np.multiply.outer(top, top) / a.sum()

    def solve(self, damping: float) -> Double | None:
        """δ, or `None` if the system is not positive definite in floating point."""
        size = 1.0 + damping
        right = self.residual / self.root
        try:
            factor = cho_factor(size * np.eye(len(self.gram)) - self.gram, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        if not self.wide:
            y = cho_solve(factor, right, check_finite=False)
        else:  # (sI − BᵀB)⁻¹ = (I + Bᵀ (sI − BBᵀ)⁻¹ B) / s
            y = (right + self.B.T @ cho_solve(factor, self.B @ right, check_finite=False)) / size
        delta: Double = y / self.root
        return delta

    def predicted(self, delta: Double, damping: float) -> float:
        """The rise of the dual that the quadratic model promises for δ."""
        return 0.5 * float(np.dot(self.residual, delta) + damping * np.sum((self.root * delta) ** 2))
