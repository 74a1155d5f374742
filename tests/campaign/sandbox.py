"""A child process with limits of memory and processor time, in which files are read: many files per child.

`python -m tests.campaign.sandbox` reads one request per line and answers each with one line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

SECONDS, MEMORY = 20, 3 * 2**30  # of processor time per file, and of address space beyond what libraries take
ROOT = Path(__file__).parents[2]


class Sandbox:
    """The child, started when it is first asked and after every death."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What came of a request; `died` if the child did not live to say."""
        child = self._child = self._child or _started()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return dict(json.loads(line))
        self._child = None
        return {"died": child.wait()}

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.communicate()
            self._child = None


def _started() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.campaign.sandbox"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def serve() -> None:
    """Answers requests until there are none."""
    from . import reading  # and with it all libraries, before memory is limited

    out, sys.stdout = sys.stdout, io.StringIO()  # what the library prints is no answer
    with contextlib.redirect_stderr(io.StringIO()):
        reading.warm()
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY,) * 2)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)  # which ends the process, whatever it is doing
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        began, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), contextlib.chdir(folder):
                found = reading.read(json.loads(line))
        found["seconds"] = time.process_time() - began
        found["grown"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
        found["warnings"] = [f"{each.category.__name__}: {each.message}" for each in told]
        found["stderr"] = errors.getvalue()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        out.write(json.dumps(found) + "\n")
        out.flush()


def _address_space() -> int:
    """Bytes that the process has mapped already; none are counted where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    serve()
