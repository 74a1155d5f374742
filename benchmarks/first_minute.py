"""`python -m benchmarks.first_minute`: seconds of processor time until the first answers of an installation.

Each run is a process of its own. A cold one has an empty cache of compiled code, a warm one the cache that a cold one
left.
Both include the start of Python and all imports. Processor time is that of all threads, in user and system mode.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

IMPORT = "import driftway"
DATA = """
import json, time
import numpy as np
import driftway
rng = np.random.default_rng(0)
def timed(call):
    began = time.process_time()
    call()
    return time.process_time() - began
"""
SINKHORN = """
X, Y = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2)) + 1.0
def first():
    driftway.sinkhorn(driftway.PointCloudCost(X, Y), epsilon=0.05)
print(json.dumps({"first call": timed(first), "second call": timed(first)}))
"""
PARTIAL_FIT = """
y = np.arange(500) % 2
X = rng.normal(size=(500, 2)) + 3.0 * y[:, None]
batches = iter([X[rng.permutation(500)[:50]] + 0.2 * (k + 1) for k in range(2)])
model = driftway.ContinuousTransportClassifier()
fit = timed(lambda: model.fit(X, y))
first, second = (timed(lambda: model.partial_fit(next(batches))) for _ in range(2))
print(json.dumps({"fit": fit, "first call": first, "second call": second}))
"""
CALLS = {"sinkhorn 1000 × 1000": SINKHORN, "partial_fit 500 × 50": PARTIAL_FIT}


def run(code: str, cache: str) -> dict[str, float]:
    """The processor time of a process, and what it tells of its parts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"whole process": total} | (json.loads(done.stdout) if done.stdout.strip() else {})


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Part by part."""
    return {name: statistics.median(one[name] for one in runs) for name in runs[0]}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_minute", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of which the medians are told")
    runs = range(parser.parse_args().runs)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as nothing:
        python = medians([run("pass", nothing) for _ in runs])["whole process"]
        imports = medians([run(IMPORT, nothing) for _ in runs])["whole process"]
        found["import driftway"] = {"whole process": imports, "without Python's own start": imports - python}
    for name, code in CALLS.items():
        cold, warm = [], []
        for _ in runs:
            with tempfile.TemporaryDirectory() as cache:
                cold.append(run(DATA + code, cache))
                warm.append(run(DATA + code, cache))
        found |= {f"{name}, cold": medians(cold), f"{name}, warm": medians(warm)}
    print("| seconds of processor time | what | median |\n|---|---|---|")
    for name, parts in found.items():
        for part, seconds in parts.items():
            print(f"| {name} | {part} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
