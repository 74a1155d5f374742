"""Time limits for code that does not know of any."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OverBudget(BaseException):
    """The time is over. Not an `Exception`, so that no competitor catches it by accident."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `OverBudget` inside the block after so many seconds.

    It arrives between two Python instructions: a single long call into compiled code is not interrupted, so such
    competitors are given a number of iterations that fits. Outside the main thread there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OverBudget(f"over {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
