"""A folder into which batches arrive."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from driftway.cli.stopping import Stop
from driftway.cli.terminal import tell
from driftway.files import FORMATS

# Names that programs give to files they are not done with; and the seconds after which one that grows is mentioned.
UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".filepart", ".swp", "~")
PATIENCE = 30.0

Look = dict[str, tuple[int, int]]


class Arrivals:
    """The batches of a folder as they come: each once, in the order of their names, when it has stopped changing.

    A file is ready when its size and its time of change are the same in two looks, which are `interval` seconds apart.
    One that still changes holds back those after it, so that the order is that of the names; one that was refused does
    not, and is offered again when it has changed.

    Parameters
    ----------
    folder : Path
    passed_over : callable
        Whether a file of this name is none of ours or is done.
    stop : Stop
    interval : float
    idle : float, optional
        After how many seconds without anything to do it ends; never by default.

    """

    def __init__(
        self,
        folder: Path,
        passed_over: Callable[[str], bool],
        stop: Stop,
        interval: float,
        idle: float | None = None,
    ) -> None:
        self._folder, self._passed_over, self._stop = folder, passed_over, stop
        self._interval, self._idle = interval, idle
        self._refused: Look = {}
        self._now: Look = {}
        self._said = ""

    def refuse(self, name: str) -> None:
        """Leaves the file that was given last alone until it changes."""
        self._refused[name] = self._now[name]

    @property
    def refused(self) -> list[str]:
        """The files that are left alone as they are now."""
        return [name for name, signature in self._refused.items() if _signature(self._folder / name) == signature]

    def unchanged(self, name: str) -> bool:
        """Whether the file that was given last is still as it was when it was found ready."""
        return _signature(self._folder / name) == self._now[name]

    def after(self, first: str | None) -> Iterator[Path | None]:
        """Gives paths, that of the file `first` before all others, and None whenever there is nothing to do for now."""
        before, awaited, since = Look(), None, time.monotonic()
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
            elif waited > PATIENCE:
                self._say(f"waiting for {self._folder / name}, which is still being written")
            before = self._now
            self._stop.wait(self._interval)

    def _say(self, what: str) -> None:
        if what != self._said:
            tell(f"driftway: {what}")
        self._said = what

    def _look(self) -> Look:
        try:
            names = os.listdir(self._folder)
        except OSError as error:  # a share that is away for a while
            self._say(f"{self._folder}: {error.strerror}")
            return {}
        batches = [name for name in names if is_batch(name) and not self._passed_over(name)]
        found = {name: _signature(self._folder / name) for name in batches}
        return {
            name: signature
            for name, signature in found.items()
            if signature is not None and self._refused.get(name) != signature
        }


def is_batch(name: str) -> bool:
    """Whether a file of this name may be a batch: not hidden, not unfinished, of a known format."""
    return not name.startswith((".", "~")) and not name.endswith(UNFINISHED) and Path(name).suffix.lower() in FORMATS


def _signature(path: Path) -> tuple[int, int] | None:
    """Size and time of change; None for what is no file (any more)."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if path.is_file() else None
