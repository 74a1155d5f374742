"""`python -m benchmarks.scaling`: what a sweep costs on every engine, and what the cluster moves for it.

Engines take turns in one run, so that ratios mean something on a busy machine too. The numbers feed the cost model
of docs/scaling.md.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, storage
from driftway import PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Dask, Threads, Torch
from driftway.engines.engine import Request
from driftway.geometry.matrices import Factored
from driftway.solvers import DualAscent, Sinkhorn

EPSILON = 0.1
WIRE_SWEEPS = 5
Clock = Callable[[], float]


def points(n: int, d: int, seed: int) -> np.ndarray:
    """Normal points (n×d)."""
    return np.random.default_rng(seed).normal(size=(n, d))


def request(cost: Any, right: np.ndarray | None, g: np.ndarray) -> Request:
    """A normalising sweep over a point cloud, with the moments `right` if there are any."""
    n, m = cost.shape
    basis = np.empty((m, 0)) if right is None else right
    log = Factored.of_cost(cost, basis, np.empty((n, 0))) / -EPSILON
    return Request(log, cost.constant(0.0), g, row_mass=cost.constant(1.0 / n), right=right)


def seconds(engines: dict[str, tuple[Any, Request]], repeats: int) -> dict[str, list[float]]:
    """Times of a sweep on every engine, taking turns; the first turn warms up and does not count."""
    found: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(repeats + 1):
        for name, (engine, asked) in engines.items():
            began = time.perf_counter()
            engine.sweep(asked)
            if turn:
                found[name].append(time.perf_counter() - began)
    return found


def sweeps(cluster: Dask, cases: list[tuple[int, int, int]], repeats: int) -> list[dict[str, Any]]:
    """Seconds per sweep by size, features and moments; `torch` only where it takes no minutes."""
    rows = []
    for n, d, r in cases:
        X, Y, g = points(n, d, 0), points(n, d, 1), np.random.default_rng(2).normal(size=n)
        right = None if r == 0 else points(n, r, 3)
        local, remote = PointCloudCost(X, Y), cluster.cloud(X, Y)
        engines: dict[str, tuple[Any, Request]] = {
            "threads": (Threads(memory=0), request(local, right, g)),
            "dask": (cluster, request(remote, right, g)),
            "dask, rows on the client": (cluster, request(local, right, g)),
        }
        if n <= 20_000:
            engines["torch"] = (Torch(mixed=False), request(local, right, g))
        row = {"n": n, "m": n, "d": d, "r": r, "seconds": seconds(engines, repeats)}
        row["ratio"] = float(np.median(row["seconds"]["dask"]) / np.median(row["seconds"]["threads"]))
        print(row, flush=True)
        rows.append(row)
    return rows


def links(cluster: Dask, sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """What a sweep over hardly any rows takes: constants to the workers, sums back, and bytes moved."""
    rows = []
    for m in sizes:
        cost, g = cluster.cloud(points(8, 2, 0), points(m, 2, 1)), np.random.default_rng(2).normal(size=m)
        asked, times, moved = request(cost, None, g), [], []
        for turn in range(repeats + 1):
            began, before = time.perf_counter(), cluster.traffic.sent + cluster.traffic.received
            cluster.sweep(asked)
            if turn:
                times.append(time.perf_counter() - began)
                moved.append((cluster.traffic.sent + cluster.traffic.received - before) / cluster.workers)
        rows.append({"m": m, "seconds": times, "bytes_per_worker": moved[-1]})
        print(rows[-1], flush=True)
    return rows


def traffic(cluster: Dask, cases: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Bytes per sweep and worker beside 3·m·(r + 2) numbers, rows being with the workers."""
    rows = []
    for n, m, r in cases:
        cost, g = cluster.cloud(points(n, 2, 0), points(m, 2, 1)), np.random.default_rng(2).normal(size=m)
        asked = request(cost, points(m, r, 3) if r else None, g)
        cluster.sweep(asked)
        before, wires = cluster.traffic.sent + cluster.traffic.received, cluster.client.run(wire)
        for _ in range(WIRE_SWEEPS):
            cluster.sweep(asked)
        moved = (cluster.traffic.sent + cluster.traffic.received - before) / cluster.workers / WIRE_SWEEPS
        after = cluster.client.run(wire)
        worst = max(after[worker] - wires[worker] for worker in wires) / WIRE_SWEEPS
        row = {"n": n, "m": m, "r": r, "bytes_per_worker": moved, "on_the_wire": worst}
        rows.append({**row, "allowed": 3 * m * (r + 2) * 8})
        print(rows[-1], flush=True)
    return rows


def wire() -> int:
    """Bytes that this process has received and sent over all TCP connections that are open, as the system counts."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if os.readlink(entry).startswith("socket:"):
                with socket.socket(fileno=os.dup(int(entry.name))) as link:
                    if link.family == socket.AF_INET and link.type == socket.SOCK_STREAM:
                        # struct tcp_info of Linux: bytes acknowledged and bytes received.
                        info = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                        total += sum(struct.unpack_from("QQ", info, 120))
    return total


def kills(cluster: Dask, count: int, n: int, m: int) -> list[dict[str, Any]]:
    """Solves during which a worker is killed at a random moment, and how far off they end."""
    rows, chance = [], random.Random(0)
    for name, solver in (("plain", Sinkhorn()), ("time", DualAscent())):
        local, spread = _problems(cluster, name, n, m)
        expected = solve(local, solver, tol=1e-9, engine=Threads(memory=0, mixed=False))
        began = time.perf_counter()
        solve(spread, solver, tol=1e-9, engine=cluster)
        undisturbed = time.perf_counter() - began
        inside = 0
        while inside < count:
            victim = chance.choice(_processes(cluster))
            _, spread = _problems(cluster, name, n, m)  # anew, so that whoever is killed has rows
            moment = chance.uniform(0.0, 0.9 * undisturbed)
            timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            began = time.perf_counter()
            timer.start()
            found = solve(spread, solver, tol=1e-9, engine=cluster)
            taken = time.perf_counter() - began
            if timer.is_alive():  # the solve was faster than the one before: another moment
                timer.cancel()
                continue
            inside += 1
            off = abs(found.value - expected.value) / abs(expected.value)
            row = {"case": name, "killed_after": moment, "seconds": taken, "undisturbed": undisturbed, "off": off}
            rows.append(row)
            print(row, flush=True)
    return rows


def _problems(cluster: Dask, name: str, n: int, m: int) -> tuple[Problem, Problem]:
    """A problem in memory, and the same with its rows on the workers."""
    X, Y = points(n, 2, 0), points(m, 2, 1)
    source, Z = cluster.rows(X), X + 0.3
    smooth, remote = None, None
    if name == "time":
        smooth, remote = TimeSmoothness(Y, Z, 0.5), TimeSmoothness(Y, cluster.rows(Z, like=source), 0.5)
    return (
        Problem(PointCloudCost(X, Y), epsilon=0.2, regularizer=smooth),
        Problem(cluster.cloud(source, Y), epsilon=0.2, regularizer=remote),
    )


def _processes(cluster: Dask) -> list[int]:
    """The workers' processes, once there are as many as at first; bounded."""
    for _ in range(300):
        cluster.rows(np.zeros(1))  # the engine sees to it that there are as many
        found = cluster.client.run(os.getpid, on_error="ignore")
        if len(found) >= cluster.workers:
            return list(found.values())
        time.sleep(0.2)
    raise RuntimeError("workers that were killed did not come back in a minute")


def main(arguments: list[str] | None = None) -> None:
    """Measures everything and stores it part by part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--part", action="append", choices=["sweeps", "links", "traffic", "kills"])
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results")
    options = parser.parse_args(arguments)
    folder = options.output or storage.RESULTS
    data = storage.load(folder, "scaling") or {"part": "scaling"}
    data["machine"] = machine.describe()
    large = [(5_000, 2, 0)] if options.quick else [(10_000, 2, 0), (10_000, 8, 0), (10_000, 2, 5), (50_000, 2, 0)]
    sizes = [1_000, 10_000] if options.quick else [1_000, 10_000, 100_000, 1_000_000]
    counts = [(500, 2_000, 2), (5_000, 2_000, 2)] if options.quick else _TRAFFIC
    with Dask(workers=2) as cluster:
        run: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "sweeps": lambda: sweeps(cluster, large, 1 if options.quick else 3),
            "links": lambda: links(cluster, sizes, 3 if options.quick else 7),
            "traffic": lambda: traffic(cluster, counts),
            "kills": lambda: kills(
                cluster, 1 if options.quick else 10, *((500, 200) if options.quick else (4000, 2000))
            ),
        }
        for part in options.part or run:
            data[part] = run[part]()
            storage.save(data, folder, "scaling")


_TRAFFIC = [(n, m, r) for m in (10_000, 100_000) for r in (0, 2, 5) for n in (1_000, 20_000)]

if __name__ == "__main__":
    main()
