"""The command line as a whole: all commands, exit codes, and messages of failures."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

import driftway
from driftway.cli import adapt, report, reproduce, solve, warm_up
from driftway.cli.failures import UserError, message_of, usage_message
from driftway.cli.terminal import print_message, print_result

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
app.command("warm-up")(warm_up.warm_up)


def _version(wanted: bool) -> None:
    if wanted:
        print_result(f"driftway {driftway.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Optimal transport with any smooth regulariser, and classifiers that follow drifting data."""


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code. A failure is told in one line, and with `--debug` by a traceback."""
    try:
        return int(app(arguments, prog_name="driftway", standalone_mode=False) or 0)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        usage = usage_message(error)
        problem = message_of(error) if usage is None else usage
        if problem:
            print_message(f"driftway: {problem}")
        return 1 if usage is None and not isinstance(error, UserError) else 2
