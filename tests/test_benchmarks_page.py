"""The benchmark's ledger, readings and page: what was measured is stored, resumed and told."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import write_page
from benchmarks.interleave import Record
from benchmarks.ledger import Ledger
from benchmarks.parts import group_lasso
from benchmarks.parts.growth import exponent
from benchmarks.reading import at_least, equal_objective
from benchmarks.report import page, terminal
from benchmarks.scale import Scale
from benchmarks.storage import load, save


def test_a_run_that_measured_nothing_replaces_nothing(tmp_path: Path) -> None:
    case = {"n": 1}
    Ledger(tmp_path, "small").add(case, {"case": case, "records": []})
    Ledger(tmp_path, "small").save(budget=1.0)  # begun, and killed before its first case
    stored = load(tmp_path, "small")
    assert stored is not None
    assert len(stored["cases"]) == 1


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first, second, third = ({"n": n, "ε": 0.5} for n in (1, 2, 3))
    ledger = Ledger(tmp_path, "part", quick=False)
    for case in (first, second):
        assert ledger.find(case) is None
        ledger.add(case, {"case": case, "records": [case["n"]]})
    ledger.save(budget=4.0)  # and here it is killed
    resumed = Ledger(tmp_path, "part", resume=True, quick=True)
    assert [resumed.find(case) is None for case in (first, second, third)] == [False, False, True]
    resumed.add(third, {"case": third, "records": [3]})
    again = Ledger(tmp_path, "part", again=["n 2"], quick=True)
    assert [again.find(case) is None for case in (first, second, third)] == [False, True, False]
    again.add(second, {"case": second, "records": [20]})
    assert again.find(second) is not None
    stored = load(tmp_path, "part")
    assert stored is not None
    assert [entry["records"] for entry in stored["cases"]] == [[1], [20], [3]]
    assert (stored["budget"], stored["quick"], stored["part"]) == (4.0, True, "part")
    assert Ledger(tmp_path, "part").find(first) is None  # without --resume everything is measured anew


def test_a_part_takes_its_cases_from_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is missing is raced, and every race is on disk before the next begins."""
    from benchmarks.parts import small

    raced: list[int] = []

    def fake_race(*arguments: object, **options: object) -> list[Record]:
        stored = load(tmp_path, "small")
        raced.append(0 if stored is None else len(stored["cases"]))
        return [Record("driftway", ours=True, reference=True, status="reached", seconds=[0.1])]

    monkeypatch.setattr(small, "race", fake_race)
    monkeypatch.setattr(small, "tight_bound", lambda *arguments, **options: 0.0)
    small.run(Scale(quick=True), Ledger(tmp_path, "small"))
    assert raced == [0, 1, 2, 3]
    small.run(Scale(quick=True), Ledger(tmp_path, "small", resume=True))
    assert len(raced) == 4
    small.run(Scale(quick=True), Ledger(tmp_path, "small", again=["weight 1,"]))
    assert len(raced) == 6


def fake_record(name: str, seconds: float, *, gap: float = 1e-7, **more: object) -> dict[str, object]:
    record = {
        "name": name, "ours": False, "reference": False, "settings": f"{name}()", "status": "reached",
        "seconds": [seconds], "median": seconds, "gap": gap, "marginal_error": 1e-9, "certified": math.nan,
        "prepared": 0.0, "budget": 10.0, "note": "", "curve": [], "extra": {},
        "attempts": [{"settings": "x", "seconds": seconds, "gap": gap, "marginal_error": 1e-9, "note": ""}],
    }  # fmt: skip
    return {**record, **more}


def fake_case(**case: object) -> dict[str, object]:
    own = fake_record("driftway", 0.5, ours=True, reference=True, curve=[[0.1, 1e-2], [0.2, 1e-4], [0.5, 1e-7]])
    return {
        "case": case,
        "records": [
            own,
            fake_record("CGS", 6.0, ours=True),
            fake_record("Algorithm 1, α = 10", 2.0, ours=True),
            fake_record("POT gcg", 3.0, gap=5e-3, status="failed", note="no setting"),
            fake_record("POT sinkhorn_l1l2_gl", 8.0, gap=5e-3, status="over budget"),
        ],
    }


def test_equal_objective_reads_our_trace() -> None:
    assert equal_objective(fake_case(), "POT gcg") == pytest.approx(3.0 / 0.2)
    assert math.isnan(equal_objective(fake_case(), "nobody"))
    easy = fake_case()
    easy["records"][3] |= {"gap": 1e-12, "attempts": []}  # beyond what was asked for
    assert equal_objective(easy, "POT gcg") == pytest.approx(3.0 / 0.5)


def test_group_lassos_are_compared_in_the_race_to_the_smallest_gap_that_pot_reached() -> None:
    def lasso(gap: float, seconds: float, status: str) -> dict[str, object]:
        case = fake_case(n=500, gap=gap)
        case["records"][-1] = fake_record("POT sinkhorn_l1l2_gl", seconds, gap=gap, status=status)
        return case

    cases = [lasso(1e-3, 8.0, "failed"), lasso(1e-6, 9.0, "failed"), lasso(2e-2, 7.0, "reached")]
    target = group_lasso.read({"cases": cases, "budget": 10.0}).targets[0]
    assert (target.reached, target.measured) == (True, "smallest ratio 14×")
    assert group_lasso._missed(cases[:2]) == pytest.approx(1e-6)
    assert math.isnan(group_lasso._missed(cases))
    cases[1] = lasso(1e-6, 4.0, "reached")
    target = group_lasso.read({"cases": cases, "budget": 10.0}).targets[0]
    assert (target.reached, target.measured) == (False, "smallest ratio 8×")


def test_a_lower_bound_below_the_target_decides_nothing() -> None:
    assert at_least("", 10.0, [(12.0, False), (3.0, True)]).reached is None
    assert at_least("", 10.0, [(12.0, False), (3.0, False)]).reached is False
    assert at_least("", 10.0, [(12.0, True)]).reached is True
    assert at_least("", 10.0, [(12.0, False)], lost=1).reached is False
    assert at_least("", 10.0, []).reached is None


def test_exponents_are_fitted() -> None:
    sizes = np.array([10.0, 100.0, 1000.0])
    assert exponent(sizes, 3 * sizes**1.5) == pytest.approx(1.5)
    assert math.isnan(exponent(sizes[:1], sizes[:1]))


def steps_case(m: int, J: str) -> dict[str, object]:
    """Compiled steps in the time of one column each, sweeps in that of 300."""
    seconds = {"compiled": 1e-3 * m, "by sweeps": 0.3}
    return {
        "case": {"n": m, "m": m, "J": J, "ε / mean cost": 0.5},
        "records": [
            {"name": name, "reference": name == "compiled", "status": "reached", "median": median}
            for name, median in seconds.items()
        ],
    }


def synthetic() -> dict[str, dict[str, object]]:
    """Numbers of every part, made up."""
    growth = [
        {"n": n, "status": "reached", "note": "", "gap": 5e-4, "seconds": 1e-7 * n**2, "sinkhorn_iterations": 50,
         "sweep_seconds": 6e-10 * n**2, "extra_mib": 1e-3 * n, "peak_mib": 100 + 1e-3 * n}
        for n in (20_000, 50_000, 100_000)
    ]  # fmt: skip
    medians = {"driftway": 0.5, "OTT-JAX": 5.0}
    figure2 = [fake_case(**{"λ": s, "normalization": k}) for s in (0.5, 0.01) for k in ("coupling", "mean", "sum")]
    return {
        "figure2": {"cases": figure2, "budget": 10.0},
        "group_lasso": {"cases": [fake_case(**{"ε": 0.1, "η": 2.0, "n": 500, "m": 50, "gap": 1e-6})], "budget": 10.0},
        "entropic": {
            "cases": [fake_case(**{"metric": "euclidean", "given as": "matrix", "n": 5000, "ε / mean cost": 0.5})],
            "budget": 10.0,
        },
        "growth": {"cases": growth, "budget": 10.0, "tol": 1e-3},
        "small": {"cases": [fake_case(weight=1.0)], "budget": 10.0},
        "newton": {"cases": [steps_case(10, "none"), steps_case(100, "mean"), steps_case(300, "mean")]},
        "sweep": {
            "cases": [{"dtype": "float64", "median": medians, "ns": {}, "notes": {"POT sinkhorn_log": "ImportError"}}],
            "limits": {"exp_float64_ns": 1.0, "exp_float32_ns": 0.5, "copy_gb_per_s": 10.0, "dot_gb_per_s": 10.0},
            "n": 5000,
            "m": 1000,
        },
    }


def test_the_page_is_made_from_the_stored_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.plots.MISSING", "no pictures here")
    machine = {"cpu": "A processor", "cores": 2, "python": "3.11", "packages": {"numpy": "2"}}
    for name, data in synthetic().items():
        save({**data, "part": name, "quick": False, "machine": machine, "seconds": 60.0}, tmp_path, name)
    text = write_page(tmp_path).read_text()
    assert "| Figure 2 | mean: at least 10 times faster than CGS | reached | smallest ratio 12× |" in text
    assert "3× to the target" not in text
    assert "– to the target (gap 5e-03, to which 15×)" in text
    assert (
        "| Group lasso | at least 10 times faster than POT at equal objective | reached | smallest ratio > 20× |"
        in text
    )
    assert (
        "Algorithm 1 takes at λ = 0.5 2 s (0 steps, 0 Sinkhorn iterations) against 6 s (0 steps, 0 Sinkhorn "
        "iterations) and at λ = 0.01 2 s" in text
    )
    assert "| Growth | exponent of memory in n + m at most 1.1 | reached | 1.000 |" in text
    assert "| One Sinkhorn iteration | float64: at most 0.6 ns per entry | reached | 0.5 ns |" in text
    # Only cases in which compiled steps are taken, with a regulariser, count.
    assert "compiled steps at least 2 times faster, where J is not none | reached | smallest ratio 3× |" in text
    assert "| 300 × 300 | mean | 300 ms, 1× |" in text
    assert "| Small problems | a few milliseconds (at most 5 ms) per solve | **not reached** | slowest 500 ms |" in text
    assert "A processor, 2 cores" in text
    assert str(tmp_path) not in text


def test_numbers_survive_storage(tmp_path: Path) -> None:
    save({"gap": math.nan, "n": np.int64(3), "x": np.float64(0.25), "list": (1, math.inf)}, tmp_path, "part")
    loaded = load(tmp_path, "part")
    assert loaded is not None
    assert math.isnan(loaded.pop("gap"))
    assert loaded == {"n": 3, "x": 0.25, "list": [1, None]}
    assert load(tmp_path, "nothing") is None


def test_readings_print(tmp_path: Path) -> None:
    from importlib import import_module

    for name, data in synthetic().items():
        reading = import_module(f"benchmarks.parts.{name}").read(data)
        assert reading.title in terminal(reading)
        assert reading.about in page({name: (data, reading)})
