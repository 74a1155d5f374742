"""OTT-JAX as an entrant: compiled, in float64, with the compilation timed apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.interleave import Entrant, Rung
from benchmarks.judge import Answer, plan_of_potentials

Double = npt.NDArray[np.float64]
Geometry = Callable[[float], Any]  # of the decay of ε, 1 for none

MISSING = "" if find_spec("ott") and find_spec("jax") else "OTT-JAX is not installed"
_COMPILED: dict[tuple[object, ...], Any] = {}
_PACES: dict[tuple[object, ...], float] = {}
PACE = 4  # iterations from which the speed is taken
MOST, EVERY = 500_000, 10
GENEROUS = 1.5  # times the iterations that fit the budget at that speed: the first ones are slower than the others


def float64() -> None:
    """Switches JAX to double precision, which is off by default."""
    import jax

    jax.config.update("jax_enable_x64", True)


def of_matrix(cost: Double, epsilon: float) -> Geometry:
    """The geometry of a cost matrix."""

    def make(decay: float) -> Any:
        float64()
        import jax.numpy as jnp
        from ott.geometry import geometry

        strength = _scheduled(epsilon, float(cost.mean()), decay)
        return geometry.Geometry(cost_matrix=jnp.asarray(cost), epsilon=strength)

    return make


def of_points(X: npt.NDArray[Any], Y: npt.NDArray[Any], metric: str, epsilon: float) -> Geometry:
    """The geometry of two point clouds."""

    def make(decay: float) -> Any:
        float64()
        import jax.numpy as jnp
        from ott.geometry import costs, pointcloud

        cost = costs.SqEuclidean() if metric == "sqeuclidean" else costs.Euclidean()
        mean = float(cost.all_pairs(jnp.asarray(X[:1000]), jnp.asarray(Y[:1000])).mean())
        strength = _scheduled(epsilon, mean, decay)
        return pointcloud.PointCloud(jnp.asarray(X), jnp.asarray(Y), cost_fn=cost, epsilon=strength)

    return make


def _scheduled(epsilon: float, mean: float, decay: float) -> Any:
    """ε, or a schedule that leads to it from half of the mean cost, times `decay` in every iteration."""
    if decay == 1.0:
        return epsilon
    from ott.geometry import epsilon_scheduler

    return epsilon_scheduler.Epsilon(target=epsilon, init=max(0.5 * mean / epsilon, 1.0), decay=decay)


class Compiled:
    """Sinkhorn of OTT-JAX on one geometry, compiled ahead of time for a number of iterations."""

    def __init__(
        self, geometry: Geometry, *, log_domain: bool, momentum: float, threshold: float, decay: float = 1.0
    ) -> None:
        self.make, self.log_domain, self.momentum, self.threshold = geometry, log_domain, momentum, threshold
        self.decay = decay
        self.geometry: Any = None
        self.function: Any = None

    def compile(self, iterations: int, every: int = EVERY) -> float:
        """Compiles, and returns the seconds it took."""
        import jax
        from ott.problems.linear import linear_problem
        from ott.solvers.linear import acceleration, sinkhorn

        self.kind()  # makes the geometry
        solver = sinkhorn.Sinkhorn(
            lse_mode=self.log_domain,
            threshold=self.threshold,
            inner_iterations=every,
            min_iterations=0 if self.threshold > 0 else iterations,
            max_iterations=iterations,
            momentum=acceleration.Momentum(value=self.momentum),
        )
        # ε is an argument of the compiled function: problems that differ in nothing else share it.
        key = (*self.kind(), self.decay, self.momentum, self.threshold, iterations, every)
        began = time.perf_counter()
        self.function = _COMPILED.get(key)
        if self.function is None or self.function.in_tree != jax.tree_util.tree_structure(((self.geometry,), {})):
            run = jax.jit(lambda geometry: solver(linear_problem.LinearProblem(geometry)))
            self.function = _COMPILED[key] = run.lower(self.geometry).compile()
        return time.perf_counter() - began

    def kind(self) -> tuple[object, ...]:
        """What iterations take equally long on."""
        if self.geometry is None:
            self.geometry = self.make(self.decay)
        cost = getattr(self.geometry, "cost_fn", None)
        return type(self.geometry), type(cost), self.geometry.shape, str(self.geometry.dtype), self.log_domain

    def pace(self) -> float:
        """Seconds per iteration."""
        if self.kind() not in _PACES:
            self.compile(PACE, every=PACE)
            self.run()
            began = time.perf_counter()
            self.run()
            _PACES[self.kind()] = (time.perf_counter() - began) / PACE
        return _PACES[self.kind()]

    def run(self) -> Any:
        output = self.function(self.geometry)
        output.f.block_until_ready()
        output.g.block_until_ready()
        return output


def sinkhorn_entrant(
    geometry: Geometry, epsilon: float, cost: Callable[[], Double], *, target: float, log_domain: bool
) -> Entrant:
    """`Sinkhorn` of OTT-JAX in the log domain or on kernels; with over-relaxation (momentum 1.5) and without.

    In the log domain also with ε falling to its value, which is what pays where that is small.
    """

    def rung(momentum: float, decay: float, threshold: float) -> Rung:
        solver = Compiled(geometry, log_domain=log_domain, momentum=momentum, threshold=threshold, decay=decay)

        def prepare(budget: float) -> float:
            # A compiled loop cannot be interrupted: it gets as many iterations as fit its budget.
            limit = int(np.clip(GENEROUS * budget / solver.pace(), EVERY, MOST)) // EVERY * EVERY
            return solver.compile(limit)

        def run(budget: float) -> Answer:
            output = solver.run()
            f, g, capped = np.asarray(output.f), np.asarray(output.g), not bool(output.converged)
            return Answer(lambda: plan_of_potentials(cost(), f, g, epsilon), capped=capped)

        schedule = "" if decay == 1.0 else f", Epsilon(decay={decay})"
        return Rung(
            f"Sinkhorn(lse_mode={log_domain}, momentum={momentum}, threshold={threshold:.0e}, "
            f"inner_iterations={EVERY}){schedule}, jit, float64",
            run,
            prepare,
        )

    variants = [(1.5, 1.0), (1.0, 1.0)]
    variants = [(1.5, 0.98), *variants] if log_domain else variants
    ladders = [[rung(*variant, target), rung(*variant, 0.3 * target)] for variant in variants]
    name = "OTT-JAX log" if log_domain else "OTT-JAX kernel"
    return Entrant(name, ladders, unavailable=MISSING)


def iterations(geometry: Geometry, *, log_domain: bool = True) -> Callable[[int], Callable[[], Any]]:
    """A function that compiles so many iterations, with one evaluation of the error, and returns what runs them."""
    solver = Compiled(geometry, log_domain=log_domain, momentum=1.0, threshold=-1.0)

    def compiled(count: int) -> Callable[[], Any]:
        solver.compile(count, every=count)
        function, argument = solver.function, solver.geometry
        return lambda: function(argument).f.block_until_ready()

    return compiled
