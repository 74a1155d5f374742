"""The semi-dual of transport with a group lasso: a concave function of the row potentials alone.

For J = η Σ ‖γ(I_ℓ, j)‖ + φ(γR) with φ*(P) = ⟨P, c⟩ + ½ Σ qP², masses of total 1 and all in units of ε, it is

    D(Θ) = ⟨linear, Θ⟩ − ½ ⟨quadratic Θ, Θ⟩ + ⟨g(Θ), b⟩ − Σ b,        Θ = (f, P),  scores Θ·Ŷ + g − C,  Ŷ = (1, −R)

The conjugate of entropy plus norm is homogeneous, γ(s + t) = eᵗ γ(s), so the g that gives every column its mass
is known in closed form as soon as the norms of the groups are. Gradient and Hessian are, per column,

    ∇D = linear − quadratic Θ − γŶ,        −∇²D = quadratic + Ŷᵀ (H − γ γᵀ/b) Ŷ,        H = diag(d) + c v vᵀ per group,

with d = γ/(1 + w), v = d w and c = κ/(N Σ w²/(1 + w)) in the notation of the compiled passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from driftway.engines.compiled.layout import aligned
from driftway.engines.engine import TINY
from driftway.engines.threads.engine import Threads, compiled_threads
from driftway.geometry.cost import is_plain
from driftway.geometry.matrices import Matrix
from driftway.problem.model import Model
from driftway.regularizers.regularizer import Regularizer, leaves

Double = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]


class Precision(NamedTuple):
    """How accurately the dual is computed.

    Attributes
    ----------
    scores : the type of what is computed within a column
    kept : the type of what the Hessian is made of
    roots : the accuracy of the logarithm of a norm, over 1 + κ
    noise : the rounding error of the dual, relative to the absolute values that it adds up

    """

    scores: type[np.floating]
    kept: type[np.floating]
    roots: float
    noise: float


# Far from the optimum, as a rule, and for accuracies below 1e-9. What is rough bounds nothing.
ROUGH = Precision(np.float32, np.float32, 1e-5, 1e-5)
USUAL = Precision(np.float64, np.float32, 1e-9, 1e-13)
FINE = Precision(np.float64, np.float64, 1e-14, 1e-13)


# So many columns tell how far the rounded plan is from the dual's.
SAMPLE = 32
# What an entry of a product with the Hessian gains by being shared, in those of a sweep: products are short.
PRODUCT_PRICE = 0.15


class Penalty(NamedTuple):
    """weight · Σⱼ Σ_ℓ ‖γ(I_ℓ, j)‖ + φ(γR),  φ*(P) = ⟨P, centre⟩ + ½ Σ curvature·P²."""

    groups: list[Index]
    weight: float
    basis: Double
    centre: Double
    curvature: Double

    @classmethod
    def of(cls, J: Regularizer, a: Double, columns: int) -> Self | None:
        """J in this form, or `None` if it has none with a positive weight and curvatures where there is mass."""
        groups: list[Index] | None = None
        weight, nothing = 0.0, np.empty((a.size, 0))
        basis, centre, curvature = [np.empty((columns, 0))], [nothing], [nothing]
        for factor, term in leaves(J):
            if factor == 0.0:
                continue
            if (norms := term.group_norms) is not None:
                if groups is not None and not _same(groups, norms.groups):
                    return None
                groups, weight = norms.groups, weight + factor * norms.weight
            elif (form := term.moment_form) is not None and term.convex and not form.left_basis.shape[1]:
                if (quadratic := form.row_quadratic) is None:
                    return None
                # A moment that φ does not see at all is none.
                seen = np.isfinite(quadratic.curvature[a > 0]).any(axis=0)
                basis.append(form.right_basis[:, seen])
                centre.append(quadratic.centre[:, seen])
                curvature.append(quadratic.curvature[:, seen] / factor)
            else:
                return None
        held = np.hstack(curvature)
        mass = held[a > 0]
        if groups is None or weight <= 0 or not (np.isfinite(mass).all() and (mass > 0).all()):
            return None
        return cls(groups, weight, np.hstack(basis), np.hstack(centre), held)


def _same(first: list[Index], second: list[Index]) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))


@dataclass(frozen=True, eq=False)
class SemiDual:
    """The fixed data: rows with mass, sorted by class, and columns with mass; the total mass is taken out.

    Attributes
    ----------
    rows, columns : where they stand in the problem
    starts : where the classes begin (K+1)
    cost : Cᵀ (m×n), and `rough_cost`, the same in float32, if that was asked for
    lowest, mean : the least cost of every row, and the mean cost
    a, b : masses of total 1
    weight : η
    basis : Ŷ (m×q), its moments about their mean `middle`
    linear, quadratic : the coefficients of Θ (q×n), the second ones to be multiplied by ε
    mass : the total mass

    """

    engine: Threads
    rows: Index
    columns: Index
    starts: npt.NDArray[np.int64]
    cost: Double
    rough_cost: npt.NDArray[np.float32]
    lowest: Double
    mean: float
    a: Double
    b: Double
    weight: float
    basis: Double
    middle: Double
    linear: Double
    quadratic: Double
    mass: float

    @classmethod
    def of(cls, model: Model, penalty: Penalty, *, rough: bool) -> Self:
        engine = compiled_threads(model.engine)
        assert engine is not None
        mass = model.problem.mass
        groups = [kept for group in penalty.groups if (kept := group[model.a[group] > 0]).size]
        rows, columns = np.concatenate(groups), np.flatnonzero(model.b > 0)
        a, b, R = model.a[rows] / mass, model.b[columns] / mass, penalty.basis[columns]
        # Moments about a common centre are what matters, and their blocks are better conditioned.
        middle = b @ R
        linear = np.vstack([a, np.outer(middle, a) - penalty.centre[rows].T / mass])
        quadratic = np.vstack([np.zeros(rows.size), penalty.curvature[rows].T / mass])
        return cls(
            engine,
            rows,
            columns,
            np.concatenate([[0], np.cumsum([group.size for group in groups])]).astype(np.int64),
            *_gathered(engine, model.cost, rows, columns, rough),
            a,
            b,
            penalty.weight,
            np.ascontiguousarray(np.column_stack([np.ones(columns.size), middle - R])),
            middle,
            np.ascontiguousarray(linear),
            np.ascontiguousarray(quadratic),
            mass,
        )

    @cached_property
    def variances(self) -> Double:
        """The variances of the moments under b."""
        return self.b @ self.basis[:, 1:] ** 2

    @cached_property
    def scale(self) -> float:
        """A strength of the entropy at which the problem is easy: the excess cost, or the curvature of φ if larger."""
        excess = self.mean - float(self.lowest.mean())
        stiffness = (self.a / self.quadratic[1:]).max(initial=0.0) * self.variances.sum()
        return max(excess, float(stiffness))

    def at(
        self,
        epsilon: float,
        theta: Double,
        roots: Double | None = None,
        *,
        precision: Precision = FINE,
        spare: Place | None = None,
    ) -> Place:
        """The dual at Θ; `roots` is a guess of those of the groups.

        The arrays of a `spare` place, which nobody needs any more, are used again: fresh memory takes as long as
        filling it.
        """
        (m, n), q = self.cost.shape, self.basis.shape[1]
        size = m, self.starts.size - 1
        roots = np.full(size, np.inf) if roots is None else roots.copy()
        g, slopes = np.empty(m), np.empty(size)
        if spare is not None and spare.precision.kept is precision.kept:
            kept = spare.kept
        else:
            kept = aligned((2, m, n), precision.kept)
        cost = self.rough_cost if precision is ROUGH else self.cost
        over_a = (1.0 / self.a).astype(precision.scores)
        kappa = self.weight / epsilon

        def visit(part: slice) -> tuple[float, Double, Double]:
            sums, diagonal = np.zeros((q, n)), np.zeros((2 * q - 1, n))
            shared = cost, 1.0 / epsilon, theta, self.basis, over_a, self.b, self.starts
            where = kappa, _tolerance(kappa, precision), roots, g, slopes, *kept
            return compiled_kernels().evaluate(part.start, part.stop, *shared, *where, sums, diagonal), sums, diagonal

        value, sums, diagonal = self.added(visit)
        value += np.vdot(self.linear, theta) - 0.5 * epsilon * np.vdot(self.quadratic * theta, theta)
        return Place(self, epsilon, theta, roots, g, slopes, kept, sums, diagonal, float(value), precision)

    def added(self, visit: Callable[[slice], tuple[Any, ...]], price: float = 1.0) -> list[Any]:
        """The sum over parts of the columns, always in their order, so that results are reproducible to the bit."""
        parts = self.engine.each(visit, *self.cost.shape, blas=False, price=price)
        return [sum(rest, first) for first, *rest in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class Place:
    """A point Θ of the dual at a strength ε, and what a pass tells of it.

    Attributes
    ----------
    roots, slopes : log N − g and c of every group (m×K)
    g : the column potentials (m)
    kept : what the Hessian is made of: d over a, and w (2×m×n)
    sums : γŶ (q×n)
    diagonal : sums of diag(H), diag(H) Ŷ_k and diag(H) Ŷ_k² over the columns (2q−1 × n)
    value : D, from below unless it is rough

    """

    dual: SemiDual
    epsilon: float
    theta: Double
    roots: Double
    g: Double
    slopes: Double
    kept: npt.NDArray[Any]
    sums: Double
    diagonal: Double
    value: float
    precision: Precision

    @cached_property
    def gradient(self) -> Double:
        """∇D (q×n)."""
        dual = self.dual
        return dual.linear - self.epsilon * dual.quadratic * self.theta - self.sums

    @cached_property
    def error(self) -> float:
        """‖γ1 − a‖₁ relative to the mass."""
        return float(np.abs(self.gradient[0]).sum())

    @cached_property
    def slack(self) -> float:
        """φ(γR) + φ*(P) − ⟨P, γR⟩ ≥ 0: what the gap owes to the moments."""
        return 0.5 * float((self.gradient[1:] ** 2 / (self.epsilon * self.dual.quadratic[1:])).sum())

    @cached_property
    def shares(self) -> tuple[Double, Double]:
        """What rounding onto the marginals keeps of every row, and the row's share of what columns lack then."""
        a, rows = self.dual.a, self.sums[0]
        lacking = np.maximum(a - rows, 0.0)
        kept = np.divide(a, rows, out=np.ones_like(rows), where=rows > a)
        return kept, lacking / max(float(lacking.sum()), TINY)

    @cached_property
    def gap(self) -> float:
        """The gap of the rounded plan, in units of ε and as far as a sample of its columns tells.

        It is the Bregman divergence of H + J/ε from the plan of Θ to the rounded one, and what the moments add.
        """
        dual, (kept, added), kappa = self.dual, self.shares, self.dual.weight / self.epsilon
        stride = max(1, dual.b.size // SAMPLE)
        found, mass = compiled_plans().divergence(stride, *self.kept, dual.a, dual.b, dual.starts, kappa, kept, added)
        # What columns lack is nearly a multiple of b, under which the moments are centred.
        moved = self.gradient[1:] + (1.0 - kept) * self.sums[1:]
        return float(found / mass + 0.5 * (moved**2 / (self.epsilon * dual.quadratic[1:])).sum())

    @property
    def distance(self) -> float:
        """How far from optimal, in the order of a gradient."""
        return float(self.error + np.sqrt(self.slack))

    @cached_property
    def magnitude(self) -> float:
        """The absolute values that D adds up, to which its rounding error is relative."""
        return 1.0 + float(np.abs(self.dual.linear * self.theta).sum() + np.abs(self.g) @ self.dual.b)

    def columns_hessian(self, direction: Double) -> tuple[Double, Double]:
        """−∇²D · direction without its `quadratic` part and over a, and the derivative of the roots along it."""
        dual, slide = self.dual, np.empty_like(self.roots)

        def visit(part: slice) -> tuple[Double]:
            out = np.zeros_like(direction)
            shared = *self.kept, self.slopes, dual.basis, dual.a, dual.b, dual.starts
            compiled_kernels().hessian_times(part.start, part.stop, *shared, direction, out, slide)
            return (out,)

        (product,) = dual.added(visit, PRODUCT_PRICE)
        return product, slide

    def plan(self, model: Model, spare: Place | None = None) -> Double:
        """γ (n×m), rounded onto the marginals: its columns are exact, so what its rows have too much of is spread.

        The arrays of a `spare` place become its memory, if they are as large.
        """
        dual, kappa, shape = self.dual, self.dual.weight / self.epsilon, model.cost.shape
        if shape != (dual.rows.size, dual.columns.size):
            gamma = np.zeros(shape)
        elif spare is not None and spare.kept.itemsize == 4:  # two numbers per entry
            gamma = spare.kept.reshape(-1).view(np.float64).reshape(shape)
        else:
            gamma = aligned(shape, np.float64)

        def visit(part: slice) -> None:
            shared = dual.cost, 1.0 / self.epsilon, self.theta, dual.basis, dual.mass * dual.b, dual.starts
            roots = kappa, _tolerance(kappa, self.precision), self.roots, *self.shares
            compiled_plans().fill_plan(part.start, part.stop, *shared, *roots, dual.rows, dual.columns, gamma)

        dual.engine.each(visit, *dual.cost.shape, blas=False)
        return gamma

    @property
    def bound(self) -> float:
        """A lower bound of the optimum, in units of cost: masses times t multiply it by t and add ε t log t."""
        mass = self.dual.mass
        return mass * self.epsilon * (self.value + float(np.log(mass)))

    def potentials(self, model: Model) -> tuple[Double, Double]:
        """f and g in units of cost, −∞ where there is no mass."""
        dual = self.dual
        f, g = np.full(model.a.size, -np.inf), np.full(model.b.size, -np.inf)
        f[dual.rows] = self.epsilon * (self.theta[0] + dual.middle @ self.theta[1:])
        g[dual.columns] = self.epsilon * (self.g + np.log(dual.mass))
        return f, g


def _gathered(
    engine: Threads, matrix: Matrix, rows: Index, columns: Index, rough: bool
) -> tuple[Double, npt.NDArray[np.float32], Double, float]:
    """The cost of some rows and columns, transposed, the same in float32 if it is wanted, least costs and the mean."""
    shape = columns.size, rows.size
    cost, out = engine.assemble(matrix), aligned(shape, np.float64)
    single = aligned(shape if rough else (0, rows.size), np.float32)
    given = cost if is_plain(cost) else np.array(cost, order="C")

    def visit(part: slice) -> tuple[Double, float]:
        least = np.full(rows.size, np.inf)
        return least, compiled_plans().gather(part.start, part.stop, rows, columns, given, out, single, least)

    least, totals = zip(*engine.each(visit, *shape, blas=False), strict=True)
    return out, single, np.minimum.reduce(least), sum(totals) / out.size


def _tolerance(kappa: float, precision: Precision) -> float:
    """The tolerance of the logarithm of a norm; the error of the plan is 1 + κ times as large."""
    rounding = 2.0 * float(np.finfo(precision.scores).eps)
    return max(precision.roots / (1.0 + kappa), rounding * (1.0 + abs(float(np.log(kappa)))))


@cache
def compiled_kernels() -> ModuleType:
    """The compiled passes over the plan, imported when they are first needed."""
    return import_module("driftway.solvers.dual_newton.kernels")


@cache
def compiled_plans() -> ModuleType:
    """The compiled passes that read costs and write plans, imported when they are first needed."""
    return import_module("driftway.solvers.dual_newton.plans")
