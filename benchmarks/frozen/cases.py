"""The 40 problems, by which solver, and on which engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frozen.problems import (
    Case,
    clouds,
    laplacian,
    lasso,
    lasso_and_laplacian,
    lasso_and_time,
    manhattan,
    own_moments,
    smooth,
    squares,
    target_laplacian,
    time_and_laplacians,
    two_times,
    waves,
)
from driftway import ConditionalGradient, ForwardBackward
from driftway.engines import Dask, Threads, Torch
from driftway.solvers import DualAscent, DualNewton, FrankWolfe, Sinkhorn

FAST = ForwardBackward(accelerate=True)

CASES = (
    # Forward-backward splitting
    Case("forward_backward/constant_step/group_lasso/cloud", ForwardBackward(10.0), lasso(0.05)),
    Case(
        "forward_backward/constant_step/time_smoothness_coupling/matrix",
        ForwardBackward(10.0),
        smooth(2.0, "coupling"),
        matrix=True,
        masses="random",
        size=(50, 70),
    ),
    Case("forward_backward/auto/time_smoothness_sum/cloud", ForwardBackward(), smooth(0.005, "sum"), epsilon=0.3),
    Case("forward_backward/auto/laplacian/sqeuclidean", ForwardBackward(), laplacian(0.1), metric="sqeuclidean"),
    Case("forward_backward/auto/wasserstein_time/cloud", ForwardBackward(), clouds(0.5, debias=True), size=(40, 30)),
    Case(
        "forward_backward/auto/wasserstein_time_biased/random_masses",
        ForwardBackward(),
        clouds(0.5, debias=False),
        masses="random",
        size=(40, 30),
    ),
    Case("forward_backward/auto/custom_not_convex/matrix", ForwardBackward(), waves, matrix=True),
    Case("forward_backward/auto/lasso_and_time/from_a_plan", None, lasso_and_time, masses="random", start="plan"),
    Case("forward_backward/accelerated/laplacian_target/zero_masses", FAST, target_laplacian(0.2), masses="zeros"),
    Case("forward_backward/accelerated/time_and_laplacians/cloud", FAST, time_and_laplacians, masses="random"),
    Case(
        "forward_backward/accelerated_constant_step/group_lasso/float32",
        ForwardBackward(8.0, accelerate=True),
        lasso(0.05),
        matrix=True,
        dtype=np.float32,
        tol=1e-5,
    ),
    Case(
        "forward_backward/accelerated/laplacian/nothing_stored", FAST, laplacian(0.05), size=(300, 250), engine="tiny"
    ),
    # Conditional gradients
    Case("conditional_gradient/group_lasso/cloud", ConditionalGradient(), lasso(0.1), max_iter=60),
    Case("conditional_gradient/custom_convex/matrix", ConditionalGradient(), squares, matrix=True, max_iter=60),
    Case("frank_wolfe/none/epsilon_zero/matrix", FrankWolfe(), matrix=True, masses="random", epsilon=0.0),
    Case("frank_wolfe/time_smoothness/epsilon_zero/cloud", FrankWolfe(), smooth(0.3), epsilon=0.0, max_iter=60),
    Case("frank_wolfe/laplacian/zero_masses", FrankWolfe(), laplacian(0.1), epsilon=0.3, masses="zeros", max_iter=60),
    # Ascent on the dual
    Case("dual_ascent/time_smoothness/small/cloud", DualAscent(), smooth(0.5), masses="random"),
    Case(
        "dual_ascent/time_smoothness_sum/small/float32",
        DualAscent(),
        smooth(0.01, "sum"),
        metric="sqeuclidean",
        matrix=True,
        dtype=np.float32,
        tol=1e-5,
    ),
    Case(
        "dual_ascent/time_smoothness_coupling/small/zero_masses",
        DualAscent(),
        smooth(2.0, "coupling"),
        masses="zeros",
        epsilon=0.01,
    ),
    Case("dual_ascent/none/small/large_epsilon", DualAscent(), matrix=True, epsilon=2.0),
    Case("dual_ascent/time_smoothness/large/cloud", DualAscent(), smooth(0.5), size=(400, 300)),
    Case(
        "dual_ascent/time_smoothness/large/small_epsilon",
        DualAscent(),
        smooth(0.5),
        size=(200, 150),
        epsilon=0.001,
        metric="sqeuclidean",
        masses="random",
    ),
    Case("dual_ascent/two_times/not_compiled", DualAscent(), two_times, engine="numpy"),
    Case("dual_ascent/time_smoothness/from_a_solution", DualAscent(), smooth(0.5), size=(150, 140), start="solution"),
    # Newton on the dual
    Case("dual_newton/weak_group_lasso/cloud", DualNewton(), lasso(0.002), size=(400, 300), engine="compiled"),
    Case("dual_newton/strong_group_lasso/cloud", DualNewton(), lasso(0.5), size=(120, 90), engine="compiled"),
    Case(
        "dual_newton/lasso_and_time/zero_masses/short_rounds/from_a_solution",
        DualNewton(round_length=2),
        lasso_and_time,
        start="solution",
        masses="zeros",
        matrix=True,
        epsilon=0.005,
        tol=1e-9,
        engine="compiled",
    ),
    # Sinkhorn
    Case(
        "sinkhorn/over_relaxed/short_rounds/stored",
        Sinkhorn(round_length=20),
        size=(300, 200),
        matrix=True,
        masses="random",
        epsilon=0.05,
    ),
    Case("sinkhorn/plain/cosine", Sinkhorn(scaling=None, relax=False), metric="cosine", features=12, size=(90, 250)),
    Case("sinkhorn/none/1000x1000/epsilon_0.01", Sinkhorn(), size=(1000, 1000), epsilon=0.01),
    Case(
        "sinkhorn/none/1000x900/epsilon_0.001/tight",
        Sinkhorn(),
        size=(1000, 900),
        epsilon=0.001,
        metric="sqeuclidean",
        masses="random",
        tol=1e-9,
    ),
    Case("sinkhorn/none/nothing_stored/small_epsilon", Sinkhorn(), size=(250, 300), epsilon=0.005, engine="tiny"),
    Case("sinkhorn/scaled/one_worker", Sinkhorn(scaling=0.5), size=(400, 350), epsilon=0.02, engine="one worker"),
    # The automatic choice
    Case(
        "automatic/none/large_float32/ten_features/not_compiled",
        size=(350, 300),
        features=10,
        dtype=np.float32,
        tol=1e-5,
        engine="numpy",
    ),
    Case("automatic/lasso_and_laplacian/own_metric", None, lasso_and_laplacian, metric=manhattan, size=(40, 30)),
    # Other engines
    Case("automatic/own_moments/torch", None, own_moments, engine="torch", size=(50, 40)),
    Case(
        "dual_ascent/time_smoothness/small_epsilon/torch",
        DualAscent(),
        smooth(0.5),
        size=(200, 160),
        epsilon=0.002,
        engine="torch",
    ),
    Case("sinkhorn/none/dask", Sinkhorn(), size=(100, 80), epsilon=0.2, masses="random", engine="dask"),
    Case(
        "dual_ascent/time_smoothness/dask/sharded",
        DualAscent(),
        smooth(0.5),
        size=(90, 40),
        epsilon=0.2,
        engine="dask",
        sharded=True,
    ),
)

ENGINES: dict[str, Callable[[], Any]] = {
    "threads": Threads,
    "one worker": partial(Threads, workers=1),
    "tiny": partial(Threads, memory=0),
    "numpy": partial(Threads, compiled=False),
    "compiled": partial(Threads, compiled=True),
    "torch": partial(Torch, "cpu"),
    "dask": partial(Dask, workers=2),
}


class Engines:
    """The engines of a run, each made when it is first wanted; `None` stands for one whose library is missing."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._made = stack, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            try:
                engine = ENGINES[name]()
            except ImportError as error:
                print(f"skipped: everything on {name} ({error})")
                engine = None
            if hasattr(engine, "close"):
                self._stack.callback(engine.close)
            self._made[name] = engine
        return self._made[name]
