"""CSV: UTF-8, a header, every row as long as it."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import TableError

# What Python reads as a number and nobody else does: 1_000.
DIGITS_APART = re.compile(r"\d_\d")


class CsvFile:
    """The rows of a CSV file, numbers in chosen columns; every complaint names the line."""

    def __init__(self, name: str, content: bytes, separator: str) -> None:
        self._name, self._separator, self._text = name, separator, _decoded(name, content)
        self._lines = array("q")
        _, header = next(self._rows(), (0, []))
        if not header:
            raise TableError(name, "the file is empty")
        self.names = header

    def load(self, numbers: Sequence[str], texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The columns `numbers` as an array n×d, and the columns `texts` as lists; None where one is empty."""
        entries, self._lines = array("d"), array("q")
        at = {name: j for j, name in enumerate(self.names)}
        number_at, text_at = ([at[name] for name in names] for names in (numbers, texts))
        found: list[list[str | None]] = [[] for _ in texts]
        number = _number if DIGITS_APART.search(self._text) else float
        rows = self._rows()
        next(rows)
        for line, row in rows:
            if len(row) != len(self.names):
                problem = f"{len(row)} field{'s' * (len(row) != 1)}, but the header has {len(self.names)}"
                raise TableError(self._name, problem, place=f"line {line}")
            try:
                entries.extend([number(row[j]) for j in number_at])
            except ValueError:
                raise self._no_number(line, row, number_at) from None
            for column, j in zip(found, text_at, strict=True):
                column.append(row[j] or None)
            self._lines.append(line)
        matrix = np.frombuffer(entries, dtype=np.float64).reshape(len(self._lines), len(numbers))
        return matrix, dict(zip(texts, found, strict=True))

    def place(self, row: int) -> str:
        """Where a row is, for a person with an editor."""
        return f"line {self._lines[row]}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(
            io.StringIO(self._text, newline=""), delimiter=self._separator, skipinitialspace=True, strict=True
        )
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            raise TableError(self._name, str(error), place=f"line {reader.line_num}") from None

    def _no_number(self, line: int, row: list[str], at: Sequence[int]) -> TableError:
        for j in at:
            try:
                _number(row[j])
            except ValueError:
                problem = f"{row[j]!r} is not a number" if row[j].strip() else "a number is missing"
                return TableError(self._name, problem, place=f"line {line}", column=self.names[j])
        raise AssertionError("every field is a number after all")


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 (byte 0x{content[error.start]:02x}); save the file in that encoding"
        raise TableError(name, problem, place=f"line {line}") from None


def _number(text: str) -> float:
    if "_" in text:
        raise ValueError
    return float(text)


def typed(texts: list[Any]) -> list[Any]:
    """Whole numbers if all are written as such, else numbers if all are, else the texts; "007" is a text."""
    given = [text for text in texts if text is not None]
    for kind in (int, float):
        try:
            if all(kind is float or str(int(text)) == text for text in given):
                return [None if text is None else kind(_plain(text)) for text in texts]
        except ValueError:
            continue
    return list(texts)


def _plain(text: str) -> str:
    digits = text.lstrip("+-")
    if "_" in text or (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()):
        raise ValueError
    return text
