"""One full Sinkhorn iteration on 5000 × 1000 points: nanoseconds per entry, ours and others'."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import peers_ott, peers_pot
from benchmarks.clock import settle
from benchmarks.ledger import Ledger
from benchmarks.limits import machine_limits
from benchmarks.ours import default_engine
from benchmarks.problems import rotated_moons
from benchmarks.progress import cases
from benchmarks.reading import Reading, Table, Target, times
from benchmarks.scale import Scale
from driftway import PointCloudCost, Problem
from driftway.engines.engine import Request
from driftway.problem.model import Model

EPSILON = 0.1
OURS, OTT = "driftway", "OTT-JAX"
Array = npt.NDArray[Any]
Contest = Callable[[Array, Array], Callable[[], float]]


ITERATIONS = 60  # of ours, in a row


def run(scale: Scale, ledger: Ledger) -> None:
    """Everybody's first measurement, then everybody's second, and so on."""
    n, m = scale.pick((5000, 1000), (1000, 200))
    repetitions = scale.pick(15, 3)
    ledger.save(limits=machine_limits(scale.pick(9, 3), scale.pick(2**25, 2**21)), n=n, m=m)
    with cases([np.dtype(np.float64), np.dtype(np.float32)], "sweep") as (items, announce):
        for dtype in items:
            if ledger.find({"dtype": str(dtype)}) is not None:
                continue
            X, Y = (rotated_moons(k, degrees, k).astype(dtype) for k, degrees in ((n, 0.0), (m, 18.0)))
            ledger.add({"dtype": str(dtype)}, _contest(X, Y, repetitions, announce))


def _contest(X: Array, Y: Array, repetitions: int, announce: Callable[[str], None]) -> dict[str, Any]:
    ready: dict[str, Callable[[], float]] = {}
    took: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    for name, make in CONTESTANTS.items():
        announce(f"preparing {name}")
        try:
            ready[name] = make(X, Y)
            ready[name]()
            took[name] = []
        except Exception as error:  # a library that is not installed, or does not do this dtype
            notes[name] = f"{type(error).__name__}: {error}"[:160]
            ready.pop(name, None)
    for repetition in range(repetitions):
        for name, measure in ready.items():
            announce(f"{name} {repetition + 1}/{repetitions}")
            settle()
            took[name].append(1e9 * measure() / (len(X) * len(Y)))
    return {"dtype": str(X.dtype), "ns": took, "median": {k: median(v) for k, v in took.items()}, "notes": notes}


def _ours(X: Array, Y: Array) -> Callable[[], float]:
    """The engine's sweep: rows normalised (f), columns summed (g)."""
    model = Model(Problem(PointCloudCost(X, Y), epsilon=EPSILON), default_engine())
    log = model.cost / -model.epsilon
    state = [np.zeros(len(X)), np.zeros(len(Y))]

    def iterate() -> None:
        swept = model.engine.sweep(Request(log, state[0], state[1], row_mass=model.a, single=X.dtype == np.float32))
        state[0], state[1] = swept.f, state[1] + np.log(model.b / swept.columns)

    iterate()

    def measure() -> float:
        began = time.perf_counter()
        for _ in range(ITERATIONS):
            iterate()
        return (time.perf_counter() - began) / ITERATIONS

    return measure


def _difference(few: Callable[[], object], many: Callable[[], object], count: int) -> Callable[[], float]:
    """Seconds per iteration, from two runs that differ by `count` iterations and in nothing else."""

    def measure() -> float:
        began = time.perf_counter()
        few()
        middle = time.perf_counter()
        many()
        return (time.perf_counter() - middle - (middle - began)) / count

    return measure


def _ott(X: Array, Y: Array) -> Callable[[], float]:
    compiled = peers_ott.iterations(peers_ott.of_points(X, Y, "euclidean", EPSILON))
    return _difference(compiled(2), compiled(32), 30)


def _ott_matrix(X: Array, Y: Array) -> Callable[[], float]:
    cost = np.asarray(PointCloudCost(X, Y).rows(slice(None))).astype(X.dtype)
    compiled = peers_ott.iterations(peers_ott.of_matrix(cost, EPSILON))
    return _difference(compiled(2), compiled(32), 30)


def _pot(X: Array, Y: Array) -> Callable[[], float]:
    cost = np.asarray(PointCloudCost(X, Y).rows(slice(None))).astype(X.dtype)
    iterate = peers_pot.sinkhorn_log_iterations(cost, EPSILON)
    return _difference(lambda: iterate(1), lambda: iterate(5), 4)  # one evaluation of the error in both


def _numpy(X: Array, Y: Array) -> Callable[[], float]:
    """Two passes of max, exp and sum over a stored −C/ε."""
    log = (-np.asarray(PointCloudCost(X, Y).rows(slice(None))) / EPSILON).astype(X.dtype)
    a, b = (np.log(np.full(k, 1.0 / k, X.dtype)) for k in log.shape)
    g = np.zeros_like(b)

    def logsumexp(values: Array, axis: int) -> Array:
        top = values.max(axis=axis, keepdims=True)
        return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))

    def measure() -> float:
        began = time.perf_counter()
        f = a - logsumexp(log + g, 1)
        g[:] = b - logsumexp(log + f[:, None], 0)
        return time.perf_counter() - began

    return measure


def _torch(X: Array, Y: Array) -> Callable[[], float]:
    """Two logsumexp over a stored −C/ε."""
    import torch

    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    log = -torch.cdist(x, y) / EPSILON
    a, b = (torch.full((k,), 1.0 / k, dtype=log.dtype).log() for k in log.shape)
    state = [torch.zeros_like(b)]

    def measure() -> float:
        began = time.perf_counter()
        f = a - torch.logsumexp(log + state[0], 1)
        state[0] = b - torch.logsumexp(log + f[:, None], 0)
        return time.perf_counter() - began

    return measure


CONTESTANTS: dict[str, Contest] = {
    OURS: _ours,
    OTT: _ott,
    "OTT-JAX, stored cost": _ott_matrix,
    "POT sinkhorn_log": _pot,
    "NumPy logsumexp": _numpy,
    **({"torch logsumexp": _torch} if find_spec("torch") else {}),
}


def read(data: dict[str, Any]) -> Reading:
    """The targets: nanoseconds per entry, and against OTT-JAX."""
    names = list(CONTESTANTS)
    rows = [
        [case["dtype"], *(_cell(case, name) for name in names)]
        for case in data["cases"]
    ]  # fmt: skip
    limits = data["limits"]
    of = {case["dtype"]: case["median"] for case in data["cases"]}
    best_ott = [
        min((value for name, value in medians.items() if name.startswith(OTT) and value > 0), default=math.nan)
        / medians[OURS]
        for medians in of.values()
        if OURS in medians
    ]
    known = [value for value in best_ott if math.isfinite(value)]
    return Reading(
        "One Sinkhorn iteration",
        f"{data['n']} × {data['m']} points in the plane, euclidean cost, ε = {EPSILON}; both potentials updated "
        "once, in the log domain. Ours is the engine's fused sweep, which computes the cost on the way; POT, NumPy, "
        "torch and “stored cost” read it from memory. Libraries are timed by the difference of two runs. ns per "
        "entry, medians.",
        [
            Table("Nanoseconds per entry (in brackets: over ours)", ["dtype", *names], rows),
            Table(
                "Limits of the machine, all cores",
                ["np.exp float64", "np.exp float32", "copy", "dot"],
                [
                    [
                        f"{limits['exp_float64_ns']:.2f} ns",
                        f"{limits['exp_float32_ns']:.2f} ns",
                        f"{limits['copy_gb_per_s']:.1f} GB/s",
                        f"{limits['dot_gb_per_s']:.1f} GB/s",
                    ]
                ],
            ),
        ],
        [
            _below("float64: at most 0.6 ns per entry", of.get("float64", {}).get(OURS), 0.6),
            _below("float32: at most 0.3 ns per entry", of.get("float32", {}).get(OURS), 0.3),
            Target(
                "at least 5 times faster than OTT-JAX per iteration",
                min(known) >= 5.0 if known else None,
                f"smallest ratio {times(min(known))}" if known else "OTT-JAX was not there",
            ),
        ],
    )


def _cell(case: dict[str, Any], name: str) -> str:
    value, own = case["median"].get(name), case["median"].get(OURS)
    if value is None:
        return case["notes"].get(name, "–")
    return f"{value:.2f}" if name == OURS or not own else f"{value:.2f} ({times(value / own)})"


def _below(text: str, value: float | None, limit: float) -> Target:
    return Target(text, None, "not measured") if value is None else Target(text, value <= limit, f"{value:.3g} ns")
