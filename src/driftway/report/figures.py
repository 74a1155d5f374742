"""Matplotlib figures for papers: domains, mapped sources, convergence, accuracy and histories.

The functions draw into the given axes, or into those of a new figure, and return them. `save` writes the same bytes for
the same figure on every run. Needs the extra `driftway[experiments]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from driftway.report.style import COLOURS, new_figure, paper_style, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from driftway.adaptation.history import History

__all__ = [
    "COLOURS",
    "new_figure",
    "paper_style",
    "plot_accuracy",
    "plot_convergence",
    "plot_domain",
    "plot_history",
    "plot_mapping",
    "save",
]


def plot_domain(X: npt.ArrayLike, y: npt.ArrayLike | None = None, *, ax: Axes | None = None, size: float = 4.0) -> Axes:
    """Draws points of the plane, coloured by class, or grey if there are no labels.

    Parameters
    ----------
    X : array of shape (n, 2)
        The points.
    y : array of shape (n,), optional
        Their labels.
    ax : matplotlib Axes, optional
        The axes to draw into; those of a new figure by default.
    size : float
        The area of a point, in square points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from driftway.report.figures import plot_domain
    >>> ax = plot_domain(*make_moons(100, random_state=0))
    >>> [len(points.get_offsets()) for points in ax.collections]  # one collection per class
    [50, 50]

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
    """Draws a mapped source, coloured by class, over the unlabelled batch that it was mapped to.

    Parameters
    ----------
    images : array of shape (n, 2)
        The points of the mapped source, such as `images_` of a fitted estimator.
    y : array of shape (n,)
        Their labels.
    batch : array of shape (m, 2)
        The points of the batch.
    ax : matplotlib Axes, optional
        The axes to draw into; those of a new figure by default.
    size : float
        The area of a source point, in square points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.report.figures import plot_mapping
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> batch, _ = make_moons(50, noise=0.05, random_state=1)
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(batch)
    >>> ax = plot_mapping(model.images_, y, batch)
    >>> [len(points.get_offsets()) for points in ax.collections]  # the batch, then the classes of the source
    [50, 50, 50]

    """
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
    """Draws the objective of solvers over time, on logarithmic axes.

    Parameters
    ----------
    curves : mapping of str to pair of arrays
        By name of the solver, seconds and the objective minus its optimum. `(trace.seconds, trace.gap)` of a
        `Solution` shows an upper bound of it.
    ax : matplotlib Axes, optional
        The axes to draw into; those of a new figure by default.
    floor : float
        Smaller values are rounding errors, and are drawn at this height.
    colours : mapping of str to str, optional
        Colours by name.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ForwardBackward, GroupLasso, Problem, solve
    >>> from driftway.report.figures import plot_convergence
    >>> cost = np.random.default_rng(0).random((20, 10))
    >>> problem = Problem(cost, epsilon=0.1, regularizer=GroupLasso(np.repeat([0, 1], 10), weight=0.1))
    >>> trace = solve(problem, ForwardBackward()).trace
    >>> ax = plot_convergence({"Algorithm 1": (trace.seconds, trace.gap)})
    >>> [line.get_label() for line in ax.lines], ax.get_yscale()
    (['Algorithm 1'], 'log')

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
    """Draws accuracy per step: the mean over the runs, and a band from the worst run to the best.

    Parameters
    ----------
    curves : mapping of str to array of shape (runs, steps) or (steps,)
        Accuracies from 0 to 1, by name.
    ax : matplotlib Axes, optional
        The axes to draw into; those of a new figure by default.
    colours : mapping of str to str, optional
        Colours by name.
    dashed : sequence of str
        Names of curves to draw dashed and without a band.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from driftway.report.figures import plot_accuracy
    >>> ax = plot_accuracy({"adapted": [[0.9, 0.8], [1.0, 0.9]], "static": [0.9, 0.5]}, dashed=["static"])
    >>> [line.get_ydata().round(6).tolist() for line in ax.lines]  # means, in per cent
    [[95.0, 85.0], [90.0, 50.0]]

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
    """Draws columns of an estimator's `history_`, one panel each. Steps with warnings are marked.

    Parameters
    ----------
    history : History
        The `history_` of an estimator that has made at least one step.
    columns : sequence of str
        Numeric columns of the history.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.report.figures import plot_history
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X + 1.0).partial_fit(X + 2.0)
    >>> figure = plot_history(model.history_, columns=["drift", "belief"])
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['drift', 'belief']

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


def _label_decades(ax: Axes) -> None:
    """Labels powers of ten only, since labels between them overlap in a small panel; the time axis ends at such."""
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
