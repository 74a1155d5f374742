"""Stopping between two steps on Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """A request to stop: true after a signal was received, whose number is `signal`."""

    def __init__(self) -> None:
        self._event, self.signal = threading.Event(), 0

    def __bool__(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        """Sleeps until the time is over or a signal comes."""
        self._event.wait(seconds)

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal: the first one asks to stop, the second one interrupts at once."""
        if self:
            raise KeyboardInterrupt
        self.signal = number
        self._event.set()


@contextmanager
def stopping() -> Iterator[Stop]:
    """Context manager: handles SIGINT and SIGTERM by the `Stop` that it yields."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
