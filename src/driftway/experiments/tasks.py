"""Computations cut into tasks, each saved as soon as it is done: what was killed goes on, what is there is kept."""

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

# Part of every key: raised when a computation changes, so that older data are not taken for its results.
FORMAT = 1


class MissingDataError(Exception):
    """Error of `reproduce(redraw=True)`: the data of a figure have not been computed yet.

    Examples
    --------
    >>> from pathlib import Path
    >>> from driftway.experiments import MissingDataError
    >>> from driftway.experiments.tasks import Store, Task
    >>> try:
    ...     Store(Path("nowhere")).load(Task("figure1", dict, {}))
    ... except MissingDataError:
    ...     print("compute it first")
    compute it first

    """


@dataclass(frozen=True)
class Task:
    """A function of its settings, and the settings; together with FORMAT they are the key of its data.

    `function` is a module's, so that other processes and machines find it; `settings` are plain JSON values.
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
        """The arrays; BLAS keeps to one thread, since other tasks run beside this one."""
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
        """What was saved for exactly these settings; a file that is damaged counts as none."""
        try:
            with (self.folder / task.file).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError):
            raise MissingDataError(f"{task.name} has not been computed: {task.text}") from None
        if arrays.pop("task").tobytes().decode() != task.text:
            raise MissingDataError(f"{task.file} holds other data than those of {task.text}")
        return arrays

    def has(self, task: Task) -> bool:
        """Whether a task's data are there."""
        try:
            self.load(task)
        except MissingDataError:
            return False
        return True

    def compute(self, tasks: Iterable[Task], *, jobs: int, progress: bool, label: str) -> None:
        """Computes what is missing on `jobs` processes, or wherever `joblib.parallel_config` points."""
        missing = [task for task in tasks if not self.has(task)]
        # Results are saved here, not where they were computed: other machines need not see this folder.
        found = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_numbered)(number, task) for number, task in enumerate(missing)
        )
        for number, arrays in shown(found, len(missing), label, progress):
            self.save(missing[number], arrays)

    def compute_alone(self, tasks: Iterable[Task], *, progress: bool, label: str) -> None:
        """Computes what is missing one after another in this process: time is measured, and nobody disturbs."""
        missing = [task for task in tasks if not self.has(task)]
        for task in shown(iter(missing), len(missing), label, progress):
            self.save(task, task.function(**task.settings))


def _numbered(number: int, task: Task) -> tuple[int, Arrays]:
    return number, task.compute()


def shown(items: Iterator[T], total: int, label: str, progress: bool) -> Iterator[T]:
    """The items, with a progress bar if one is asked for and there is something to do."""
    if not progress or not total:
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'driftway[experiments]'") from None
    return iter(tqdm(items, total=total, desc=label, unit="task"))
