"""Time limits for code that does not know of any, and cores that are alike to everybody."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

import numpy as np

from driftway.engines.cores import available_cores

# Seconds in which threads that wait by spinning (OpenBLAS, OpenMP) come to rest, and in which idle cores wake up.
PAUSE, WAKE = 0.3, 0.1


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


def settle() -> None:
    """Before each timed run: nobody is disturbed by who was before, nor by cores that the pause has put to sleep.

    Right after a pause of that length a sweep takes up to 1.8 times as long as later, which short runs would pay for.
    """
    time.sleep(PAUSE)
    end, cores = time.perf_counter() + WAKE, available_cores()

    def work(core: int) -> None:
        block = np.linspace(-1.0, 0.0, 2**14)
        while time.perf_counter() < end:
            np.exp(block)

    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, range(cores)))
