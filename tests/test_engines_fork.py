"""Whatever a process did before it was forked, its children solve and adapt."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Event, Thread

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, Problem, solve
from driftway.engines.cores import single_blas

DEADLOCKED = 240.0  # seconds of waiting after which a child is taken to be deadlocked: hundreds of times what it needs
forked = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def adapted() -> float:
    """Fit and follow one batch in 20 features, where nearest neighbours are searched by OpenMP."""
    generator = np.random.default_rng(0)
    y = np.arange(600) % 2
    X = generator.normal(size=(600, 20)) + 4.0 * y[:, None]
    return float(ContinuousTransportClassifier(hypotheses="transport").fit(X, y).partial_fit(X + 0.1).score(X + 0.1, y))


def solved() -> bool:
    cost = np.random.default_rng(0).random((400, 400))
    return bool(solve(Problem(cost, epsilon=0.05)).converged)


# A grandchild of a process that has solved, of a child that loaded scikit-learn after it had solved as well.
LATE = """
import os, sys
import numpy as np
from driftway import Problem, solve

def adapt():
    from driftway import ContinuousTransportClassifier
    y = np.arange(600) % 2
    X = np.random.default_rng(0).normal(size=(600, 20)) + 4.0 * y[:, None]
    ContinuousTransportClassifier(hypotheses="transport").fit(X, y).partial_fit(X + 0.1).predict(X)

def child():
    solve(Problem(np.random.default_rng(0).random((60, 60)), epsilon=0.05))
    assert "sklearn" not in sys.modules
    adapt()
    in_child(adapt)

def in_child(job):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            job()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0

in_child(child)
"""


def in_child(job: Callable[[], object]) -> int | None:
    """The exit code of a forked child that does the job; none if it never ends."""
    child = os.fork()
    if not child:
        code = 1
        try:
            job()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + DEADLOCKED
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@forked
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
class TestFork:
    @pytest.mark.parametrize("job", [adapted, solved])
    def test_a_child_does_what_its_parent_did(self, job: Callable[[], object]) -> None:
        job()
        assert in_child(job) == 0

    def test_a_child_survives_openmp_of_the_parent_outside_the_library(self) -> None:
        X, y = np.random.default_rng(0).normal(size=(2000, 20)), np.arange(2000) % 2
        KNeighborsClassifier(algorithm="brute").fit(X, y).predict(X)
        assert in_child(adapted) == 0

    def test_grandchildren_of_a_prefork_server_adapt(self) -> None:
        adapted()

        def worker() -> None:
            assert in_child(adapted) == 0
            adapted()

        assert in_child(worker) == 0

    def test_a_fork_while_another_thread_solves(self) -> None:
        inside, over = Event(), Event()

        def hold() -> None:
            with single_blas():
                inside.set()
                over.wait()

        thread = Thread(target=hold)
        thread.start()
        inside.wait()
        try:
            assert in_child(solved) == 0
        finally:
            over.set()
            thread.join()

    def test_the_thread_that_was_forked_adapts_while_another_one_of_the_child_does(self) -> None:
        """OpenMP is kept to one thread for each thread, so that the first one to ask does not do so for the others."""
        adapted()

        def worker() -> None:
            inside, over = Event(), Event()

            def hold() -> None:
                with single_blas():
                    inside.set()
                    over.wait()

            thread = Thread(target=hold)
            thread.start()
            inside.wait()
            try:
                adapted()
            finally:
                over.set()

        assert in_child(worker) == 0

    def test_a_fork_inside_a_block_that_limits_blas(self) -> None:
        """The child leaves the block that its parent had entered, and counts its own from nothing."""
        from driftway.engines import cores

        def worker() -> None:
            block.__exit__(None, None, None)
            assert cores._depth == 0
            solved()
            assert cores._before is None

        block = single_blas()
        with block:
            assert in_child(worker) == 0

    def test_a_grandchild_whose_parent_loaded_openmp_after_it_had_solved(self) -> None:
        command = [sys.executable, "-c", LATE]
        done = subprocess.run(command, timeout=DEADLOCKED, check=False)
        assert done.returncode == 0


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_a_process(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    adapted()
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(adapted).get(timeout=DEADLOCKED) > 0.9


def test_processes_of_joblib() -> None:
    assert Parallel(n_jobs=2)(delayed(adapted)() for _ in range(2)) == [adapted()] * 2
