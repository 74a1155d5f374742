"""Problems with one coupling: where one row or one column has all the mass, the plan is a ⊗ b."""

from __future__ import annotations

import numpy as np

from driftway.arrays.rowwise import is_remote
from driftway.problem.model import Model
from driftway.solvers.solver import State

BLOCK = 1024  # rows that are formed at the same time, where only one column counts


def has_one_coupling(model: Model) -> bool:
    """Whether a single row or a single column has mass; rows that live elsewhere are not looked at."""
    a, b = model.a, model.b
    if is_remote(a):
        return False
    return min(np.count_nonzero(a), np.count_nonzero(b)) == 1


def only_coupling(model: Model) -> State:
    """The state at a ⊗ b, whose objective is its own lower bound.

    Potentials solve f ⊕ g = C + ∇J(γ) + ε log γ where there is mass, with zero for the one row or column.
    """
    point = model.evaluate(model.independent.plan)
    tangent = model.tangent(point)
    rows, columns = np.flatnonzero(model.a), np.flatnonzero(model.b)
    single = rows.size == 1
    matrix = model.cost + tangent.gradient
    if single:
        slope = matrix.rows(slice(rows[0], rows[0] + 1))[0, columns]
    else:
        blocks = (matrix.rows(slice(low, low + BLOCK))[:, columns[0]] for low in range(0, model.a.size, BLOCK))
        slope = np.concatenate(list(blocks))[rows]
    masses = model.b[columns] if single else model.a[rows]
    f, g = np.full_like(model.a, -np.inf), np.full_like(model.b, -np.inf)
    f[rows], g[columns] = 0.0, 0.0
    (g if single else f)[columns if single else rows] = slope + model.epsilon * np.log(masses)
    return State(point, None, point.objective, (f, g), np.nan, 0, magnitude=abs(point.penalty))
