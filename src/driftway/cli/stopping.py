"""An end that is asked for (Ctrl-C, SIGTERM) comes between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Whether somebody asked for the end, and by which signal."""

    def __init__(self) -> None:
        self._event, self.signal = threading.Event(), 0

    def __bool__(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        """Sleeps, unless the end is asked for."""
        self._event.wait(seconds)

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Takes a signal: the first one asks, the second one insists."""
        if self:
            raise KeyboardInterrupt
        self.signal = number
        self._event.set()


@contextmanager
def stopping() -> Iterator[Stop]:
    """Listens to SIGINT and SIGTERM for a while."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
