"""The engine of one machine: row blocks on a pool of threads, in NumPy or compiled."""

from driftway.engines.threads.engine import Threads

__all__ = ["Threads"]
