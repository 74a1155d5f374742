"""What this machine can do at best: exponentials and memory traffic."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

from driftway.engines.cores import available_cores


def machine_limits(repetitions: int, entries: int) -> dict[str, float]:
    """ns per np.exp on all cores, and GB/s of a copy and of a dot product on all cores."""
    return {
        "exp_float64_ns": _exponentials(np.dtype(np.float64), repetitions, entries),
        "exp_float32_ns": _exponentials(np.dtype(np.float32), repetitions, entries),
        "copy_gb_per_s": _copy(repetitions, entries),
        "dot_gb_per_s": _dot(repetitions, entries),
    }


def _timed(work: Callable[[int], object], repetitions: int) -> float:
    """The median seconds of all cores doing their share at once."""
    cores, took = available_cores(), []
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(repetitions + 1):
            began = time.perf_counter()
            list(pool.map(work, range(cores)))
            took.append(time.perf_counter() - began)
    return median(took[1:])


def _exponentials(dtype: np.dtype[np.floating], repetitions: int, entries: int) -> float:
    """Blocks that fit the cache of a core, as a sweep has them."""
    size, cores = 2**14, available_cores()
    rounds = max(1, entries // (size * cores))
    blocks = [np.linspace(-20.0, 0.0, size).astype(dtype) for _ in range(cores)]
    results = [np.empty_like(block) for block in blocks]

    def work(core: int) -> None:
        for _ in range(rounds):
            np.exp(blocks[core], out=results[core])

    return 1e9 * _timed(work, repetitions) / (rounds * size * cores)


def _copy(repetitions: int, entries: int) -> float:
    cores = available_cores()
    sources = [np.ones(entries) for _ in range(cores)]
    targets = [np.empty(entries) for _ in range(cores)]
    took = _timed(lambda core: np.copyto(targets[core], sources[core]), repetitions)
    return 1e-9 * 16 * entries * cores / took


def _dot(repetitions: int, entries: int) -> float:
    cores = available_cores()
    arrays = [np.ones(entries) for _ in range(2 * cores)]
    took = _timed(lambda core: float(arrays[2 * core] @ arrays[2 * core + 1]), repetitions)
    return 1e-9 * 16 * entries * cores / took
