"""Threads: ours share the work, and BLAS does not get in their way."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from driftway import Problem, Regularizer, solve
from driftway.engines import Threads
from driftway.engines.cores import free_blas, single_blas
from driftway.engines.threads import pool as pools
from driftway.engines.threads.pool import Pool


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


CORES = frozenset(range(4))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[int]]]:
    """A machine of four cores on which all threads run on core 1; where threads were sent to."""
    calls: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: set(CORES), raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, cores: calls.append(set(cores)), raising=False)
    monkeypatch.setattr(pools, "_locator", lambda: lambda: 1)
    monkeypatch.setattr(pools, "LATE", math.inf)  # nobody is late, however busy the real machine is
    return calls


def run(pool: Pool) -> list[int]:
    return [each.result() for each in pool.start(lambda x: x + 1, [1])]


def test_a_thread_last_seen_on_the_callers_core_begins_on_another_and_is_free_then(sent: list[set[int]]) -> None:
    pool = Pool(1)
    assert run(pool) == [2]
    assert sent == []  # nobody has been seen anywhere yet
    assert run(pool) == [2]
    assert sent == [CORES - {1}, CORES]
    assert run(pool) == [2]
    assert sent == 2 * [CORES - {1}, CORES]


def test_threads_stay_where_they_are_if_that_is_elsewhere(
    sent: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(1)
    run(pool)
    monkeypatch.setattr(pools, "_locator", lambda: lambda: 2)
    assert run(pool) == [2]
    assert sent == []


def test_nobody_is_sent_to_busy_cores_for_a_while(sent: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(1)
    run(pool)
    monkeypatch.setattr(pools, "LATE", -1.0)  # whoever is sent away is late
    run(pool)
    assert len(sent) == 2
    run(pool)
    assert len(sent) == 2
    monkeypatch.setattr(pool, "_crowded_until", 0.0)
    run(pool)
    assert len(sent) == 4


@pytest.mark.parametrize("cores", [{1}, set()])
def test_where_there_is_one_core_nobody_is_sent_away(
    cores: set[int], sent: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: set(cores))
    pool = Pool(1)
    assert [run(pool), run(pool)] == [[2], [2]]
    assert sent == []


def test_work_is_done_where_threads_cannot_be_sent_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(thread: int, cores: object) -> None:
        raise PermissionError

    monkeypatch.setattr(pools, "_locator", lambda: lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: set(CORES), raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", forbid, raising=False)
    pool = Pool(1)
    assert [run(pool), run(pool)] == [[2], [2]]
    monkeypatch.setattr(pools, "_locator", lambda: None)
    assert run(pool) == [2]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads cannot be sent to cores here")
def test_threads_may_run_on_every_core_after_their_work() -> None:
    pool, allowed = Pool(2), os.sched_getaffinity(0)
    for _ in range(50):
        found = [each.result() for each in pool.start(lambda x: os.sched_getaffinity(0), [1, 2])]
        assert found == [allowed, allowed]
    assert os.sched_getaffinity(0) == allowed
