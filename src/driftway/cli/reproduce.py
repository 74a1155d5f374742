"""`driftway reproduce`: the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from driftway.cli.failures import UserError
from driftway.cli.options import Debug
from driftway.cli.terminal import on_terminal, result, tell
from driftway.engines.dask.tasks import NoSchedulerError, spread

FIGURES = ("figure1", "figure2", "figure3")


def reproduce(
    what: Annotated[
        Literal["figure1", "figure2", "figure3", "all"], typer.Argument(help="Which figure.", metavar="FIGURE")
    ] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and fewer runs: two minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at the same time.", metavar="N", min=1)] = 2,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Spread the tasks over the workers of a Dask scheduler; local: over N Dask workers here.",
            metavar="ADDRESS",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for data, figures and the results page.", metavar="DIR")] = Path(
        "reproduced"
    ),
    redraw: Annotated[bool, typer.Option("--redraw", help="Only draw again, from data that is there.")] = False,
    debug: Debug = False,
) -> None:
    """Compute and draw the figures of the paper, with its claims beside what was measured.

    What is computed is kept: a second run only draws, and one that was stopped goes on. Timed runs (Figure 2) stay in
    this process, whatever --jobs and --cluster say.
    """
    figures = FIGURES if what == "all" else (what,)
    try:
        from driftway.experiments import MissingDataError
        from driftway.experiments import reproduce as compute
    except ImportError as error:
        raise UserError(str(error)) from error
    try:
        with spread(cluster, jobs) as dashboard:
            if dashboard is not None:
                tell(f"on the cluster at {cluster}, which can be watched at {dashboard}")
            written = compute(figures, out, quick=quick, jobs=jobs, progress=on_terminal(), redraw=redraw)
    except (ImportError, MissingDataError) as error:
        raise UserError(str(error)) from error
    except NoSchedulerError as error:
        raise UserError(f"--cluster {cluster}: {error}") from error
    for path in written:
        result(str(path))
