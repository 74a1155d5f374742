"""Projection of points onto the plane of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from driftway.adaptation.scaling import fit_scaling

Double = npt.NDArray[np.float64]

# Coordinates are rounded to this share of the source's extent.
RESOLUTION = 1e-3


@dataclass(frozen=True, eq=False)
class Projection:
    """A projection of points onto a plane:  x ↦ (x − centre) axes.

    It is made by `Projection.fit`. Use one projection for a whole stream, so that its pictures can be compared. Calling
    it with points returns their coordinates, rounded to what can be seen.

    Parameters
    ----------
    centre : array of shape (d,)
        The point that is projected to the origin.
    axes : array of shape (d, k), where k = min(d, 2)
        The directions of the coordinates.
    names : tuple of str
        A description of each coordinate.
    decimals : tuple of int
        The decimals to which each coordinate is rounded; negative for tens, hundreds and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway.report import Projection
    >>> projection = Projection.fit(np.random.default_rng(0).normal(size=(50, 5)))
    >>> x, y = projection(np.zeros((3, 5)))
    >>> len(x), len(y), projection.axes.shape
    (3, 3, (5, 2))

    """

    centre: Double
    axes: Double
    names: tuple[str, ...]
    decimals: tuple[int, ...]

    @classmethod
    def fit(cls, X_source: Any) -> Self:
        """Makes the projection for a source: its features, or if there are more than two, its two principal axes.

        Features are standardised before the principal axes are computed.

        Parameters
        ----------
        X_source : array or data frame of shape (n, d)
            Finite numbers.

        Returns
        -------
        Projection

        Examples
        --------
        >>> from driftway.report import Projection
        >>> projection = Projection.fit([[0.0, 0.0], [1.0, 10.0]])
        >>> projection.names, projection([[0.123456, 0.123456]])
        (('feature 0', 'feature 1'), [[0.123], [0.12]])

        """
        X = np.asarray(X_source, dtype=np.float64)
        if X.ndim != 2 or 0 in X.shape or not np.isfinite(X).all():
            raise ValueError(f"X_source must be a finite array of shape (n, d), got shape {X.shape}")
        if X.shape[1] <= 2:
            centre, axes, names = np.zeros(X.shape[1]), np.eye(X.shape[1]), _feature_names(X_source, X.shape[1])
        else:
            centre, axes, names = _principal_axes(X)
        extents = np.ptp((X - centre) @ axes, axis=0)
        return cls(centre, axes, names, tuple(_decimals(float(extent)) for extent in extents))

    def __call__(self, X: Any) -> list[list[float]]:
        """Projects points: a list per coordinate, with one number per point."""
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != len(self.centre):
            raise ValueError(f"X must have shape (m, {len(self.centre)}) as the source had, got {points.shape}")
        flat = (points - self.centre) @ self.axes
        return [rounded(column, decimals) for column, decimals in zip(flat.T, self.decimals, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Describes the projection by values that JSON has; `from_dict` reads them.

        Returns
        -------
        dict

        Examples
        --------
        >>> from driftway.report import Projection
        >>> Projection.fit([[0.0], [1.0]]).to_dict()
        {'centre': [0.0], 'axes': [[1.0]], 'names': ['feature 0'], 'decimals': [3]}

        """
        return {
            "centre": self.centre.tolist(),
            "axes": self.axes.tolist(),
            "names": list(self.names),
            "decimals": list(self.decimals),
        }

    @classmethod
    def from_dict(cls, described: dict[str, Any]) -> Self:
        """Makes the projection that `to_dict` described.

        Parameters
        ----------
        described : dict
            A result of `to_dict`.

        Returns
        -------
        Projection

        Examples
        --------
        >>> from driftway.report import Projection
        >>> projection = Projection.fit([[0.0], [1.0]])
        >>> Projection.from_dict(projection.to_dict())([[0.5]]) == projection([[0.5]])
        True

        """
        centre, axes = (np.asarray(described[name], dtype=np.float64) for name in ("centre", "axes"))
        return cls(centre, axes, tuple(described["names"]), tuple(described["decimals"]))


def rounded(values: npt.NDArray[Any], decimals: int) -> list[float]:
    """Numbers rounded to some decimals; −0 becomes 0."""
    return (np.round(np.asarray(values, dtype=np.float64), decimals) + 0.0).tolist()


def _decimals(extent: float) -> int:
    return int(np.clip(-np.floor(np.log10(extent * RESOLUTION)), -300, 300)) if extent > 0 else 6


def _feature_names(X_source: Any, d: int) -> tuple[str, ...]:
    columns = getattr(X_source, "columns", None)
    return tuple(f"feature {j}" for j in range(d)) if columns is None else tuple(map(str, columns))


def _principal_axes(X: Double) -> tuple[Double, Double, tuple[str, ...]]:
    """Centre, directions and names of the first two principal axes of the standardised source, with fixed signs."""
    centre, unit = fit_scaling("features", X, None, np.ones(len(X)))
    _, spread, directions = np.linalg.svd((X - centre) / unit, full_matrices=False)
    if len(directions) < 2:
        directions, spread = np.vstack([directions, np.zeros_like(directions)]), np.append(spread, 0.0)
    directions = (
        directions[:2] * np.sign(directions[np.arange(2), np.abs(directions[:2]).argmax(axis=1)] + 0.5)[:, None]
    )
    share = spread**2 / max(float((spread**2).sum()), 1e-300)
    names = tuple(
        f"{which} principal axis ({100 * part:.0f} % of the source)"
        for which, part in zip(("first", "second"), share, strict=False)
    )
    return centre, directions.T / unit[:, None], names
