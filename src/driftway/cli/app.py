"""All commands, and what happens when one fails."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

import driftway
from driftway.cli import adapt, report, reproduce, solve
from driftway.cli.failures import UserError, explained, usage_problem
from driftway.cli.terminal import result, tell

app = typer.Typer(
    name="driftway",
    help="Optimal transport with any smooth regulariser, and classifiers that follow drifting data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("adapt")(adapt.adapt)
app.command("report")(report.report)
app.command("solve")(solve.solve_cost)
app.command("reproduce")(reproduce.reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        result(f"driftway {driftway.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """Optimal transport with any smooth regulariser, and classifiers that follow drifting data."""


def run(arguments: list[str]) -> int:
    """Runs one command; a failure is one line, with a traceback only if `--debug` asks for it.

    Returns 0, 1 for a failure, 2 for bad use or bad files, and as shells have it 128 + n for an end by signal n.
    """
    try:
        return int(app(arguments, prog_name="driftway", standalone_mode=False) or 0)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        usage = usage_problem(error)
        problem = explained(error) if usage is None else usage
        if problem:
            tell(f"driftway: {problem}")
        return 1 if usage is None and not isinstance(error, UserError) else 2
