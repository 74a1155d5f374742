"""J and its gradient at a plan, with errors that say whether the regulariser or the plan is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import numpy as np
import numpy.typing as npt

from driftway.engines.cores import free_blas
from driftway.regularizers.checks import finite_like, one_number

Double = npt.NDArray[np.float64]

# Entries from which the products of a regulariser may be large enough to be shared among threads.
SHARED = 2**16
# Entries from which the square of a plan may leave float64.
HUGE = 1e150


class Smooth(Protocol):
    """A function of the plan with a gradient, as every regulariser is."""

    @property
    def proven(self) -> bool:
        """Whether its values are known to be right, so that they are not checked."""

    def value(self, gamma: Double) -> float: ...

    def gradient(self, gamma: Double) -> Double: ...


def checked_value(J: Smooth, gamma: Double) -> float:
    """J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        value = J.value(gamma)
    with _blamed_rightly(gamma):
        return one_number("value", value, proven=J.proven)


def checked_gradient(J: Smooth, gamma: Double) -> Double:
    """∇J(γ), or an error that says what is wrong with it."""
    with _freely(gamma):
        gradient = J.gradient(gamma)
    with _blamed_rightly(gamma):
        return finite_like("gradient", gradient, "the plan's", gamma.shape, proven=J.proven)


@contextmanager
def _blamed_rightly(gamma: Double) -> Iterator[None]:
    """A plan that has overflowed, or will when it is squared, is no fault of the regulariser that was asked."""
    try:
        yield
    except ValueError as error:
        if np.abs(gamma).max() < HUGE:  # which is false of NaN, too
            raise
        raise FloatingPointError("the plan came out beyond the range of float64") from error


def _freely(gamma: Double) -> AbstractContextManager[None]:
    """Lets BLAS use its threads if the plan is large, since J may be large products, as a Laplacian is."""
    return free_blas() if gamma.size > SHARED else nullcontext()
