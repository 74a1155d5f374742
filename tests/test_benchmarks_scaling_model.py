"""The cost model of scaling out: it is what it is fitted to."""

from __future__ import annotations

import pytest

from benchmarks.scaling_model import CORES, CostModel, table

TRUE = CostModel(1e-9, 2e-10, 3e-10, 0.02, 5e8)


def measured() -> dict[str, list[dict]]:
    """What a machine would measure that obeys the model."""
    sweeps = [
        {"n": n, "m": n, "d": d, "r": r, "seconds": {"threads": [TRUE.compute(n, n, d, r, CORES)]}}
        for n, d, r in ((1000, 2, 0), (1000, 8, 0), (1000, 2, 5), (5000, 2, 0))
    ]
    links = [{"m": m, "seconds": [TRUE.network(m, 2)]} for m in (1000, 10_000, 1_000_000)]
    return {"sweeps": sweeps, "links": links}


def test_the_fit_finds_the_constants() -> None:
    found = CostModel.fitted(measured())
    for name in ("entry", "per_feature", "per_moment", "latency", "bandwidth"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-6)


def test_network_and_compute_are_level_at_the_rows_per_core_that_the_model_says() -> None:
    workers, cores, bandwidth, m = 64, 64 * 32, 1e9, 10**7
    rows = TRUE.rows_per_core(10, 2, workers, bandwidth)
    compute = TRUE.compute(round(rows * cores), m, 10, 2, cores)
    assert compute == pytest.approx(TRUE.network(m, workers, bandwidth) - TRUE.latency, rel=1e-3)


def test_more_entries_cost_in_proportion() -> None:
    assert TRUE.compute(10**8, 10**8, 3, 2, 64) == pytest.approx(100 * TRUE.compute(10**7, 10**7, 3, 2, 64))
    assert table(TRUE).count("\n") == 5
