"""The experiments of the paper: computed in tasks, saved, drawn, and compared with the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftway.arrays.validation import flag, one_of, positive_integer
from driftway.experiments import drawing, figure1, figure2, figure3
from driftway.experiments.page import Results, page
from driftway.experiments.scale import FULL, QUICK, Scale
from driftway.experiments.tasks import MissingDataError, Store
from driftway.report.style import require_matplotlib

__all__ = ["FIGURES", "MissingDataError", "reproduce"]

FIGURES = ("figure1", "figure2", "figure3")


def reproduce(
    figures: Sequence[str],
    out: str | Path,
    *,
    quick: bool = False,
    jobs: int = 1,
    progress: bool = False,
    redraw: bool = False,
) -> list[Path]:
    """Computes figures of the paper, draws them, and writes a page that compares the paper's claims with the results.

    Data are saved in `out/data` and are not computed again: a run that was killed continues, and a second one only
    draws. The pictures go to `out/figures`, and the page to `out/reproduction.md`. It covers all figures whose data
    exist.

    Parameters
    ----------
    figures : sequence of str
        Any of "figure1", "figure2" and "figure3".
    out : path
        The folder of all results; it is created if it does not exist.
    quick : bool
        Whether to compute a small version, which shows that everything runs but does not test the claims.
    jobs : int
        The number of processes. A `joblib.parallel_config` around the call may send the tasks to a cluster instead. The
        timed runs of Figure 2 are always made one at a time in this process.
    progress : bool
        Whether to show progress bars.
    redraw : bool
        Whether to draw from saved data only.

    Returns
    -------
    list of Path
        The pictures, then the page.

    Raises
    ------
    MissingDataError
        If `redraw` and the data of a figure are missing.

    Examples
    --------
    >>> import tempfile
    >>> from driftway.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print([path.name for path in reproduce(["figure1"], folder, quick=True)])
    ['figure1.png', 'reproduction.md']

    """
    wanted = [one_of("figures", name, FIGURES) for name in figures]
    for name, value in (("quick", quick), ("progress", progress), ("redraw", redraw)):
        flag(name, value)
    positive_integer("jobs", jobs)
    require_matplotlib()  # before anything is computed
    out, scale = Path(out), QUICK if quick else FULL
    store = Store(out / "data")
    modules: dict[str, Any] = {"figure1": figure1, "figure2": figure2, "figure3": figure3}
    if not redraw:
        for name in wanted:
            modules[name].compute(store, scale, jobs=jobs, progress=progress)
    drawers: dict[str, Any] = {
        "figure1": drawing.draw_figure1,
        "figure2": drawing.draw_figure2,
        "figure3": drawing.draw_figure3,
    }
    # The page also has the other figures, if earlier runs have saved their data.
    found = {name: _read(modules[name], store, scale, needed=name in wanted) for name in FIGURES}
    drawn = {name: drawers[name](data, out / "figures") for name, data in found.items() if data is not None}
    pictures = tuple(path for paths in drawn.values() for path in paths)
    text = page(Results(found["figure2"], found["figure3"], pictures))
    target = out / "reproduction.md"
    target.write_text(text, encoding="utf-8")
    return [*(path for name in wanted for path in drawn[name]), target]


def _read(module: Any, store: Store, scale: Scale, *, needed: bool) -> Any:
    try:
        return module.read(store, scale)
    except MissingDataError:
        if needed:
            raise
        return None
