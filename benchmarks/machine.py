"""What the numbers were measured on; no names of hosts, no paths."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path

from driftway.engines.cores import available_cores

PACKAGES = (
    "driftway", "numpy", "scipy", "scikit-learn", "numba", "POT", "ott-jax", "jax", "geomloss", "torch", "regot",
)  # fmt: skip


# What the entrants import: all of it before the first clock starts, or the first of them would pay for it.
MODULES = ("sklearn.datasets", "ot", "jax", "ott.solvers.linear.sinkhorn", "torch", "geomloss.ot", "regot")


def import_everything() -> None:
    """Imports every library that takes part and is installed; what is missing or broken is found out later."""
    for module in MODULES:
        with suppress(ImportError):
            import_module(module)


def describe() -> dict[str, object]:
    """Processor, cores, memory and the versions of all packages that take part."""
    return {
        "cpu": _cpu(),
        "cores": available_cores(),
        "memory_gib": _memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name)) is not None},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> float | None:
    information = Path("/proc/meminfo")
    if not information.exists():
        return None
    kilobytes = int(information.read_text().split()[1])
    return round(kilobytes / 2**20, 1)
