"""`driftway reproduce`: compute and draw the figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from driftway.cli.failures import UserError
from driftway.cli.options import Debug
from driftway.cli.terminal import on_terminal, print_message, print_result
from driftway.engines.dask.tasks import NoSchedulerError, spread

FIGURES = ("figure1", "figure2", "figure3")


def reproduce(
    what: Annotated[
        Literal["figure1", "figure2", "figure3", "all"], typer.Argument(help="Which figure.", metavar="FIGURE")
    ] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Make fewer and smaller runs, in two minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="The number of parallel processes.", metavar="N", min=1)] = 2,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Run the tasks on the workers of this Dask scheduler; local: on N Dask workers of this machine.",
            metavar="ADDRESS",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for data, figures and the results page.", metavar="DIR")] = Path(
        "reproduced"
    ),
    redraw: Annotated[bool, typer.Option("--redraw", help="Compute nothing: draw from saved data.")] = False,
    debug: Debug = False,
) -> None:
    """Compute and draw the figures of the paper, and compare its claims with what was measured.

    Results are saved: a second run only draws, and a stopped one continues. The timed runs of Figure 2 are always made
    one at a time in this process.
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
                print_message(f"on the cluster at {cluster}, which can be watched at {dashboard}")
            written = compute(figures, out, quick=quick, jobs=jobs, progress=on_terminal(), redraw=redraw)
    except MissingDataError as error:
        raise UserError(f"{out / 'data'}: {error}; run without --redraw to compute it") from error
    except ImportError as error:
        raise UserError(str(error)) from error
    except NoSchedulerError as error:
        raise UserError(f"--cluster {cluster}: {error}") from error
    for path in written:
        print_result(str(path))
