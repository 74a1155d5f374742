"""Error messages of the command line, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class UserError(Exception):
    """Error that the user can correct: a wrong option, a bad file, a missing extra. Its message is one line."""


@contextmanager
def as_user_error(where: str = "") -> Iterator[None]:
    """Context manager: turns errors of the library about its arguments into a `UserError`, after the prefix `where`."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"{where}: {_flat(error)}" if where else _flat(error)) from error


@contextmanager
def as_error_of_file(file: str) -> Iterator[None]:
    """Context manager: turns any error into a `UserError` about a file, except errors of the operating system."""
    try:
        yield
    except (UserError, OSError, ImportError):
        raise
    except Exception as error:
        told = _flat(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {_flat(error)}"
        raise UserError(f"{file}: {told}") from error


def usage_message(error: BaseException) -> str | None:
    """The message of an error of Typer about the arguments: None for other errors, "" if the help page was shown."""
    told: Any = getattr(error, "format_message", None)
    if told is None:
        return None
    context: Any = getattr(error, "ctx", None)
    message = " ".join(str(told()).split()).rstrip(".").replace("Value error, ", "")
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help page
        return ""
    return f"{message} (see {context.command_path} --help)" if context is not None else message


def message_of(error: BaseException) -> str:
    """The message of an error in one line; with its class if it is not a `UserError`."""
    if isinstance(error, UserError):
        return _flat(error)
    if isinstance(error, OSError) and error.strerror:
        return f"failed: {error.filename}: {error.strerror}" if error.filename else f"failed: {error.strerror}"
    return f"failed: {type(error).__name__}: {_flat(error)} (--debug shows where)"


def _flat(error: BaseException) -> str:
    return " ".join(str(error).split())
