"""Problems between annotated tables of cells (AnnData), and their plans written back into these."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from driftway.geometry.costs import PointCloudCost
from driftway.problem.problem import Problem
from driftway.problem.solution import Solution
from driftway.regularizers.regularizer import Regularizer

Double = npt.NDArray[np.float64]


class AnnotatedPair:
    """Two sets of cells, of two AnnData objects or of one whose annotation says which is which.

    `problem` states the transport from one to the other, and `write` puts what the solution says into the objects.
    anndata itself is not imported: whatever has `X`, `obs`, `obsm`, `obsp` and `uns` will do.

    Parameters
    ----------
    source : AnnData
        The cells that are transported; all cells if `groups` is given.
    target : AnnData, optional
        The cells that they are transported to.
    groups : str, optional
        The column of `obs` with the group of each cell, where there is one object only.
    between : pair of labels, optional
        The groups that are source and target.
    representation : str, optional
        The key in `obsm` of the coordinates, such as "X_pca"; `X` by default.
    weights : str, optional
        The column of `obs` with the mass of each cell; equal by default. Both sides are scaled to a total of 1.

    Raises
    ------
    ValueError
        If a key is not there, a group has no cells, or both ways to give the two sets are mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from driftway import solve
    >>> from driftway.problem import AnnotatedPair
    >>> cells = SimpleNamespace(  # in the place of an AnnData object
    ...     X=np.array([[0.0], [1.0], [0.1], [1.1]]), obs={"day": [0, 0, 1, 1], "kind": ["a", "b", "?", "?"]},
    ...     obsm={}, obsp={}, uns={},
    ... )
    >>> pair = AnnotatedPair(cells, groups="day", between=(0, 1))
    >>> solution = solve(pair.problem(epsilon=0.01))
    >>> pair.write(solution, labels="kind")
    >>> cells.obsm["driftway"].round(2).ravel().tolist()
    [0.1, 1.1, nan, nan]
    >>> list(cells.obs["driftway_kind"]), cells.obsp["driftway_plan"].shape
    (['a', 'b', 'a', 'b'], (4, 4))

    """

    def __init__(
        self,
        source: Any,
        target: Any = None,
        *,
        groups: str | None = None,
        between: tuple[Any, Any] | None = None,
        representation: str | None = None,
        weights: str | None = None,
    ) -> None:
        if (target is None) == (groups is None) or (groups is None) != (between is None):
            raise ValueError("give either target, or groups and between")
        self.source, self.target = source, source if target is None else target
        self.X, self.Y = (_coordinates(each, representation) for each in (self.source, self.target))
        self._rows = np.arange(len(self.X)), np.arange(len(self.Y))
        if groups is not None and between is not None:
            told = _annotation(source, groups)
            self._rows = tuple(np.flatnonzero(told == label) for label in between)  # type: ignore[assignment]
            for label, rows in zip(between, self._rows, strict=True):
                if not rows.size:
                    raise ValueError(f"between has the group {label!r}, which no cell of obs[{groups!r}] is in")
            self.X, self.Y = self.X[self._rows[0]], self.Y[self._rows[1]]
        self._masses: list[Double | None] = [None, None]
        if weights is not None:
            for side, (each, rows) in enumerate(zip((self.source, self.target), self._rows, strict=True)):
                mass = np.asarray(_annotation(each, weights), dtype=np.float64)[rows]
                self._masses[side] = mass / mass.sum()

    def problem(self, *, epsilon: float, metric: Any = "euclidean", regularizer: Regularizer | None = None) -> Problem:
        """The problem of transporting the source to the target, for `driftway.solve`.

        See the example of the class.

        Parameters
        ----------
        epsilon, regularizer : as for `Problem`
        metric : as for `PointCloudCost`

        Returns
        -------
        Problem

        """
        cost = PointCloudCost(self.X, self.Y, metric)
        return Problem(cost, self._masses[0], self._masses[1], epsilon=epsilon, regularizer=regularizer)

    def write(self, solution: Solution, *, key: str = "driftway", labels: str | None = None, plan: bool = True) -> None:
        """Writes what a solution says into the objects.

        The source gets the places that its cells are transported to in `obsm[key]`, and in `uns[key]` the value, its
        lower bound, the gap and whether it is certified. The target gets in `obs[f"{key}_{labels}"]` the label that
        most of the mass of a cell comes from. Where there is one object only, others have NaN, or keep their label.

        See the example of the class.

        Parameters
        ----------
        solution : Solution
            Of this pair's problem.
        key : str
            Under which it is written.
        labels : str, optional
            A column of `obs` of the source.
        plan : bool
            Whether to write the plan, too: in `obsp[f"{key}_plan"]`, sparse, where there is one object, else in
            `obsm[f"{key}_plan"]` of the source, with a column for each cell of the target.

        """
        n, m = len(self.X), len(self.Y)
        if solution.plan.shape != (n, m):
            raise ValueError(
                f"solution must be of this pair's problem, {n}×{m}, got a plan of shape {solution.plan.shape}"
            )
        one, (rows, columns) = self.source is self.target, self._rows
        cells = len(_coordinates(self.source, None))
        images = np.full((cells, self.Y.shape[1]), np.nan)
        images[rows] = solution.plan.barycentric_map(self.Y)
        self.source.obsm[key] = images
        told = ("value", "lower_bound", "gap", "converged")
        self.source.uns[key] = {name: getattr(solution, name) for name in told}
        if plan and one:
            whole = csr_array(np.asarray(solution.plan.dense()))
            entries = whole.tocoo()
            placed = (entries.data, (rows[entries.row], columns[entries.col]))
            self.source.obsp[f"{key}_plan"] = csr_array(placed, shape=(cells, cells))
        elif plan:
            self.source.obsm[f"{key}_plan"] = np.asarray(solution.plan.dense())
        if labels is not None:
            known = _annotation(self.source, labels)
            names, codes = np.unique(known[rows], return_inverse=True)
            mass = np.asarray(solution.plan.T @ np.eye(len(names))[codes])
            written = known.astype(object) if one else np.empty(m, dtype=object)
            written[columns] = names[mass.argmax(axis=1)]
            self.target.obs[f"{key}_{labels}"] = written


def _coordinates(cells: Any, representation: str | None) -> Double:
    if representation is None:
        found = cells.X
    elif representation in cells.obsm:
        found = cells.obsm[representation]
    else:
        raise ValueError(f"representation is {representation!r}, but obsm has {sorted(cells.obsm)}")
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def _annotation(cells: Any, name: str) -> npt.NDArray[Any]:
    if name not in cells.obs:
        raise ValueError(f"there is no column {name!r} in obs, which has {list(cells.obs)}")
    return np.asarray(cells.obs[name])
