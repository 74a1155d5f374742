"""`driftway bench` and `driftway evaluate`: the benchmarks of a checkout."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import typer

from driftway.cli.failures import UserError

# The benchmarks read their own options.
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def bench(context: typer.Context) -> int:
    """Measure the solvers against their peers (in a checkout; options as of python -m benchmarks)."""
    return _run("benchmarks.__main__", context.args)


def evaluate(context: typer.Context) -> int:
    """Measure adaptation against its peers (in a checkout; options as of python -m benchmarks.drift)."""
    return _run("benchmarks.drift.run", context.args)


def _run(module: str, arguments: list[str]) -> int:
    root = _checkout(Path.cwd())
    sys.path.insert(0, str(root))
    try:
        importlib.import_module(module).main([argument for argument in arguments if argument != "--debug"])
    except ModuleNotFoundError as error:
        raise UserError(f"the benchmarks need {error.name}: pip install 'driftway[bench]'") from error
    return 0


def _checkout(here: Path) -> Path:
    """The folder with the benchmarks: this one, or one that it is in."""
    for folder in (here, *here.parents):
        if (folder / "benchmarks" / "drift" / "run.py").is_file() and (folder / "src" / "driftway").is_dir():
            return folder
    raise UserError(f"{here}: not in a checkout of driftway, where the benchmarks are")
