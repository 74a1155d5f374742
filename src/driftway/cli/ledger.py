"""The record of a run's batches: a file that grows by one line per step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from driftway.adaptation.history import COLUMNS
from driftway.cli.failures import UserError


class Mark(NamedTuple):
    """The part of a ledger that is valid: the number of its lines, and of its bytes."""

    lines: int
    size: int


class Ledger:
    """The batches that a run adapted to, one line per step. Lines are only appended, so that all steps cost the same.

    The saved state says how many lines are valid. One more line is that of a step that a killed process did not
    finish; the next step overwrites it.

    Parameters
    ----------
    path : Path
        A file of JSON lines. Each has the name of the batch, the digest of its file, its score and its record.

    """

    def __init__(self, path: Path) -> None:
        self.path, self._digests, self.mark = path, dict[str, str](), Mark(0, 0)

    def __len__(self) -> int:
        return self.mark.lines

    def __contains__(self, name: object) -> bool:
        return name in self._digests

    def digest(self, name: str) -> str | None:
        """The digest of the batch of this name, if there is one."""
        return self._digests.get(name)

    def names(self) -> Iterator[str]:
        """The names of the batches, in the order of the steps."""
        return iter(self._digests)

    def read(self, lines: int) -> None:
        """Reads the first lines of the file, as many as the state says are valid."""
        self._digests, self.mark = {}, Mark(lines, 0)
        end = 0
        for entry, size in self._read():
            self._digests[entry["name"]] = entry["sha256"]
            end += size
        if len(self._digests) != lines:
            raise UserError(
                f"{self.path}: damaged: it has {len(self._digests)} batches, but the state has seen {lines}"
            )
        self.mark = Mark(lines, end)

    def append(self, entry: dict[str, Any]) -> None:
        """Appends the line of a step; it is on the disk when this returns."""
        line = json.dumps(entry).encode() + b"\n"
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.seek(self.mark.size)
            file.truncate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._digests[entry["name"]] = entry["sha256"]
        self.mark = Mark(self.mark.lines + 1, self.mark.size + len(line))

    def undo(self, mark: Mark) -> None:
        """Drops the last line if it was appended after the mark."""
        if len(self) > mark.lines:
            self._digests.popitem()
        self.mark = mark

    def entries(self) -> Iterator[dict[str, Any]]:
        """The valid lines."""
        return (entry for entry, _ in self._read())

    def _read(self) -> Iterator[tuple[dict[str, Any], int]]:
        """The valid lines with their sizes in bytes."""
        if not len(self):
            return
        try:
            with self.path.open("rb") as file:
                for _, line in zip(range(len(self)), file, strict=False):
                    yield self._entry(line), len(line)
        except FileNotFoundError:
            raise UserError(f"{self.path}: missing; without it the run cannot be resumed") from None

    def _entry(self, line: bytes) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not _is_entry(entry):
            raise UserError(f"{self.path}: damaged: a line does not describe a batch")
        return dict(entry)


def _is_entry(entry: Any) -> bool:
    """Whether a line has all fields. The name must have no folders in it, or predictions could be written anywhere."""
    if not isinstance(entry, dict) or not {"name", "sha256", "score", "record"} <= set(entry):
        return False
    name, digest, score, record = (entry[key] for key in ("name", "sha256", "score", "record"))
    named = isinstance(name, str) and "\0" not in name and Path(name).name == name != ".."
    whole = isinstance(record, dict) and set(record) == set(COLUMNS)
    plain = whole and all(isinstance(value, str | int | float | None) for value in (*record.values(), score))
    return named and isinstance(digest, str) and plain and not isinstance(score, str)
