"""Computations as tasks. Each is saved when it is done, so that a killed run continues where it was."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from driftway.files.atomic import replacing

Arrays = dict[str, npt.NDArray[Any]]
T = TypeVar("T")

# Part of every key. It is raised when a computation changes, so that older data do not count as its results.
FORMAT = 1


class MissingDataError(Exception):
    """Error of `reproduce(redraw=True)` for a figure whose data have not been computed yet.

    Examples
    --------
    >>> from driftway.experiments import MissingDataError, reproduce
    >>> try:
    ...     reproduce(["figure1"], "nowhere", redraw=True)
    ... except MissingDataError:
    ...     print("compute it first")
    compute it first

    """


@dataclass(frozen=True)
class Task:
    """A function and its settings. Name, settings and `FORMAT` are the key of the data.

    `function` must be defined in a module, so that other processes can import it. `settings` must be values that JSON
    has.
    """

    name: str
    function: Callable[..., Arrays]
    settings: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps({"task": self.name, "format": FORMAT, **self.settings}, sort_keys=True, ensure_ascii=False)

    @property
    def file(self) -> str:
        return f"{self.name}-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}.npz"

    def compute(self) -> Arrays:
        """Computes the arrays. BLAS uses one thread, since other tasks run at the same time."""
        with threadpool_limits(1):
            return self.function(**self.settings)


class Store:
    """A folder of saved tasks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, task: Task, arrays: Arrays) -> None:
        """Writes a task's data as a whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / task.file
        key = np.frombuffer(task.text.encode(), dtype=np.uint8)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays, task=key)

    def load(self, task: Task) -> Arrays:
        """The data that were saved for exactly these settings; raises if there are none or the file is damaged."""
        try:
            with (self.folder / task.file).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError):
            raise MissingDataError(f"the data of {task.name} are missing, for the settings {task.text}") from None
        if arrays.pop("task").tobytes().decode() != task.text:
            raise MissingDataError(f"{task.file} has the data of other settings than {task.text}")
        return arrays

    def has(self, task: Task) -> bool:
        """Whether the data of a task are saved."""
        try:
            self.load(task)
        except MissingDataError:
            return False
        return True

    def compute(self, tasks: Iterable[Task], *, jobs: int, progress: bool, label: str) -> None:
        """Computes the missing tasks on `jobs` processes, or on the backend of `joblib.parallel_config`."""
        missing = [task for task in tasks if not self.has(task)]
        # This process saves the results, since other machines may not see the folder.
        found = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_numbered)(number, task) for number, task in enumerate(missing)
        )
        for number, arrays in shown(found, len(missing), label, progress):
            self.save(missing[number], arrays)

    def compute_alone(self, tasks: Iterable[Task], *, progress: bool, label: str) -> None:
        """Computes the missing tasks one at a time in this process, so that their times can be measured."""
        missing = [task for task in tasks if not self.has(task)]
        for task in shown(iter(missing), len(missing), label, progress):
            self.save(task, task.function(**task.settings))


def _numbered(number: int, task: Task) -> tuple[int, Arrays]:
    return number, task.compute()


def shown(items: Iterator[T], total: int, label: str, progress: bool) -> Iterator[T]:
    """The items, with a progress bar if `progress` is set and there are any."""
    if not progress or not total:
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'driftway[experiments]'") from None
    return iter(tqdm(items, total=total, desc=label, unit="task"))
