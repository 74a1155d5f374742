"""One size of the growth part, in a process of its own: prints what it took as JSON."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.ours import Deadline, default_engine
from benchmarks.problems import growing_problem
from driftway import solve
from driftway.engines.engine import Request
from driftway.problem.model import Model


def main() -> None:
    """Measures a sweep and a solve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--budget", type=float, default=600.0)
    arguments = parser.parse_args()
    json.dump(measure(arguments.size, arguments.tol, arguments.budget), sys.stdout)


def measure(n: int, tol: float, budget: float) -> dict[str, object]:
    """Seconds of one sweep and of a whole solve, and the memory on top of what an idle process has."""
    warnings.simplefilter("ignore")
    solve(growing_problem(50), tol=tol)  # imports, pools and compilations
    baseline = present_mebibytes()
    problem = growing_problem(n)
    sweep = seconds_per_sweep(problem, min(20.0, 0.1 * budget))
    began = time.perf_counter()
    solution = solve(problem, tol=tol, max_iter=10**6, callback=Deadline(budget))
    seconds = time.perf_counter() - began
    return {
        "n": n,
        "gap": solution.gap,
        "marginal_error": solution.marginal_error,
        "converged": solution.converged,
        "seconds": seconds,
        "iterations": solution.n_iter,
        "sinkhorn_iterations": int(sum(line.inner for line in solution.trace)),
        "sweep_seconds": sweep,
        "baseline_mib": baseline,
        "peak_mib": peak_mebibytes(),
        "extra_mib": peak_mebibytes() - baseline,
        "message": solution.message,
    }


def seconds_per_sweep(problem: object, patience: float) -> float:
    """The median of a few Sinkhorn iterations by the engine, after one that finds safe shifts."""
    model = Model(problem, default_engine())  # type: ignore[arg-type]
    log = model.cost / -model.epsilon
    n, m = log.shape
    f, g = np.zeros(n), np.zeros(m)
    took: list[float] = []
    while len(took) < 6 and sum(took) < patience:
        began = time.perf_counter()
        swept = model.engine.sweep(Request(log, f, g, row_mass=model.a))
        took.append(time.perf_counter() - began)
        f, g = swept.f, g + np.log(model.b / swept.columns)
    return float(np.median(took[1:] or took))


def present_mebibytes() -> float:
    """The resident size now."""
    import psutil

    return psutil.Process().memory_info().rss / 2**20


def peak_mebibytes() -> float:
    """The largest resident size so far.

    On Linux not `getrusage`, which after a fork and exec still knows the size of the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


if __name__ == "__main__":
    main()
