"""How figures for papers look, and how they are saved: the same bytes on every run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
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
    """Context manager: uses Matplotlib's defaults and the style of these figures, instead of the user's configuration.

    Yields
    ------
    None

    Examples
    --------
    >>> import matplotlib
    >>> from driftway.report.figures import paper_style
    >>> with paper_style():
    ...     print(matplotlib.rcParams["font.size"])
    8.0

    """
    matplotlib = require_matplotlib()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": matplotlib.rcParams["backend"], **STYLE}):
        yield


def new_figure(rows: int, columns: int, size: tuple[float, float], **sharing: Any) -> tuple[Figure, npt.NDArray[Any]]:
    """Makes a figure with a grid of axes. Unlike one of pyplot, it is freed when it is no longer used.

    Parameters
    ----------
    rows, columns : int
        The shape of the grid.
    size : pair of float
        Width and height in inches.
    **sharing
        `sharex` and `sharey`, as for `Figure.subplots`.

    Returns
    -------
    figure : matplotlib Figure
    axes : array of shape (rows, columns)

    Examples
    --------
    >>> from driftway.report.figures import new_figure
    >>> figure, axes = new_figure(2, 3, (6.0, 4.0), sharex=True)
    >>> axes.shape
    (2, 3)

    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False, **sharing))


def save(figure: Figure, path: str | Path) -> Path:
    """Writes a figure to a PNG, PDF or SVG file, without dates and names of programs.

    Parameters
    ----------
    figure : matplotlib Figure
    path : path
        The file; it must end in .png, .pdf or .svg. Missing folders are created.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftway.report.figures import new_figure, save
    >>> figure, axes = new_figure(1, 1, (2.0, 2.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     once, again = (save(figure, Path(folder) / name).read_bytes() for name in ("a.svg", "b.svg"))
    >>> once == again
    True

    """
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


def require_matplotlib() -> Any:
    """Imports Matplotlib; raises an ImportError that names the extra if it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("driftway.report.figures needs Matplotlib: pip install 'driftway[experiments]'") from None
    return matplotlib
