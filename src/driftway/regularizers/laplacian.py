"""Graph regularity of the map: similar points should be sent to similar places."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from driftway.arrays.rowwise import fetched
from driftway.arrays.validation import finite_array, one_of, real_number, weights
from driftway.arrays.validation import points as as_points
from driftway.plan.plan import Plan
from driftway.regularizers.moment_regularizer import MomentRegularizer
from driftway.regularizers.time_smoothness import check_masses, radius

Double = npt.NDArray[np.float64]
Side = Literal["source", "target"]


class Laplacian(MomentRegularizer):
    """Graph regularisation of the map: similar points should be sent to similar places.

    J(γ) = weight · Σᵢₖ Sᵢₖ ‖uᵢ − uₖ‖² / Σᵢₖ Sᵢₖ (Ferradans et al. 2014), where u is the barycentric map of the chosen
    side, or its displacement from `reference`. Dividing by the total similarity makes it a mean over the edges of the
    graph, whatever their number.

    Parameters
    ----------
    similarity : array or sparse matrix, (n, n) for side "source", (m, m) for side "target"
        Symmetric non-negative similarities S.
    points : array (m, d) for side "source", (n, d) for side "target"
        Where that side is mapped: uᵢ = (γ·points)ᵢ / aᵢ, or uⱼ = (γᵀ·points)ⱼ / bⱼ.
    weight : float
        A non-negative multiple.
    side : "source" or "target"
        Whose map is regularised.
    reference : array of the shape of the map, optional
        If given, the displacement u − reference is regularised instead of u.
    masses : array, optional
        a for side "source", b for side "target", for use outside a problem; a problem uses its own.

    Notes
    -----
    Its smoothness grows with degree over mass: a point of tiny mass but many edges makes a problem
    ill-conditioned. Give such points no edges, or no mass.

    Examples
    --------
    Two source points that are linked are mapped closer to each other than without the link:

    >>> import numpy as np
    >>> from driftway import Laplacian, PointCloudCost, Problem, solve
    >>> X, Y = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])
    >>> S = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> def distance(weight):
    ...     problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=Laplacian(S, Y, weight))
    ...     images = solve(problem).plan.barycentric_map(Y)
    ...     return round(float(images[1, 0] - images[0, 0]), 2)
    >>> distance(0.0), distance(1.0)
    (1.0, 0.24)

    """

    convex = True
    minimum = 0.0
    proven = True

    def __init__(
        self,
        similarity: npt.ArrayLike | sparse.sparray | sparse.spmatrix,
        points: npt.ArrayLike,
        weight: float = 1.0,
        side: Side = "source",
        reference: npt.ArrayLike | None = None,
        masses: npt.ArrayLike | None = None,
    ) -> None:
        self.similarity = _as_similarity(similarity)
        self.points = as_points("points", points)
        # The graph sees differences only; about their centre the points lose the fewest digits.
        self._basis = self.points - self.points.mean(axis=0)
        self.weight = real_number("weight", weight, minimum=0.0)
        self.side = one_of("side", side, ("source", "target"))
        size, dimension = self.similarity.shape[0], self.points.shape[1]
        self.reference = None if reference is None else as_points("reference", reference, (size, dimension))
        self._own_masses = masses is not None
        self.masses = weights("masses", masses, size)
        self._inverse = np.divide(1.0, self.masses, out=np.zeros(size), where=self.masses > 0)
        # Points without mass have no image, so they and their edges do not count.
        active = sparse.diags_array((self.masses > 0).astype(float))
        edges = active @ self.similarity @ active
        self._degree = np.asarray(edges.sum(axis=1)).ravel()
        total = self._degree.sum()
        self._factor = 2.0 * self.weight / total if total > 0 else 0.0
        self._laplacian = sparse.diags_array(self._degree) - edges

    def __repr__(self) -> str:
        return f"Laplacian(side={self.side!r}, weight={self.weight:g})"

    def on(self, a: Double, b: Double) -> Self:
        own, other = (fetched(a), b) if self.side == "source" else (b, a)
        if self.masses.size != own.size:
            raise ValueError(
                f"similarity must be of shape ({own.size}, {own.size}) to fit the {self.side} side of the cost, "
                f"got {self.similarity.shape}"
            )
        if len(self.points) != other.size:
            raise ValueError(
                f"points must have {other.size} rows, one per point that the {self.side} side is mapped onto, "
                f"got {len(self.points)}"
            )
        if self._own_masses:
            check_masses("masses", self.masses, own)
            return self
        return type(self)(self.similarity, self.points, self.weight, self.side, self.reference, own)  # type: ignore[arg-type]

    @property
    def right_basis(self) -> Double:
        return self._basis if self.side == "source" else np.empty((self.masses.size, 0))

    @property
    def left_basis(self) -> Double:
        return self._basis if self.side == "target" else np.empty((self.masses.size, 0))

    @property
    def smoothness(self) -> float:
        """2 r² maxᵢ wᵢ/aᵢ with wᵢ from the bound D − S ≼ 2D of a Laplacian by its degrees."""
        return 2.0 * radius(self.points) ** 2 * float((2.0 * self._factor * self._degree * self._inverse).max())

    def phi(self, right: Double, left: Double) -> float:
        u = self._map(right, left)
        return self._factor * float(np.vdot(u, self._laplacian @ u))

    def phi_gradient(self, right: Double, left: Double) -> tuple[Double, Double]:
        gradient = 2.0 * self._factor * self._inverse[:, None] * (self._laplacian @ self._map(right, left))
        return (gradient, left) if self.side == "source" else (right, gradient)

    def partials(self, plan: Plan) -> dict[str, Double]:
        source = self.side == "source"
        moments = plan.sweep(right=self._basis).right if source else plan.sweep(left=self._basis).left
        u = self._inverse[:, None] * moments - (0.0 if self.reference is None else self.reference)
        pull = 2.0 * self._factor * (self._laplacian @ u)
        pulled = self._inverse[:, None] * pull
        partials = {
            "points": plan.sweep(left=pulled).left if source else plan.sweep(right=pulled).right,
            "a" if source else "b": -(self._inverse * (pulled * moments).sum(axis=1)),
        }
        return partials if self.reference is None else {**partials, "reference": -pull}

    def _map(self, right: Double, left: Double) -> Double:
        moments = fetched(right if self.side == "source" else left)  # the graph couples the rows
        images = self._inverse[:, None] * moments
        return images if self.reference is None else images - self.reference


def _as_similarity(value: npt.ArrayLike | sparse.sparray | sparse.spmatrix) -> sparse.csr_array:
    if sparse.issparse(value):
        matrix = sparse.csr_array(value)
        if matrix.nnz:
            finite_array("similarity", matrix.data, ndim=1)
    else:
        matrix = sparse.csr_array(finite_array("similarity", value, ndim=2))
    matrix = matrix.astype(np.float64)
    with np.errstate(over="ignore"):
        if not np.isfinite(matrix.sum()):
            raise ValueError("similarity must have a finite sum, but it overflows")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"similarity must be square, got shape {matrix.shape}")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"similarity must be non-negative, but its minimum is {matrix.data.min():g}")
    if float(abs(matrix - matrix.T).max()) > 1e-8 * float(abs(matrix).max()):
        raise ValueError("similarity must be symmetric, but it differs from its transpose")
    return matrix
