"""Watching a folder for batches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISREG

from driftway.cli.stopping import Stop
from driftway.cli.terminal import print_message
from driftway.files import FORMATS

# Endings that programs give to the names of unfinished files.
UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".filepart", ".swp", "~")
# A file that is still growing after this many seconds is mentioned once.
MENTION_AFTER = 30.0

# Size and time of change of files, by name.
Signatures = dict[str, tuple[int, int]]


class Arrivals:
    """The batches of a watched folder: each file once, in the order of the names, when it has stopped changing.

    A file is ready when its size and its time of change are the same in two looks, `interval` seconds apart. A file
    that still changes holds back those after it, so that the order is kept. A refused file holds back none; it is
    offered again when it has changed.

    Parameters
    ----------
    folder : Path
    skipped : callable
        Whether to skip a file of this name, because it is done or not a batch.
    stop : Stop
    interval : float
        Seconds between two looks.
    idle : float, optional
        Seconds without a new file after which the iteration ends; by default it never ends.

    """

    def __init__(
        self,
        folder: Path,
        skipped: Callable[[str], bool],
        stop: Stop,
        interval: float,
        idle: float | None = None,
    ) -> None:
        self._folder, self._skipped, self._stop = folder, skipped, stop
        self._interval, self._idle = interval, idle
        self._refused: Signatures = {}
        self._now: Signatures = {}
        self._said = ""

    def refuse(self, name: str) -> None:
        """Leaves the file that was yielded last alone until it changes."""
        self._refused[name] = self._now[name]

    @property
    def refused(self) -> list[str]:
        """The refused files that have not changed since."""
        return [name for name, signature in self._refused.items() if _signature(self._folder / name) == signature]

    def unchanged(self, name: str) -> bool:
        """Whether the file that was yielded last has not changed since it was ready."""
        return _signature(self._folder / name) == self._now[name]

    def after(self, first: str | None) -> Iterator[Path | None]:
        """Yields paths, the file `first` before all others, and None whenever no file is ready."""
        before, awaited, since = Signatures(), None, time.monotonic()
        while not self._stop:
            self._now = self._look()
            name = min(self._now, key=lambda name: (name != first, name), default=None)
            if name is not None and before.get(name) == self._now[name]:
                yield self._folder / name
                since = time.monotonic()
                continue
            if name != awaited:
                awaited, since = name, time.monotonic()
            waited = time.monotonic() - since
            if name is None:
                yield None
                if self._idle is not None and waited >= self._idle:
                    return
            elif waited > MENTION_AFTER:
                self._say(f"waiting for {self._folder / name}, which is still being written")
            before = self._now
            self._stop.wait(self._interval)

    def _say(self, what: str) -> None:
        if what != self._said:
            print_message(f"driftway: {what}")
        self._said = what

    def _look(self) -> Signatures:
        try:
            names = os.listdir(self._folder)
        except OSError as error:  # a network share may be away for a while
            self._say(f"{self._folder}: {error.strerror}")
            return {}
        batches = [name for name in names if not self._skipped(name) and is_batch(name)]
        found = {name: _signature(self._folder / name) for name in batches}
        return {
            name: signature
            for name, signature in found.items()
            if signature is not None and self._refused.get(name) != signature
        }


def is_batch(name: str) -> bool:
    """Whether a file of this name may be a batch: not hidden, not unfinished, and of a known format."""
    return not name.startswith((".", "~")) and not name.endswith(UNFINISHED) and Path(name).suffix.lower() in FORMATS


def _signature(path: Path) -> tuple[int, int] | None:
    """Size and time of change of a file; None if there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if S_ISREG(found.st_mode) else None
