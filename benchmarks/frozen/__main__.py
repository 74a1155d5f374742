"""`python -m benchmarks.frozen`: 40 problems and 10 streams whose results stay, whatever becomes of the code.

`write FILE.npz` solves and adapts all of them; `compare BEFORE.npz AFTER.npz` tells which results changed: bit for bit
after code has only moved, to `--tol 1e-10` after algorithms were merged. Bits are those of one machine: compiled code
and the number of threads depend on it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import metadata, util
from pathlib import Path

import numpy as np

from benchmarks.frozen.cases import CASES, Engines
from benchmarks.frozen.comparing import BETWEEN, MACHINE, compare
from benchmarks.frozen.problems import Result
from benchmarks.frozen.streams import STREAMS

# What bits may depend on.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "dask")


def results(only: str = "") -> Iterator[tuple[str, Result]]:
    """Every case whose name contains `only`, with its results."""
    with ExitStack() as stack:
        engines = Engines(stack)
        for case in CASES:
            if only in case.name and (engine := engines[case.engine]) is not None:
                yield case.name, case.run(engine)
    for name, run in STREAMS.items():
        if only in name:
            yield name, run()


def machine() -> str:
    """What bits may depend on beside the code."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = [
        f"{name} {metadata.version(name)}"
        for name in LIBRARIES
        if util.find_spec(name.replace("scikit-learn", "sklearn"))
    ]
    return ", ".join([f"{cores} cores", f"Python {sys.version.split()[0]}", *versions])


def write(path: Path, only: str) -> None:
    """Runs everything and writes what was found to one file."""
    arrays: Result = {MACHINE: np.array(machine())}
    count, began = 0, time.perf_counter()
    last = began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # problems that are not solved in time are cases, too
        for name, found in results(only):
            arrays |= {f"{name}{BETWEEN}{key}": value for key, value in found.items()}
            last, before = time.perf_counter(), last
            count += 1
            print(f"{last - before:7.2f} s  {name}  {found.get('message', '')}")
    np.savez_compressed(path, allow_pickle=False, **arrays)
    print(f"{count} cases in {last - began:.0f} s, written to {path}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="run everything and write what was found")
    writing.add_argument("file", type=Path)
    writing.add_argument("--only", default="", help="only cases whose name contains this")
    comparing = commands.add_parser("compare", help="tell what differs between two files")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--tol", type=float, default=0.0, help="largest relative difference; 0 is bit for bit")
    given = parser.parse_args()
    if given.command == "write":
        write(given.file, given.only)
        return 0
    return compare(given.before, given.after, given.tol)


if __name__ == "__main__":
    sys.exit(main())
