"""How a CSV file is written: what separates its fields, and what stands before decimals."""

from __future__ import annotations

import re
from collections.abc import Callable

# What may separate fields where the usual separator is not in the header: programs follow the habit of the country.
OTHER_SEPARATORS = ";\t|,"
# Python reads 1_000 as a number; other programs do not, and neither do we.
UNDERSCORE_IN_NUMBER = re.compile(r"\d_\d")


def separator_of(text: str, usual: str) -> str:
    """The usual separator, or the most frequent other one of the header if the usual one is not in it."""
    found = re.search(r"\S[^\r\n]*", text)
    header = found[0] if found else ""
    if usual in header:
        return usual
    return max(OTHER_SEPARATORS, key=lambda char: (header.count(char), char == usual))


def has_decimal_commas(text: str, separator: str) -> bool:
    """Whether some field is a number with a comma before its decimals."""
    if separator == ",":
        return False
    end = re.escape(separator)
    return re.search(rf'(?:^|{end}) *"?[+-]?\d*,\d+(?:[eE][+-]?\d+)?"? *(?={end}|\r?$)', text, re.MULTILINE) is not None


def number_reader(text: str, *, decimal_commas: bool) -> Callable[[str], float]:
    """The function that reads the numbers of a file; it raises `ValueError` for what is none."""
    if decimal_commas:
        return _with_comma
    return _without_underscore if UNDERSCORE_IN_NUMBER.search(text) else float


def _without_underscore(text: str) -> float:
    if "_" in text:
        raise ValueError
    return float(text)


def _with_comma(text: str) -> float:
    if "." in text:  # before decimals, or between thousands? Both are seen.
        raise ValueError
    return _without_underscore(text.replace(",", ".", 1))
