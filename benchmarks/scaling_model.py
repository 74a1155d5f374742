"""`python -m benchmarks.scaling_model`: the cost model of docs/scaling.md, fitted to what `benchmarks.scaling` found.

    seconds per sweep = n m (κ₀ + κ_d d + κ_r r) / cores + latency + 16 m (1 + c) ⌈log₂ W⌉ / bandwidth
    bytes per sweep and worker = 16 m (1 + c)

for W workers and c left moments; r counts the right ones. κ is in seconds of one core per entry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from benchmarks import storage

CORES = 2  # of the machine that was measured
# What is planned: sizes, workers, cores of each, bytes per second between them, and price of a core-hour in dollars.
PLANS = [(10**7, 16, 32), (10**7, 64, 64), (10**8, 256, 64), (10**9, 2048, 96)]
NETWORK, PRICE, SWEEPS = 1.25e9, 0.04, 100


@dataclass(frozen=True)
class CostModel:
    """The constants of the model."""

    entry: float
    per_feature: float
    per_moment: float
    latency: float
    bandwidth: float

    @classmethod
    def fitted(cls, data: dict[str, Any]) -> Self:
        """Least squares over the sweeps of the threaded engine and over the sweeps of hardly any rows."""
        rows = data["sweeps"]
        design = np.array([[1.0, row["d"], row["r"]] for row in rows])
        # All sizes weigh the same: what is fitted is the time per entry.
        measured = [CORES * np.median(row["seconds"]["threads"]) / (row["n"] * row["m"]) for row in rows]
        entry, feature, moment = np.linalg.lstsq(design, np.array(measured), rcond=None)[0]
        sizes = np.array([row["m"] for row in data["links"]], dtype=float)
        # Relative to what was measured, or only the largest would count.
        times = np.array([np.median(row["seconds"]) for row in data["links"]])
        line = np.column_stack([np.ones_like(sizes), 16.0 * sizes]) / times[:, None]
        latency, slowness = np.linalg.lstsq(line, np.ones_like(times), rcond=None)[0]
        return cls(float(entry), float(feature), float(moment), float(latency), float(1.0 / slowness))

    def compute(self, n: int, m: int, d: int, r: int, cores: int) -> float:
        """Seconds per sweep that the entries take."""
        return n * m * (self.entry + self.per_feature * d + self.per_moment * r) / cores

    def network(self, m: int, workers: int, bandwidth: float | None = None, left: int = 0) -> float:
        """Seconds per sweep that columns take to the workers and sums back, each through a tree."""
        levels = max(1, math.ceil(math.log2(workers)))
        return self.latency + 16.0 * m * (1 + left) * levels / (bandwidth or self.bandwidth)

    def rows_per_core(self, d: int, r: int, workers: int, bandwidth: float) -> float:
        """Rows per core below which the network takes longer than the entries."""
        levels = max(1, math.ceil(math.log2(workers)))
        return 16.0 * levels / bandwidth / (self.entry + self.per_feature * d + self.per_moment * r)


def table(model: CostModel, d: int = 10, r: int = 10) -> str:
    """What large runs would take, as Markdown."""
    lines = ["| n = m | workers × cores | compute / sweep | network / sweep | 100 sweeps | core-hours | dollars |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for n, workers, cores in PLANS:
        compute = model.compute(n, n, d, r, workers * cores)
        network = model.network(n, workers, NETWORK)
        hours = SWEEPS * (compute + network) / 3600
        core_hours = hours * workers * cores
        lines.append(
            f"| 10^{round(math.log10(n))} | {workers} × {cores} | {_time(compute)} | {_time(network)} | "
            f"{_time(3600 * hours)} | {core_hours:,.0f} | {PRICE * core_hours:,.0f} |"
        )
    return "\n".join(lines)


def _time(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or unit == "s":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def main() -> None:
    """Prints the constants and the table."""
    data = storage.load(storage.RESULTS, "scaling")
    if data is None:
        raise SystemExit("nothing measured yet: run python -m benchmarks.scaling")
    model = CostModel.fitted(data)
    print(model)
    print(f"network-bound below {model.rows_per_core(10, 10, 64, NETWORK):.0f} rows per core (64 workers, 10 Gbit/s)")
    print(table(model))


if __name__ == "__main__":
    main()
