"""The command `driftway`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, and says in one line if what it needs is not installed; returns the exit code."""
    try:
        from driftway.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write(f"driftway: the command line needs {error.name}: pip install 'driftway[cli]'\n")
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
