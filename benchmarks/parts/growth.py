"""Growth: a point-cloud problem with the time regulariser, from 1000 × 1000 to 100000 × 100000."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ledger import Ledger
from benchmarks.progress import cases
from benchmarks.reading import Reading, Table, Target, seconds, small
from benchmarks.scale import Scale

TOL = 1e-3
SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
LARGE = 100_000
ROOT = Path(__file__).resolve().parents[2]
# Up to here the engine may hold the kernel as an array, by its own budget; above it memory has to be linear.
STORED = 11_600
NOT_RUN = {"status": "over budget", "note": "not run: a smaller one was over budget"}


def run(scale: Scale, ledger: Ledger) -> None:
    """One fresh process per size; after one that was over budget, no larger ones."""
    sizes = [n for n in scale.pick(SIZES, (500, 1000)) if n <= scale.largest]
    budget = scale.budget(600.0, 5.0)
    ledger.save(budget=budget, tol=TOL)
    beaten = False
    with cases(sizes, "growth") as (items, announce):
        for n in items:
            entry = ledger.find({"n": n})
            if entry is None:
                announce(f"{n} × {n}")
                entry = {"n": n, **NOT_RUN} if beaten else _measured(n, budget)
                ledger.add({"n": n}, entry)
            beaten = entry["status"] == "over budget"


def _measured(n: int, budget: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth_child", f"--size={n}", f"--tol={TOL}", f"--budget={budget}"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * budget + 60, check=False)
    except subprocess.TimeoutExpired:
        return {"n": n, "status": "over budget", "note": f"stopped after {2 * budget + 60:g} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"n": n, "status": "failed", "note": lines[-1][:200] if lines else f"exit code {done.returncode}"}
    measured: dict[str, Any] = json.loads(done.stdout)
    reached = measured["gap"] <= TOL and measured["marginal_error"] <= TOL
    return {**measured, "status": "reached" if reached else "over budget", "note": ""}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(values) over log(sizes); NaN for fewer than two."""
    kept = [(s, v) for s, v in zip(sizes, values, strict=True) if v > 0]
    if len(kept) < 2:
        return math.nan
    x, y = np.log(np.array(kept)).T
    return float(np.polyfit(x, y, 1)[0])


def read(data: dict[str, Any]) -> Reading:
    """The targets: fitted exponents, and the largest problem within a gibibyte."""
    measured = [case for case in data["cases"] if "sweep_seconds" in case]
    solved = [case for case in measured if case["status"] == "reached"]
    streamed = [case for case in measured if case["n"] > STORED]
    area = exponent([case["n"] ** 2 for case in measured], [case["sweep_seconds"] for case in measured])
    whole = exponent([case["n"] ** 2 for case in solved], [case["seconds"] for case in solved])
    memory = exponent([2 * case["n"] for case in streamed], [case["extra_mib"] for case in streamed])
    return Reading(
        "Growth",
        f"Rotating moons with the time regulariser (mean, weight 1), euclidean cost, ε = 0.5, to a certified gap of "
        f"{data['tol']:g}; each size in a fresh process. Memory is the peak resident size on top of the process after "
        f"a tiny solve. Its exponent is fitted above n = {STORED}, where the engine holds no n × m array any more.",
        [Table("Time and memory", HEADER, [_row(case) for case in data["cases"]])],
        [
            _exponent("a sweep: exponent of time in n·m at most 1.05", area, 1.05),
            _exponent("whole solve: exponent of time in n·m at most 1.05", whole, 1.05),
            _exponent("exponent of memory in n + m at most 1.1", memory, 1.1),
            _large(data),
        ],
    )


HEADER = ["n = m", "status", "whole solve", "Sinkhorn iterations", "one sweep", "ns per entry", "memory", "gap"]


def _row(case: dict[str, Any]) -> list[str]:
    if "sweep_seconds" not in case:
        return [str(case["n"]), f"{case['status']}: {case['note']}", *["–"] * 6]
    return [
        str(case["n"]),
        case["status"],
        seconds(case["seconds"]),
        str(case["sinkhorn_iterations"]),
        seconds(case["sweep_seconds"]),
        f"{1e9 * case['sweep_seconds'] / case['n'] ** 2:.2f}",
        f"{case['extra_mib']:.0f} MiB",
        small(case["gap"]),
    ]


def _exponent(text: str, value: float, limit: float) -> Target:
    if not math.isfinite(value):
        return Target(text, None, "too few sizes")
    return Target(text, value <= limit, f"{value:.3f}")


def _large(data: dict[str, Any]) -> Target:
    text = f"{LARGE} × {LARGE} to a gap of {data['tol']:g} within 1 GiB"
    case = next((case for case in data["cases"] if case["n"] == LARGE), None)
    if case is None:
        return Target(text, None, "not in this run")
    if case["status"] != "reached":
        return Target(text, False, case["note"] or f"{case['status']}: gap {small(case.get('gap'))}")
    measured = f"{seconds(case['seconds'])}, {case['extra_mib']:.0f} MiB ({case['peak_mib']:.0f} with the process)"
    return Target(text, case["peak_mib"] <= 1024, measured)
