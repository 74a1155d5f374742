"""Drawing of the three figures from their data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from driftway.experiments.figure1 import Figure1
from driftway.experiments.figure2 import (
    CGS,
    DUAL,
    ENTROPIC,
    INDEPENDENT,
    MEANT,
    OTHERS,
    PAPER,
    STRENGTHS,
    Case,
    Figure2,
)
from driftway.experiments.figure3 import COSTS, METRICS, Figure3, Method
from driftway.report.figures import (
    COLOURS,
    new_figure,
    paper_style,
    plot_accuracy,
    plot_convergence,
    plot_domain,
    save,
)

SOLVER_COLOURS = {
    PAPER: COLOURS[0],
    CGS: COLOURS[1],
    "Algorithm 1, α found": COLOURS[5],
    "Algorithm 1, accelerated": COLOURS[2],
    DUAL: COLOURS[3],
}
KIND_COLOURS = {"time": COLOURS[0], "class": COLOURS[1], "both": COLOURS[2], "none": COLOURS[4]}
KIND_NAMES = {
    "time": "time (the paper's)",
    "class": "class (group lasso)",
    "both": "time and class",
    "none": "entropy only",
}
DEFAULT, UNADAPTED = "driftway's default", "no adaptation"
FLOOR = 1e-8  # the accuracy to which the optimum is known, normalised


def draw_figure1(figure1: Figure1, folder: Path) -> list[Path]:
    """Draws the source, and the targets in their order."""
    with paper_style():
        figure, axes = new_figure(2, 4, (6.8, 3.3), sharex=True, sharey=True)
        domains: list[tuple[str, Any]] = [("source, labelled", figure1.source)]
        domains += [(f"target {k}: {angle:g}°", sample) for k, (angle, sample) in enumerate(figure1.targets, start=1)]
        for ax, (title, (X, y)) in zip(axes.flat, domains, strict=True):
            plot_domain(X, y, ax=ax, size=4.0 if len(X) > 100 else 9.0)
            ax.plot(0.0, 0.0, "+", color="black", markersize=5)
            ax.set_title(title)
            ax.set(xlim=(-2.4, 2.4), ylim=(-2.0, 2.4), xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    return [save(figure, folder / "figure1.png")]


def draw_figure2(figure2: Figure2, folder: Path) -> list[Path]:
    """Draws the objective over time: the paper's panels from both starts, and the other normalisations."""
    main = [[Case(strength, MEANT, start) for strength in STRENGTHS] for start in (ENTROPIC, INDEPENDENT)]
    others = [[Case(strength, other, ENTROPIC) for strength in STRENGTHS] for other in OTHERS]
    return [
        _convergence(figure2, main, folder / "figure2.png"),
        _convergence(figure2, others, folder / "figure2_normalisation.png"),
    ]


def _title(case: Case) -> str:
    if case.normalization == MEANT:
        return f"λ = {case.strength:g}, all start at {case.start}"
    return f"λ = {case.strength:g}, time term normalised as “{case.normalization}”"


def _convergence(figure2: Figure2, grid: list[list[Case]], path: Path) -> Path:
    with paper_style():
        figure, axes = new_figure(len(grid), len(grid[0]), (6.8, 2.5 * len(grid)))
        for row, cases in zip(axes, grid, strict=True):
            for ax, case in zip(row, cases, strict=True):
                # Of repeated runs, the one with the median time.
                curves = {
                    solver: (run.seconds, run.objective)
                    for (panel, solver), runs in figure2.runs.items()
                    if panel == case
                    for run in [sorted(runs, key=lambda run: run.seconds[-1])[len(runs) // 2]]
                }
                plot_convergence(curves, ax=ax, floor=FLOOR, colours=SOLVER_COLOURS)
                ax.set(title=_title(case), ylabel="", xlabel="")
            row[0].set_ylabel("normalised objective")
        for ax in axes[-1]:
            ax.set_xlabel("processor time of the iterations, s")
        _legend(figure, axes)
    return save(figure, path)


def draw_figure3(figure3: Figure3, folder: Path) -> list[Path]:
    """Draws accuracy per step: one picture per length of the stream, metrics in rows, costs in columns."""
    return [_accuracy(figure3, steps, folder / f"figure3_{steps}.png") for steps in figure3.horizons]


def _accuracy(figure3: Figure3, steps: int, path: Path) -> Path:
    colours = {KIND_NAMES[kind]: colour for kind, colour in KIND_COLOURS.items()}
    colours |= {DEFAULT: COLOURS[6], UNADAPTED: COLOURS[7]}
    with paper_style():
        figure, axes = new_figure(len(METRICS), len(COSTS), (6.8, 4.6), sharex=True)
        for row, metric in zip(axes, METRICS, strict=True):
            for ax, cost in zip(row, COSTS, strict=True):
                curves = {
                    KIND_NAMES[kind]: figure3.methods[steps, Method(metric, cost, kind)].accuracy
                    for kind in ("none", "class", "both", "time")
                }
                lowest = 10.0 * np.floor(10.0 * min(accuracy.min() for accuracy in curves.values()))
                curves |= {DEFAULT: figure3.default[steps].accuracy, UNADAPTED: figure3.unadapted[steps].accuracy}
                plot_accuracy(curves, ax=ax, colours=colours, dashed=(DEFAULT, UNADAPTED))
                # The limits are those of the strategies; the curve without adaptation may leave them.
                ax.set(title=f"{cost} cost, {metric}", xlabel="", ylabel="", ylim=(lowest - 1.0, 101.0))
            row[0].set_ylabel("accuracy, %")
        for ax in axes[-1]:
            ax.set_xlabel("step of 18°")
        _legend(figure, axes)
    return save(figure, path)


def _legend(figure: Any, axes: Any) -> None:
    """Draws one legend above all panels, with each name once."""
    entries: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=3)
