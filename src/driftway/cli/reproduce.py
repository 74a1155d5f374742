"""`driftway reproduce`: the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from driftway.cli.failures import UserError
from driftway.cli.options import Debug
from driftway.cli.terminal import on_terminal, result

FIGURES = ("figure1", "figure2", "figure3")


def reproduce(
    what: Annotated[
        Literal["figure1", "figure2", "figure3", "all"], typer.Argument(help="Which figure.", show_default=True)
    ] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and fewer runs: two minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Runs at the same time; -1 for one per core.", metavar="N")] = 2,
    out: Annotated[Path, typer.Option(help="The folder for data, figures and the results page.")] = Path("reproduced"),
    redraw: Annotated[bool, typer.Option("--redraw", help="Only draw again, from data that is there.")] = False,
    debug: Debug = False,
) -> None:
    """Compute and draw the figures of the paper, with its claims beside what was measured.

    What is computed is kept: a second run only draws, and one that was stopped goes on.
    """
    if jobs == 0:
        raise UserError("--jobs must be positive, or negative to count from the number of cores; got 0")
    if redraw and not out.is_dir():
        raise UserError(f"{out}: there is no such folder to draw from")
    figures = FIGURES if what == "all" else (what,)
    try:
        from driftway.experiments import reproduce as compute

        written = compute(figures, out, quick=quick, jobs=jobs, progress=on_terminal())
    except ImportError as error:
        raise UserError(str(error)) from error
    for path in written:
        result(str(path))
