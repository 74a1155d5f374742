"""Exact optimal transport: the linear programme, solved by libraries made for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

Double = npt.NDArray[np.float64]


def exact_transport(cost: Double, a: Double, b: Double) -> tuple[Double, Double, Double]:
    """A vertex minimising ⟨γ, cost⟩ over the couplings of a and b, and feasible potentials f ⊕ g ≤ cost.

    POT's network simplex if it is installed, which is the faster by far, else HiGHS through SciPy. Whatever the
    solver's accuracy, f is the c-transform of g, so ⟨f, a⟩ + ⟨g, b⟩ is a lower bound on the minimum.
    """
    rows, columns = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    inner = np.ascontiguousarray(cost[np.ix_(rows, columns)])
    vertex, potential = _solve(inner, a[rows], b[columns])
    plan = np.zeros_like(cost)
    plan[np.ix_(rows, columns)] = vertex
    g = np.zeros_like(b)
    g[columns] = potential
    f = np.zeros_like(a)
    f[rows] = (inner - potential).min(axis=1)
    return plan, f, g


def _solve(cost: Double, a: Double, b: Double) -> tuple[Double, Double]:
    # Both solvers compare costs and masses absolutely: they are given them at unit scale.
    low, scale, mass = cost.min(), max(float(np.ptp(cost)), 1e-300), a.sum()
    plan, potential = _at_unit_scale((cost - low) / scale, a / mass, b / b.sum())
    return mass * plan, scale * potential


def _at_unit_scale(cost: Double, a: Double, b: Double) -> tuple[Double, Double]:
    try:
        import ot
    except ImportError:
        return _highs(cost, a, b)
    plan, log = ot.emd(a, b, cost, numItermax=10_000_000, log=True)
    return _highs(cost, a, b) if log["warning"] is not None else (np.asarray(plan), np.asarray(log["v"]))


def _highs(cost: Double, a: Double, b: Double) -> tuple[Double, Double]:
    n, m = cost.shape
    row_sums = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    column_sums = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    constraints = sparse.vstack([row_sums, column_sums], format="csr")
    masses = np.concatenate([a, b])
    result = linprog(cost.ravel(), A_eq=constraints, b_eq=masses, method="highs")  # type: ignore[call-overload]
    if not result.success:
        raise RuntimeError(f"the exact transport problem was not solved: {result.message}")
    return np.maximum(result.x, 0.0).reshape(n, m), result.eqlin.marginals[n:]
