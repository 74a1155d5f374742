"""The picture at the top of the README: two moons turn, and the labelled source is carried along.

Above, the mapped source in the colours of its classes over the unlabelled batch, at some of the steps; below, the
accuracy on 1000 fresh points at every step, with and without adaptation.

Needs: driftway[experiments]
Run:  python docs/figures/drift.py [FILE.png]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier

Double = npt.NDArray[np.float64]

STEPS, ANGLE, SHOWN = 20, 18, (0, 3, 6, 9, 12, 15)
NOTES = ("two classes", "grey: the batch", "colour: the source")
# Blue and vermilion are told apart by colour-blind people.
COLOURS, GREY, INK = np.array(["#0072b2", "#d55e00"]), "#8b93a1", "#22262e"


def turned(count: int, step: int, seed: int) -> tuple[Double, npt.NDArray[np.intp]]:
    """Two moons after some steps, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(ANGLE * step)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


@dataclass
class Run:
    """What is drawn: places of source and batch by step, and accuracies in percent."""

    labels: npt.NDArray[np.intp]
    images: dict[int, Double] = field(default_factory=dict)
    batches: dict[int, Double] = field(default_factory=dict)
    adapted: list[float] = field(default_factory=list)
    unadapted: list[float] = field(default_factory=list)


def track() -> Run:
    """500 labelled points, then 50 unlabelled ones per step."""
    X, y = turned(500, 0, seed=0)
    model, still = ContinuousTransportClassifier().fit(X, y), KNeighborsClassifier(1).fit(X, y)
    run = Run(y, images={0: X})
    for step in range(1, STEPS + 1):
        batch, _ = turned(50, step, seed=step)
        model.partial_fit(batch)
        run.images[step], run.batches[step] = model.images_, batch
        fresh = turned(1000, step, seed=10_000 + step)
        run.adapted.append(100 * model.score(*fresh))
        run.unadapted.append(100 * still.score(*fresh))
    return run


def draw_cloud(axes: Any, run: Run, step: int) -> None:
    """The mapped source over the batch."""
    if step in run.batches:
        axes.scatter(*run.batches[step].T, s=46, color="#c3c9d3", linewidths=0)
    axes.scatter(*run.images[step].T, s=5, c=COLOURS[run.labels], linewidths=0, alpha=0.8)
    axes.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), aspect="equal", xticks=[], yticks=[])
    title = f"step {step} · {ANGLE * step}°" if step else "the labelled source"
    axes.set_title(title, fontsize=10, color=INK, pad=5)
    axes.spines[:].set_color("#dde1e8")


def draw_accuracy(axes: Any, run: Run) -> None:
    """Both curves, named where they end up apart."""
    steps = range(1, STEPS + 1)
    axes.plot(steps, run.unadapted, "--", color=GREY, marker="o", markersize=3.5, linewidth=1.6)
    axes.plot(steps, run.adapted, color="#009e73", marker="o", markersize=4, linewidth=2.2)
    for step in SHOWN[1:]:
        axes.axvline(step, color="#e8ebf0", linewidth=1, zorder=0)
    axes.text(
        10, 91, "driftway: source labelled once, then 50 unlabelled points per step", color="#00775a", ha="center"
    )
    low = int(np.argmin(run.unadapted))
    axes.text(low + 1, run.unadapted[low] - 5, "without adaptation", color="#5b6472", ha="center", va="top")
    axes.set(xlim=(0.5, STEPS + 0.5), ylim=(20, 104), xticks=range(2, STEPS + 1, 2), yticks=(25, 50, 75, 100))
    axes.set_ylabel("accuracy (%)", color=INK)
    axes.set_xlabel(f"step, the moons turn by {ANGLE}° in each", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#c4cad4")
    axes.tick_params(colors="#5b6472", length=0)


def draw(run: Run) -> Figure:
    """The whole picture."""
    with mpl.rc_context({"font.size": 10, "font.family": "sans-serif"}):
        figure = Figure(figsize=(10, 4.3), layout="constrained")
        grid = figure.add_gridspec(2, len(SHOWN), height_ratios=(1.0, 1.05))
        for column, step in enumerate(SHOWN):
            axes = figure.add_subplot(grid[0, column])
            draw_cloud(axes, run, step)
            if column < len(NOTES):
                axes.text(0, -2.12, NOTES[column], color="#5b6472", fontsize=9, ha="center", in_layout=False)
        draw_accuracy(figure.add_subplot(grid[1, :]), run)
    return figure


def main() -> None:
    """Computes and writes it."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/drift.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(track()).savefig(path, dpi=130, facecolor="white", metadata={"Software": None})
    print(f"The picture is at {path}.")


if __name__ == "__main__":
    main()
