"""Failures in one line each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class UserError(Exception):
    """What the user can mend: an option, a file, a missing extra. Its message is one line."""


@contextmanager
def users_to_mend(where: str = "") -> Iterator[None]:
    """Turns complaints of the library about its arguments into bad use, told with the file or option they are about."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"{where}: {_flat(error)}" if where else _flat(error)) from error


@contextmanager
def blamed_on(file: str) -> Iterator[None]:
    """Turns whatever goes wrong with the content of a file into its refusal; a disk that is full is not its fault."""
    try:
        yield
    except (UserError, OSError, ImportError):
        raise
    except Exception as error:
        told = _flat(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {_flat(error)}"
        raise UserError(f"{file}: {told}") from error


def usage_problem(error: BaseException) -> str | None:
    """What Typer has to say about the arguments; None if the error is none of Typer's, "" if all was said."""
    told: Any = getattr(error, "format_message", None)
    if told is None:
        return None
    context: Any = getattr(error, "ctx", None)
    message = " ".join(str(told()).split()).rstrip(".")
    if type(error).__name__ == "NoArgsIsHelpError":  # its message was the help page
        return ""
    return f"{message} (see {context.command_path} --help)" if context is not None else message


def explained(error: BaseException) -> str:
    """An error in one line: that of the user as it is, another with its kind."""
    if isinstance(error, UserError):
        return _flat(error)
    if isinstance(error, OSError) and error.strerror:
        return f"failed: {error.filename}: {error.strerror}" if error.filename else f"failed: {error.strerror}"
    return f"failed: {type(error).__name__}: {_flat(error)} (--debug shows where)"


def _flat(error: BaseException) -> str:
    return " ".join(str(error).split())
