"""Reference solutions of small regularised optimal-transport problems, from CVXPY.

min_g <g, C> + epsilon * sum g (log g - 1) + J(g)  with  g >= 0, g 1 = a, g^T 1 = b.

CLARABEL solves the conic programme; damped Newton steps on the optimality conditions, which are
sufficient by convexity, then bring it to rounding error, through proximal steps if epsilon = 0.
"""

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cvxpy
import numpy as np
from numpy.typing import ArrayLike, NDArray

cp: Any = cvxpy  # CVXPY's atoms are invisible to type checkers
Expression = Any
Array = NDArray[np.float64]
Penalty = Callable[[Expression], Expression]
Penalties = Sequence[Penalty]
Derivatives = Callable[[Array], tuple[Array, Array]]

TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # CLARABEL's, the first that it reaches
PROXIMAL = 1e-3  # epsilon of a proximal step, relative to the largest cost
FLOOR = 1e-14  # entries of CLARABEL's plan below this are noise
NEWTON_STEPS = 100
LADDERS = ([1.0], [4.0**k for k in range(8, -1, -1)])  # Newton at once, or by decreasing epsilon
KKT_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Reference:
    """Optimal value, <g, C> + epsilon * sum g (log g - 1) + J(g), and plan g."""

    value: float
    plan: Array


@dataclass(frozen=True)
class GroupLasso:
    """Group-lasso penalty, J(g) = weight * sum_j sum_l ||g[I_l, j]||_2."""

    labels: NDArray[Any]
    weight: float

    def __call__(self, gamma: Expression) -> Expression:
        """Build the expression weight * sum_l sum_j ||g[I_l, j]||_2."""
        groups = [np.flatnonzero(self.labels == k) for k in np.unique(self.labels)]
        norms = [cp.norm(gamma[group, :], 2, axis=0) for group in groups]
        return self.weight * cp.sum(cp.hstack(norms))

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Give, at g = e^x, dJ/dg = w p and its x-Jacobian w (diag p - p (p^2)^T)."""
        same = self.labels[:, None] == self.labels
        p = np.exp(x - np.where(same[:, :, None], x, -np.inf).max(axis=1))
        p /= np.sqrt(same @ p**2)
        rank_one = np.einsum("ik,ij,kj,jl->ijkl", same, p, p**2, np.eye(x.shape[1]))
        jacobian = np.diag(p.ravel()) - rank_one.reshape(x.size, x.size)
        return self.weight * p.ravel(), self.weight * jacobian


@dataclass(frozen=True)
class LeastSquares:
    """Quadratic penalty, J(g) = weight * ||residual(g)||^2 with an affine residual."""

    residual: Callable[[Expression], Expression]
    weight: float

    def __call__(self, gamma: Expression) -> Expression:
        """Build the expression weight * ||residual(g)||^2."""
        return self.weight * cp.sum_squares(self.residual(gamma))


def group_lasso(labels: ArrayLike, weight: float) -> GroupLasso:
    """Sparsify by source class, J(g) = weight * sum_j sum_l ||g[I_l, j]||_2."""
    return GroupLasso(np.asarray(labels), weight)


def time_smoothness(
    Y: Array, previous: Array, weight: float, a: Array, normalization: Literal["mean", "sum", "coupling"]
) -> LeastSquares:
    """Follow an earlier map, J(g) = weight * sum_i w_i ||T_i - previous_i||^2."""
    kept = np.flatnonzero(a)
    w = {"mean": a, "sum": np.ones(len(a)), "coupling": a**2}[normalization][kept]

    def residual(gamma: Expression) -> Expression:
        return np.diag(np.sqrt(w)) @ (_barycentric(gamma, Y, a) - previous[kept])

    return LeastSquares(residual, weight)


def laplacian(
    similarity: Array,
    points: Array,
    weight: float,
    marginal: Array,
    side: Literal["source", "target"],
    reference: Array | None = None,
) -> LeastSquares:
    """Keep neighbours close, J(g) = weight * sum S_ij ||U_i - U_j||^2 / sum S_ij."""
    kept = np.flatnonzero(marginal)
    S = similarity[np.ix_(kept, kept)]
    i, j = np.nonzero(S)
    unit = np.eye(len(kept))
    differences = np.sqrt(S[i, j])[:, None] * (unit[i] - unit[j])
    factor = np.linalg.qr(differences, mode="r")  # same norm, far fewer rows
    origin = 0.0 if reference is None else reference[kept]

    def residual(gamma: Expression) -> Expression:
        T = _barycentric(gamma if side == "source" else gamma.T, points, marginal)
        return factor @ (T - origin)

    return LeastSquares(residual, weight / float(S.sum()))


def solve(cost: Array, a: Array, b: Array, epsilon: float, penalties: Penalties) -> Reference:
    """Minimise <g, C> + epsilon * sum g (log g - 1) + J(g) over couplings of a, b."""
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    into_rows, into_columns = np.eye(len(a))[:, rows], np.eye(len(b))[columns]
    C, mu, nu = cost[np.ix_(rows, columns)], a[rows], b[columns]

    gamma = cp.Variable(C.shape)
    full = into_rows @ gamma @ into_columns  # zero on rows and columns without mass
    terms = [penalty(full) for penalty in penalties]
    objective = cp.sum(cp.multiply(C, gamma)) + sum(terms)
    if epsilon > 0:
        objective -= epsilon * cp.sum(cp.entr(gamma) + gamma)
    marginals = [cp.sum(gamma, axis=1) == mu, cp.sum(gamma, axis=0) == nu]
    problem = cp.Problem(cp.Minimize(objective), [gamma >= 0, *marginals])
    g = _minimise(problem, gamma, accepted=1e-4 if epsilon > 0 else 1e-9)
    sums, dJ = np.concatenate([mu, nu]), _derivatives(gamma, full, rows, penalties)
    if epsilon > 0:
        g = _polish(g, C, sums, epsilon, dJ)
    else:  # proximal steps: min <g, C> + J(g) + delta * KL(g, previous g)
        delta = PROXIMAL * (float(np.abs(C).max()) or 1.0)
        for _ in range(3):
            g = _polish(g, C - delta * np.log(np.maximum(g, FLOOR)), sums, delta, dJ)

    gamma.value = g
    entropy = np.sum(g * (np.log(np.where(g > 0, g, 1.0)) - 1.0))
    value = np.sum(C * g) + epsilon * entropy + sum(term.value for term in terms)
    return Reference(float(value), into_rows @ g @ into_columns)


def _barycentric(gamma: Expression, points: Array, marginal: Array) -> Expression:
    """Map each row of positive mass to its mean image, T = diag(1/a) g Y."""
    kept = np.flatnonzero(marginal)
    return (np.eye(len(marginal))[kept] / marginal[kept, None]) @ gamma @ points


def _minimise(problem: Any, gamma: Any, accepted: float) -> Array:
    """Solve min f(g) by CLARABEL, to one of TOLERANCES or at least to `accepted`."""
    for tol in TOLERANCES:
        options = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}
        options |= {f"reduced_{name}": max(tol, accepted) for name in options}
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL, max_iter=500, **options)
            plan: Array = np.maximum(gamma.value, 0.0)
            return plan
    raise RuntimeError("CLARABEL did not converge")


def _derivatives(gamma: Any, full: Any, rows: Any, penalties: Penalties) -> Derivatives:
    """Give, at g = e^x, the gradient dJ/dg and its x-Jacobian d(dJ/dg)/dx."""
    h, H, lassos = np.zeros(gamma.size), np.zeros((gamma.size, gamma.size)), []
    gamma.value = np.zeros(gamma.shape)
    c_order = np.arange(gamma.size).reshape(gamma.shape, order="F").ravel()
    for penalty in penalties:
        if isinstance(penalty, GroupLasso):
            lassos.append(GroupLasso(penalty.labels[rows], penalty.weight))
        elif isinstance(penalty, LeastSquares):
            residual = penalty.residual(full)
            M = residual.grad[gamma].toarray()[c_order]
            h += 2 * penalty.weight * M @ residual.value.ravel(order="F")
            H += 2 * penalty.weight * M @ M.T
        else:
            raise TypeError(f"no derivatives known for {penalty}")

    def derivatives(x: Array) -> tuple[Array, Array]:
        g = np.exp(x)
        parts = [lasso.derivatives(x.reshape(gamma.shape)) for lasso in lassos]
        return sum((p[0] for p in parts), h + H @ g), sum((p[1] for p in parts), H * g)

    return derivatives


def _polish(g: Array, C: Array, sums: Array, epsilon: float, dJ: Derivatives) -> Array:
    """Solve C + epsilon x + dJ(g) = u 1^T + 1 v^T, g = e^x, g 1 = a, g^T 1 = b."""
    (n, m), size = C.shape, C.size
    A = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])

    def residual(x: Array, dual: Array, eps: float) -> Array:
        stationarity = C.ravel() + eps * x + dJ(x)[0] - A.T @ dual
        return np.concatenate([stationarity, A @ np.exp(x) / sums - 1.0])

    def newton(x: Array, dual: Array, eps: float) -> tuple[Array, Array, Array]:
        r = residual(x, dual, eps)
        for _ in range(NEWTON_STEPS):
            K = eps * np.eye(size) + dJ(x)[1]
            solved = np.linalg.solve(K, np.column_stack([A.T, r[:size]]))
            image = A * np.exp(x) / sums[:, None] @ solved
            d_dual = np.linalg.lstsq(image[:, :-1], image[:, -1] - r[size:], rcond=None)[0]
            d_x = solved[:, :-1] @ d_dual - solved[:, -1]
            for step in 0.5 ** np.arange(30) / max(1.0, d_x.max() / 9):
                trial = residual(x + step * d_x, dual + step * d_dual, eps)
                if np.linalg.norm(trial) < np.linalg.norm(r):
                    x, dual, r = x + step * d_x, dual + step * d_dual, trial
                    break
            else:  # no step improves: rounding error is reached
                break
        return x, dual, r

    for ladder in LADDERS:
        x, dual = np.log(np.maximum(g, FLOOR)).ravel(), np.zeros(n + m)
        for factor in ladder:
            x, dual, r = newton(x, dual, factor * epsilon)
        if np.abs(r).max() < KKT_TOLERANCE * (1.0 + np.abs(dual).max()):
            plan: Array = np.exp(x).reshape(n, m)
            return plan
    raise RuntimeError(f"Newton stopped at residual {np.abs(r).max():.1e}")
