"""Matplotlib figures for papers: domains, mapped sources, convergence, accuracy and histories.

Every function draws into the axes it is given, or into a figure of its own, and returns them. `save` writes the same
bytes for the same figure, whoever runs it and whenever. Needs the extra `driftway[experiments]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from driftway.adaptation.history import History

__all__ = [
    "new_figure",
    "paper_style",
    "plot_accuracy",
    "plot_convergence",
    "plot_domain",
    "plot_history",
    "plot_mapping",
    "save",
]

# Colours that people with colour-blindness tell apart (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "figure.dpi": 100.0,
    "savefig.dpi": 115.0,
    "svg.hashsalt": "driftway",
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Matplotlib's own defaults and our style, whatever the user's configuration says."""
    matplotlib = require_matplotlib()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": matplotlib.rcParams["backend"], **STYLE}):
        yield


def new_figure(rows: int, columns: int, size: tuple[float, float], **sharing: Any) -> tuple[Figure, npt.NDArray[Any]]:
    """A figure of rows × columns axes, `size` inches, that belongs to nobody's session."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False, **sharing))


def save(figure: Figure, path: str | Path) -> Path:
    """Writes a PNG, PDF or SVG without anything that changes from run to run; returns where."""
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    unwanted: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
        "svg": {"Creator": None, "Date": None},
    }
    if kind not in unwanted:
        raise ValueError(f"path must end in .png, .pdf or .svg, got {path.name!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with paper_style():
        smaller: dict[str, Any] = {"pil_kwargs": {"optimize": True}} if kind == "png" else {}
        figure.savefig(path, metadata=unwanted[kind], **smaller)
    return path


def plot_domain(X: npt.ArrayLike, y: npt.ArrayLike | None = None, *, ax: Axes | None = None, size: float = 4.0) -> Axes:
    """Points of the plane, coloured by class, or grey where no labels are known.

    Parameters
    ----------
    X : array (n, 2)
    y : array (n,), optional
    ax : matplotlib Axes, optional
    size : area of a point, in square points

    """
    ax, X = _axes(ax, (3.0, 3.0)), _plane("X", X)
    classes = np.zeros(len(X), dtype=np.intp) if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
    if len(classes) != len(X):
        raise ValueError(f"y must have one label per row of X ({len(X)}), got {len(classes)}")
    for number in range(classes.max() + 1):
        colour = "#777777" if y is None else COLOURS[number % len(COLOURS)]
        own = X[classes == number]
        ax.scatter(own[:, 0], own[:, 1], s=size, color=colour, linewidths=0)
    ax.set_aspect("equal")
    return ax


def plot_mapping(
    images: npt.ArrayLike, y: npt.ArrayLike, batch: npt.ArrayLike, *, ax: Axes | None = None, size: float = 4.0
) -> Axes:
    """The mapped source, coloured by class, over the unlabelled batch that it was mapped to."""
    ax, batch = _axes(ax, (3.0, 3.0)), _plane("batch", batch)
    ax.scatter(batch[:, 0], batch[:, 1], s=6.0 * size, facecolors="none", edgecolors="#777777", linewidths=0.6)
    return plot_domain(images, y, ax=ax, size=size)


def plot_convergence(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    ax: Axes | None = None,
    floor: float = 1e-9,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Objective over time on logarithmic axes.

    Parameters
    ----------
    curves : by name, seconds and the objective above its optimum; `(trace.seconds, trace.gap)` does
    ax : matplotlib Axes, optional
    floor : below this everything is rounding, and drawn here
    colours : by name, optional

    """
    ax = _axes(ax, (3.4, 2.6))
    for number, (name, (seconds, objective)) in enumerate(curves.items()):
        times, values = np.asarray(seconds, dtype=np.float64), np.asarray(objective, dtype=np.float64)
        seen = np.isfinite(values) & (times > 0)
        colour = (colours or {}).get(name, COLOURS[number % len(COLOURS)])
        size = 2.8 if seen.sum() <= 40 else 0.0
        ax.plot(times[seen], np.maximum(values[seen], floor), "o-", markersize=size, label=name, color=colour)
    ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="objective above the optimum")
    _label_decades(ax)
    return ax


def plot_accuracy(
    curves: Mapping[str, npt.ArrayLike],
    *,
    ax: Axes | None = None,
    colours: Mapping[str, str] | None = None,
    dashed: Sequence[str] = (),
) -> Axes:
    """Accuracy per step: the mean over the runs, and a band from the worst run to the best.

    Parameters
    ----------
    curves : by name, accuracies (runs × steps, or steps) from 0 to 1
    ax : matplotlib Axes, optional
    colours : by name, optional
    dashed : names of curves that are dashed, and have no band

    """
    ax = _axes(ax, (3.4, 2.6))
    from matplotlib.ticker import MaxNLocator

    for number, (name, accuracy) in enumerate(curves.items()):
        runs = 100.0 * np.atleast_2d(np.asarray(accuracy, dtype=np.float64))
        steps = np.arange(1, runs.shape[1] + 1)
        colour = (colours or {}).get(name, COLOURS[number % len(COLOURS)])
        # Later curves are thinner: of two that agree both are seen.
        width = 1.4 if name in dashed else 1.4 + 0.7 * sum(other not in dashed for other in list(curves)[number + 1 :])
        style = "--" if name in dashed else "-"
        ax.plot(steps, runs.mean(axis=0), label=name, color=colour, linestyle=style, linewidth=width)
        if len(runs) > 1 and name not in dashed:
            ax.fill_between(steps, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2, linewidth=0)
    ax.set(xlabel="step", ylabel="accuracy, %", ylim=(-2.0, 102.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def plot_history(history: History, *, columns: Sequence[str] = ("transport", "energy", "drift")) -> Figure:
    """What an estimator's `history_` says of every step, one panel per column, with its warnings marked.

    Parameters
    ----------
    history : `history_` of a fitted estimator with at least one step
    columns : numeric columns of the history

    """
    if not len(history):
        raise ValueError("history must have at least one step, got an empty one")
    with paper_style():
        figure, axes = new_figure(len(columns), 1, (5.0, 1.5 * len(columns)), sharex=True)
        steps, warned = history["step"], history["warning"] != ""
        for ax, name in zip(axes[:, 0], columns, strict=True):
            ax.plot(steps, history[name], color=COLOURS[0], marker="o", markersize=2.5)
            ax.plot(steps[warned], history[name][warned], "o", color=COLOURS[1], label="a warning")
            ax.set_ylabel(name)
        if warned.any():
            axes[0, 0].legend()
        axes[-1, 0].set_xlabel("step")
    return figure


def require_matplotlib() -> Any:
    """The module, or an error that names the extra."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("driftway.report.figures needs Matplotlib: pip install 'driftway[experiments]'") from None
    return matplotlib


def _label_decades(ax: Axes) -> None:
    """Ends the time axis at powers of ten and labels these only: what is between them overlaps in a small panel."""
    from matplotlib.ticker import NullFormatter

    low, high = ax.dataLim.intervalx
    if 0 < low < high < np.inf:
        ax.set_xlim(10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    with paper_style():
        axes: Axes = new_figure(1, 1, size)[1][0, 0]
        return axes


def _plane(name: str, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must have two columns, the coordinates in the plane, got shape {array.shape}")
    return array
