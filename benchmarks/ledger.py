"""The ledger of a part: every case is on disk as soon as it is measured, so that a run that was stopped can go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import storage
from benchmarks.reading import label

Entry = dict[str, Any]


class Ledger:
    """The cases of a part that are measured, and what belongs to all of them.

    With `resume` it begins with what is stored and the part leaves out what it finds there, apart from cases whose
    label contains one of the texts in `again`: those are measured again, and replace what was there.
    """

    def __init__(
        self, folder: Path, name: str, *, resume: bool = False, again: Sequence[str] = (), **about: object
    ) -> None:
        self.folder, self.name, self.again = folder, name, tuple(again)
        stored = storage.load(folder, name) if resume or again else None
        self.data: Entry = {"cases": [], "seconds": 0.0, **(stored or {}), "part": name, **about}
        self._before, self._began = float(self.data["seconds"]), time.perf_counter()
        self._renewed: list[Entry] = []

    def find(self, case: Entry) -> Entry | None:
        """The entry of a case, unless it has to be measured still."""
        entry = self._stored(case)
        repeat = entry not in self._renewed and any(text in label(case) for text in self.again)
        return None if repeat else entry

    def add(self, case: Entry, entry: Entry) -> None:
        """Takes up what was measured, in the place of an older entry of the same case, and saves everything."""
        entries, older = self.data["cases"], self._stored(case)
        if older is None:
            entries.append(entry)
        else:
            entries[entries.index(older)] = entry
        self._renewed.append(entry)
        self.save()

    def save(self, **about: object) -> None:
        """Writes everything, with more that belongs to all cases; before the first of them nothing is replaced."""
        self.data.update(about, seconds=self._before + time.perf_counter() - self._began)
        if self.data["cases"]:
            storage.save(self.data, self.folder, self.name)

    def _stored(self, case: Entry) -> Entry | None:
        entries: list[Entry] = self.data["cases"]
        return next((entry for entry in entries if entry.get("case", entry).items() >= case.items()), None)
