"""Strict reading of CSV: UTF-8, a header, and in every row as many fields as in the header."""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.files.dialect import has_decimal_commas, number_reader, separator_of
from driftway.files.errors import TableError
from driftway.files.kinds import is_number, known


class CsvFile:
    """The content of a CSV file. Errors name the line and the column.

    Without a `separator` it is the `usual` one, or another one that is in the header if that is not.
    """

    def __init__(self, name: str, content: bytes, separator: str | None, usual: str = ",") -> None:
        self._name, self._text = name, _decoded(name, content)
        self._separator = separator or separator_of(self._text, usual)
        self._decimal_commas = has_decimal_commas(self._text, self._separator)
        self.number = number_reader(self._text, decimal_commas=self._decimal_commas)
        self._lines = array("q")
        _, header = next(self._rows(), (0, []))
        if not header:
            raise TableError(name, "the file is empty")
        self.names = header

    def load(self, numbers: Sequence[str], texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The columns `numbers` as an array n×d, NaN for missing ones, and `texts` as lists, None for empty fields."""
        entries, self._lines = array("d"), array("q")
        at = {name: j for j, name in enumerate(self.names)}
        number_at, text_at = ([at[name] for name in names] for names in (numbers, texts))
        found: list[list[str | None]] = [[] for _ in texts]
        number, rows = self.number, self._rows()
        next(rows)
        for line, row in rows:
            if len(row) != len(self.names):
                problem = f"{len(row)} field{'s' * (len(row) != 1)}, but the header has {len(self.names)}"
                raise TableError(self._name, problem, place=f"line {line}")
            try:
                entries.extend([number(row[j]) for j in number_at])
            except ValueError:
                entries.extend([self._number_at(line, row, j) for j in number_at])
            for column, j in zip(found, text_at, strict=True):
                column.append(row[j] or None)
            self._lines.append(line)
        matrix = np.frombuffer(entries, dtype=np.float64).reshape(len(self._lines), len(numbers))
        return matrix, dict(zip(texts, found, strict=True))

    def text_columns(self, names: Sequence[str]) -> list[str]:
        """Those of the columns whose first value is no number."""
        places = {name: j for j, name in enumerate(self.names)}
        at, found = {name: places[name] for name in names}, []
        rows = self._rows()
        next(rows)
        for _, row in rows:
            for name, j in list(at.items()):
                if j < len(row) and known(row[j]) is not None:
                    del at[name]
                    # With decimal commas, points may stand between thousands: that is a number written badly.
                    plain = row[j].replace(".", "") if self._decimal_commas else row[j]
                    if not is_number(plain, self.number):
                        found.append(name)
            if not at:
                break
        return found

    def typed(self, texts: list[Any]) -> list[Any]:
        """Texts as integers if all of them are integers, else as floats if all are numbers, else as they are.

        Numbers with leading zeros, such as "007", are texts.
        """
        given = [text for text in texts if text is not None]
        for kind in (int, self.number):
            try:
                if all(kind is not int or str(int(text)) == text for text in given):
                    return [None if text is None else kind(_plain(text)) for text in texts]
            except ValueError:
                continue
        return list(texts)

    def place(self, row: int) -> str:
        """The line of a row, as error messages name it."""
        return f"line {self._lines[row]}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(
            io.StringIO(self._text, newline=""), delimiter=self._separator, skipinitialspace=True, strict=True
        )
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            raise TableError(self._name, str(error), place=f"line {reader.line_num}") from None

    def _number_at(self, line: int, row: list[str], j: int) -> float:
        if known(row[j]) is None:
            return math.nan
        try:
            return self.number(row[j])
        except ValueError:
            problem = f"{row[j]!r} is not a number"
            if self._decimal_commas and "." in row[j]:
                problem += " with a comma before its decimals, as others of the file"
            raise TableError(self._name, problem, place=f"line {line}", column=self.names[j]) from None


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 (byte 0x{content[error.start]:02x}); save the file as UTF-8"
        raise TableError(name, problem, place=f"line {line}") from None


def _plain(text: str) -> str:
    digits = text.lstrip("+-")
    if "_" in text or (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()):
        raise ValueError
    return text
