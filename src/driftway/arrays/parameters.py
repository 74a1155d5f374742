"""Parameters of estimators, each declared once: its name, its default, what it accepts and what it means.

A class names its declaration in `_parameters`. Its docstring (`documented`), its checks (`checked`) and the options of
the command line are made from there. Signatures are written out, so that type checkers and editors see them;
`tests/test_parameters.py` holds them to the declaration.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from driftway.arrays.validation import flag, one_of, positive_integer, real_number

WIDTH = 116  # of a docstring's lines: what `help` shows of a class is four columns to the right
PLACE = "{parameters}"

Class = TypeVar("Class", bound=type)


class Constraint(Protocol):
    """The values that a parameter accepts."""

    @property
    def words(self) -> str:
        """What stands behind the colon in a docstring."""

    def check(self, name: str, value: object) -> Any:
        """The value, or an error that names the parameter, what it got and what it wanted."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator.

    Attributes
    ----------
    name, default : as in the signature
    accepts : the values that it may have
    meaning : a sentence that stands alone, as the command line shows it
    details : what the docstring says after that

    """

    name: str
    default: Any
    accepts: Constraint
    meaning: str
    details: str = ""

    def check(self, value: object) -> Any:
        """The value if it is accepted."""
        return self.accepts.check(self.name, value)

    @property
    def entry(self) -> str:
        """The lines of a docstring about it."""
        text = f"{self.meaning} {self.details}".strip()
        indent = " " * 4
        lines = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        return "\n".join([f"{self.name} : {self.accepts.words}, default={_written(self.default)}", *lines])


class Declared(Protocol):
    """An estimator whose class names its declaration."""

    _parameters: ClassVar[tuple[Parameter, ...]]


def checked(estimator: Declared) -> dict[str, Any]:
    """The values of all declared parameters of an estimator, by name."""
    return {each.name: each.check(getattr(estimator, each.name)) for each in estimator._parameters}


def documented(cls: Class) -> Class:
    """Class decorator: writes the declared parameters where the docstring has the line {parameters}."""
    if cls.__doc__ is not None:  # which it is under python -OO
        parameters: Sequence[Parameter] = cls._parameters  # type: ignore[attr-defined]
        cls.__doc__ = inspect.cleandoc(cls.__doc__).replace(PLACE, "\n".join(each.entry for each in parameters))
    return cls


@dataclass(frozen=True)
class OneOf:
    """One of some names; also None, or an object of one's own with the methods of a protocol, if they are given."""

    names: tuple[str, ...]
    none: bool = False
    protocol: type | None = None

    @property
    def words(self) -> str:
        told = [f'"{name}"' for name in self.names] + ["None"] * self.none
        last = told.pop() if self.protocol is None else f"a `{self.protocol.__name__}`"
        return f"{', '.join(told)} or {last}" if told else last

    def check(self, name: str, value: object) -> Any:
        if value is None and self.none:
            return value
        if self.protocol is None:
            return one_of(name, value, self.names)
        wanted = f"{name} must be one of {', '.join(map(repr, self.names))} or an object, got {value!r}"
        if isinstance(value, str):
            if value not in self.names:
                raise ValueError(wanted)
        elif isinstance(value, type) or not isinstance(value, self.protocol):
            raise TypeError(wanted)
        return value


@dataclass(frozen=True)
class Real:
    """A finite number, positive or, if zero is allowed, not negative."""

    zero: bool = False

    @property
    def words(self) -> str:
        return f"float {'≥' if self.zero else '>'} 0"

    def check(self, name: str, value: object) -> float:
        return real_number(name, value, minimum=0.0, strict=not self.zero)


@dataclass(frozen=True)
class Whole:
    """An integer of at least `minimum`."""

    minimum: int = 1

    @property
    def words(self) -> str:
        return f"int ≥ {self.minimum}"

    def check(self, name: str, value: object) -> int:
        return positive_integer(name, value, self.minimum)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    words: str = "bool"

    def check(self, name: str, value: object) -> bool:
        return flag(name, value)


@dataclass(frozen=True)
class InstanceOf:
    """An object of one of some classes of driftway, or None."""

    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)

    @property
    def words(self) -> str:
        return f"{self._names} or None"

    @property
    def _names(self) -> str:
        return " or ".join(f"driftway.{kind.__name__}" for kind in self.kinds)

    def check(self, name: str, value: object) -> Any:
        if value is not None and not isinstance(value, self.kinds):
            raise TypeError(f"{name} must be a {self._names}, got {type(value).__name__}")
        return value


@dataclass(frozen=True)
class CheckedLater:
    """What is described in words, and checked by what it is given to."""

    words: str

    def check(self, name: str, value: object) -> Any:
        return value


def _written(default: object) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    return str(getattr(default, "__name__", repr(default)))  # of a function its name
