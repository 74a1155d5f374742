"""Warnings of other libraries that mean nothing here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


@contextmanager
def quiet() -> Iterator[None]:
    """Without word of optimisers that stop early, of collinear features and of classes with few samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Variables are collinear")
        warnings.filterwarnings("ignore", message="Only one sample available")
        yield
