"""The command `driftway`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command `driftway`.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after the command's name; those of the process by default.

    Returns
    -------
    int
        The exit code: 0 for success, 1 for a failure, 2 for wrong usage, a file that cannot be used or a missing extra,
        128 + n if signal n ended the command.

    Examples
    --------
    >>> from driftway.cli import main
    >>> code = main(["--version"])  # doctest: +ELLIPSIS
    driftway ...
    >>> code
    0

    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        from driftway.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        if given == ["warm-up"]:  # an image needs nothing else of the command line
            from driftway.cli.warm_up import warm_up

            return warm_up()
        sys.stderr.write(f"driftway: the command line needs {error.name}: pip install 'driftway[cli]'\n")
        return 2
    return run(given)
