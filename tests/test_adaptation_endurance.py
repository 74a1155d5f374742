"""Streams in production: killed at any moment, and running for very long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from driftway import ContinuousTransportClassifier, adapt_stream
from driftway.engines import Threads

Array = np.ndarray
# A process of its own that adapts to the batches of a folder and keeps its state in a file.
PROGRAM = """
import sys, time, warnings
sys.path.insert(0, sys.argv[1])
from test_adaptation_endurance import batches, fitted
from driftway import adapt_stream
warnings.simplefilter("ignore")
for number, _ in enumerate(adapt_stream(fitted(), batches(int(sys.argv[3])), state=sys.argv[2])):
    print(number, flush=True)
    if len(sys.argv) > 4 and number >= int(sys.argv[4]):
        time.sleep(3600.0)  # until it is killed, however late that is
"""


def sample(step: int, size: int) -> tuple[Array, Array]:
    """Two classes that turn; the labels are drawn with the points."""
    rng, angle = np.random.default_rng([7, step]), 0.05 * step
    y = rng.integers(2, size=size)
    centre = 2.5 * np.array([np.cos(angle), np.sin(angle)])
    return (2.0 * y[:, None] - 1.0) * centre + rng.normal(size=(size, 2)), y


def batches(count: int) -> list[Array]:
    return [sample(step, 40)[0] for step in range(1, count + 1)]


def fitted() -> ContinuousTransportClassifier:
    return ContinuousTransportClassifier(engine=Threads(workers=1)).fit(*sample(0, 100))


def state_of(model: ContinuousTransportClassifier) -> dict[str, object]:
    """Everything that a step leaves behind but the seconds that it took."""
    history = model.history_.to_dict()
    del history["seconds"]
    return {"history": repr(history), **vars(model._carried)}


@pytest.mark.slow
def test_a_process_killed_twenty_times_ends_with_the_same_bits(tmp_path: Path) -> None:
    count, state = 120, tmp_path / "state"
    rng = np.random.default_rng(0)
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(state), str(count)]
    for _ in range(20):
        # Its fifth batch is the last that a process adapts to, so that the stream does not end before the kills do.
        process = subprocess.Popen([*command, "4"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(int(rng.integers(1, 6))):
            assert process.stdout.readline(), "the stream ended before it was killed twenty times"
        time.sleep(float(rng.uniform(0.0, 0.1)))
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    resumed = ContinuousTransportClassifier.load(state, engine=Threads(workers=1))
    whole = fitted()
    for batch in batches(count):
        whole.partial_fit(batch)
    ours, theirs = state_of(resumed), state_of(whole)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)
    points = sample(count, 500)[0]
    np.testing.assert_array_equal(resumed.predict_proba(points), whole.predict_proba(points))
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["state"]


@pytest.mark.slow
def test_a_thousand_steps_keep_memory_flat(tmp_path: Path) -> None:
    model, held = fitted(), []
    tracemalloc.start()
    try:
        for number, _ in enumerate(adapt_stream(model, (sample(step, 40)[0] for step in range(1, 1001)))):
            if number % 100 == 99:
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # What grows is the history, a line of fourteen entries per step.
    assert (held[-1] - held[1]) / 800 < 2000
    assert len(model.history_) == 1000
    X, y = sample(1000, 500)
    assert model.score(X, y) > 0.95
