"""Threads: ours share the work, and BLAS does not get in their way."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from driftway import Problem, Regularizer, solve
from driftway.engines import Threads
from driftway.engines.cores import free_blas, single_blas


def blas_threads() -> int:
    return max((library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=0)


class Watching(Regularizer):
    """J = 0, which remembers how many threads BLAS had while it was evaluated."""

    convex = True

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def value(self, gamma: np.ndarray) -> float:
        self.seen.add(blas_threads())
        return 0.0

    def gradient(self, gamma: np.ndarray) -> np.ndarray:
        self.seen.add(blas_threads())
        return np.zeros_like(gamma)


@pytest.mark.parametrize(("n", "m", "expected"), [(20, 10, 1), (300, 300, 2)])
def test_blas_is_left_to_large_regularizers_alone(n: int, m: int, expected: int) -> None:
    rng, seen_by = np.random.default_rng(0), Watching()
    inside = set()
    with threadpool_limits(2, user_api="blas"):
        problem = Problem(rng.random((n, m)), epsilon=0.5, regularizer=seen_by)
        assert solve(problem, callback=lambda iteration, plan: bool(inside.add(blas_threads()))).converged
        assert blas_threads() == 2
    assert inside == {1}
    assert seen_by.seen == {expected}


def fail_with(threads: int) -> None:
    assert blas_threads() == threads
    raise ZeroDivisionError


def test_blas_gets_its_threads_back_whoever_of_two_threads_is_first() -> None:
    with threadpool_limits(2, user_api="blas"):
        first, second, free = single_blas(), single_blas(), free_blas()
        first.__enter__()
        second.__enter__()
        free.__enter__()
        assert blas_threads() == 2
        first.__exit__(None, None, None)
        assert blas_threads() == 2
        free.__exit__(None, None, None)
        assert blas_threads() == 1
        second.__exit__(None, None, None)
        assert blas_threads() == 2


def test_blas_gets_its_threads_back_after_an_error() -> None:
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), single_blas(), free_blas():
            fail_with(2)
        with pytest.raises(ZeroDivisionError), single_blas():
            fail_with(1)
        assert blas_threads() == 2
        with free_blas():
            assert blas_threads() == 2


def test_parts_come_in_the_order_of_the_rows_whoever_does_them() -> None:
    engine = Threads(3, block_entries=4)
    assert engine.each(lambda part: (part.start, part.stop), 10, 5) == [(0, 3), (3, 6), (6, 10)]


def test_an_error_in_any_part_is_raised() -> None:
    def fail_at(row: int) -> None:
        def visit(part: slice) -> None:
            if part.start <= row < part.stop:
                raise ZeroDivisionError

        Threads(3, block_entries=4).each(visit, 10, 5)

    for row in (0, 4, 9):
        with pytest.raises(ZeroDivisionError):
            fail_at(row)
