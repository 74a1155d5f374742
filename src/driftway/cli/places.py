"""The files of a run, and the lock that keeps other processes from writing them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driftway.cli.failures import UserError
from driftway.files.atomic import MAX_NAME_BYTES

try:
    import fcntl
except ImportError:  # Windows, where a run is not locked
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Places:
    """The paths of a run's files.

    Attributes
    ----------
    out : Path
        The folder of the output.
    state : Path
        The saved estimator and the number of its steps. State and ledger together are the run; all other files follow
        from them.
    format : str or None
        The extension of the predictions; None for that of the batch.

    """

    out: Path
    state: Path
    format: str | None = None

    @property
    def ledger(self) -> Path:
        """The record of the batches that the state has seen, in the folder of the state."""
        return self.state.with_suffix(".batches.jsonl")

    @property
    def history(self) -> Path:
        return self.out / "history.csv"

    @property
    def report(self) -> Path:
        return self.out / "report.html"

    @property
    def steps(self) -> Path:
        return self.out / "steps"

    def step(self, number: int) -> Path:
        """The file with what the report shows of a step."""
        return self.steps / f"{number:06d}.json"

    def predictions(self, batch: str) -> Path:
        """The predictions for a batch of this name."""
        path = Path(batch)
        return self.out / "predictions" / (path.name if self.format is None else f"{path.stem}.{self.format}")

    def check(self, batch: str) -> None:
        """Raises if the file of the predictions for this batch would have too long a name."""
        name = self.predictions(batch).name
        if len(os.fsencode(name)) > MAX_NAME_BYTES:
            raise UserError(
                f"{batch}: the file of its predictions would have a name of more than {MAX_NAME_BYTES} bytes; rename it"
            )

    def existing(self) -> Path | None:
        """A file that a new run would overwrite; None if there is none."""
        candidates = (self.state, self.ledger, self.history, self.report, self.step(1), *self.out.glob("predictions/*"))
        return next((path for path in candidates if path.exists()), None)

    def prepare(self) -> None:
        """Creates the folders, and raises if they cannot be written to."""
        for folder in (self.out, self.out / "predictions", self.steps, self.state.parent):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"{folder}: cannot create this folder ({error.strerror})") from None
            if not os.access(folder, os.W_OK):
                raise UserError(f"{folder}: cannot write to this folder")

    def clear(self, batches: list[str]) -> None:
        """Removes the files of the run. The state goes first, since the others are worthless without it."""
        steps = self.steps.glob("[0-9]*.json")
        predictions = [self.predictions(name) for name in batches]
        for path in (self.state, self.ledger, self.history, self.report, *steps, *predictions):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Context manager: locks the run for this process. The lock ends with the process, even if it is killed."""
        with (self.state.parent / f".{self.state.name}.lock").open("w") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise UserError(f"{self.state}: another process is working on this run") from None
            # Left by a process that was killed while it saved the state.
            for part in self.state.parent.glob(f".{self.state.name}.*.part"):
                part.unlink(missing_ok=True)
            yield
