"""Where a run keeps its files, and that nobody else writes there meanwhile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driftway.cli.failures import UserError
from driftway.files.atomic import LONGEST_NAME

try:
    import fcntl
except ImportError:  # where there is no such lock, people must take care themselves
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Places:
    """The files of a run.

    Attributes
    ----------
    out : the folder
    state : what the estimator knows and how many steps it made; with the ledger it is the run itself
    format : of the predictions, as the ending of a name; None for that of the batch

    """

    out: Path
    state: Path
    format: str | None = None

    @property
    def ledger(self) -> Path:
        """Which batches the state has seen; beside the state, wherever that is."""
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
        """What the report shows of a step."""
        return self.steps / f"{number:06d}.json"

    def predictions(self, batch: str) -> Path:
        """The predictions for a batch of this name."""
        path = Path(batch)
        return self.out / "predictions" / (path.name if self.format is None else f"{path.stem}.{self.format}")

    def check(self, batch: str) -> None:
        """Refuses a batch whose predictions no file system has a name for."""
        name = self.predictions(batch).name
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise UserError(
                f"{batch}: the name of its predictions would have more than {LONGEST_NAME} bytes; rename it"
            )

    def taken(self) -> Path | None:
        """A file that a new run would overwrite, if there is one."""
        candidates = (self.state, self.ledger, self.history, self.report, self.step(1), *self.out.glob("predictions/*"))
        return next((path for path in candidates if path.exists()), None)

    def prepare(self) -> None:
        """Makes the folders, and sees that they can be written to."""
        for folder in (self.out, self.out / "predictions", self.steps, self.state.parent):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"{folder}: cannot be made into a folder ({error.strerror})") from None
            if not os.access(folder, os.W_OK):
                raise UserError(f"{folder}: cannot be written to")

    def clear(self, batches: list[str]) -> None:
        """Removes the run, the state first: without it nothing of the rest counts."""
        steps = self.steps.glob("[0-9]*.json")
        predictions = [self.predictions(name) for name in batches]
        for path in (self.state, self.ledger, self.history, self.report, *steps, *predictions):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps others from this run; a killed process keeps nobody out."""
        with (self.state.parent / f".{self.state.name}.lock").open("w") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise UserError(f"{self.state}: another process is at work on this run") from None
            # What a process left that was killed while it saved the state.
            for part in self.state.parent.glob(f".{self.state.name}.*.part"):
                part.unlink(missing_ok=True)
            yield
