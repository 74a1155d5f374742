"""Pictures of the numbers; matplotlib is imported only here, and only when there is something to draw."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reading import Case, label

MISSING = "" if find_spec("matplotlib") else "matplotlib is not installed"


def draw(name: str, data: dict[str, Any], folder: Path) -> list[str]:
    """Draws a part and returns the names of the files; none without matplotlib."""
    if MISSING:
        return []
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = {"figure2": _curves, "growth": _growth, "sweep": _sweep, "entropic": _lines}.get(name, _bars)(plt, data)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110, bbox_inches="tight")
    plt.close(figure)
    return [f"{name}.png"]


def _curves(plt: Any, data: dict[str, Any]) -> Any:
    """Objective gap over seconds, one panel per problem."""
    races = data["cases"]
    columns = min(3, len(races))
    lines = -(-len(races) // columns)
    size = 5 * columns, 3.8 * lines
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, case in zip(axes.flat, races, strict=False):
        for number, record in enumerate(case["records"]):
            curve = [(s, g) for s, g in record["curve"] if g is not None and g > 0 and math.isfinite(g)]
            if not curve:
                continue
            moments, gaps = np.array(curve).T
            style = {"linewidth": 2.5} if record["reference"] else {"linewidth": 1.2}
            axis.plot(
                np.maximum(moments, 1e-4), np.minimum.accumulate(gaps), label=record["name"], color=f"C{number}",
                marker="." if len(curve) < 30 else None, linestyle="-" if record["ours"] else "--", **style,
            )  # fmt: skip
        axis.axhline(1e-6, color="grey", linewidth=0.8, linestyle=":")
        axis.set(xscale="log", yscale="log", title=label(case["case"]), xlabel="seconds", ylabel="relative gap")
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=9)
    return figure


def _bars(plt: Any, data: dict[str, Any]) -> Any:
    """Seconds of every entrant that reached the target, case by case, and what became of the others."""
    races = data["cases"]
    names = list(dict.fromkeys(record["name"] for case in races for record in case["records"]))
    figure, axis = plt.subplots(figsize=(max(6.0, 0.9 * len(races)), 4.5))
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        heights = [_height(case, name) for case in races]
        axis.bar(np.arange(len(races)) + number * width, heights, width, label=name, color=f"C{number}")
        for place, case in enumerate(races):
            if (fate := _fate(case, name)) != "reached":
                axis.text(
                    place + number * width, 0.02, fate, color=f"C{number}", fontsize=6, rotation=90, ha="center",
                    transform=axis.get_xaxis_transform(),
                )  # fmt: skip
    axis.set(yscale="log", ylabel="seconds (median)")
    names = [label(case["case"]) for case in races]
    axis.set_xticks(np.arange(len(races)) + 0.4 - width / 2, names, rotation=40, ha="right", fontsize=7)
    axis.legend(fontsize=8)
    return figure


def _fate(case: Case, name: str) -> str:
    return next((record["status"] for record in case["records"] if record["name"] == name), "not run")


def _height(case: Case, name: str) -> float:
    for record in case["records"]:
        if record["name"] == name and record["status"] == "reached":
            return float(record["median"])
    return math.nan


def _lines(plt: Any, data: dict[str, Any]) -> Any:
    """Seconds over n, one panel per metric, form and strength."""
    groups: dict[tuple[str, str, float], list[Case]] = {}
    for case in data["cases"]:
        key = case["case"]["metric"], case["case"]["given as"], case["case"]["ε / mean cost"]
        groups.setdefault(key, []).append(case)
    names = list(dict.fromkeys(record["name"] for case in data["cases"] for record in case["records"]))
    columns = len({key[2] for key in groups})
    lines = -(-len(groups) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4.2 * columns, 3.2 * lines), squeeze=False)
    ordered = sorted(groups, key=lambda key: (key[0] != "sqeuclidean", key[1], -key[2]))
    for axis, key in zip(axes.flat, ordered, strict=False):
        for number, name in enumerate(names):
            points = [(case["case"]["n"], _height(case, name)) for case in groups[key]]
            points = [point for point in points if math.isfinite(point[1])]
            if points:
                style = {"linewidth": 2.5} if name == "driftway" else {"linewidth": 1.2, "linestyle": "--"}
                axis.plot(*np.array(points).T, marker=".", label=name, color=f"C{number}", **style)
        axis.set(xscale="log", yscale="log", xlabel="n = m", ylabel="seconds")
        axis.set_title(f"{key[0]}, {key[1]}, ε = {key[2]:g}·mean", fontsize=9)
        axis.legend(fontsize=6)
    figure.tight_layout()
    return figure


def _growth(plt: Any, data: dict[str, Any]) -> Any:
    """Time and memory over n."""
    measured = [case for case in data["cases"] if "sweep_seconds" in case]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    sizes = [case["n"] for case in measured]
    left.plot(sizes, [case["seconds"] for case in measured], marker="o", label="whole solve")
    left.plot(sizes, [case["sweep_seconds"] for case in measured], marker="o", label="one sweep")
    left.set(xscale="log", yscale="log", xlabel="n = m", ylabel="seconds")
    left.legend()
    right.plot(sizes, [max(case["extra_mib"], 0.1) for case in measured], marker="o")
    right.set(xscale="log", yscale="log", xlabel="n = m", ylabel="peak memory on top of the process, MiB")
    figure.tight_layout()
    return figure


def _sweep(plt: Any, data: dict[str, Any]) -> Any:
    """Nanoseconds per entry, with the machine's exponential as a line."""
    figure, axes = plt.subplots(1, len(data["cases"]), figsize=(5.5 * len(data["cases"]), 3.5), squeeze=False)
    for axis, case in zip(axes.flat, data["cases"], strict=True):
        bars = axis.barh(list(case["median"]), list(case["median"].values()), color="C0")
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=7)
        axis.axvline(data["limits"][f"exp_{case['dtype']}_ns"], color="grey", linestyle=":", label="np.exp, all cores")
        axis.set(xlabel="ns per entry", title=case["dtype"], xlim=(0.0, 1.12 * max(case["median"].values())))
        axis.legend(fontsize=7)
    figure.tight_layout()
    return figure
